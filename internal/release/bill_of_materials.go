package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// The bill of materials is a document of SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3): a package per program and per module, and which
// program contains which.
type (
	spdxDocument struct {
		Version     string `json:"spdxVersion"`
		DataLicence string `json:"dataLicense"`
		ID          string `json:"SPDXID"`
		Name        string `json:"name"`
		// Namespace is a URI that no other document has.
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string          `json:"SPDXID"`
		Name      string          `json:"name"`
		Version   string          `json:"versionInfo"`
		Purpose   string          `json:"primaryPackagePurpose"`
		Location  string          `json:"downloadLocation"`
		Analyzed  bool            `json:"filesAnalyzed"`
		Concluded string          `json:"licenseConcluded"`
		Declared  string          `json:"licenseDeclared"`
		Copyright string          `json:"copyrightText"`
		Source    string          `json:"sourceInfo,omitempty"`
		Checksums []spdxChecksum  `json:"checksums,omitempty"`
		Refs      []spdxReference `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const (
	spdxRoot = "SPDXRef-DOCUMENT"
	// nothingSaid is SPDX's word for what a document makes no claim about.
	nothingSaid = "NOASSERTION"
	ownModule   = "lockstep.dev/lockstep"
)

// writeBillOfMaterials writes what the programs contain, over all architectures.
func (r release) writeBillOfMaterials(builds []programBuild, modules []*module) error {
	name := "lockstep-" + r.version
	document := spdxDocument{
		Version: "SPDX-2.3", DataLicence: "CC0-1.0", ID: spdxRoot, Name: name,
		Namespace: "https://lockstep.dev/spdx/" + name + "-" + r.source.commit,
		Creation:  spdxCreation{r.source.time.Format(time.RFC3339), []string{"Tool: lockstep-release-" + r.version}},
	}
	related := map[spdxRelationship]bool{}
	relate := func(relationship spdxRelationship) {
		if !related[relationship] {
			related[relationship] = true
			document.Relationships = append(document.Relationships, relationship)
		}
	}
	for _, b := range builds {
		program := r.programPackage(b.program)
		described := spdxRelationship{spdxRoot, "DESCRIBES", program.ID}
		if !related[described] {
			document.Packages = append(document.Packages, program)
		}
		relate(described)
		for _, m := range modules {
			switch {
			case b.linksModule(m):
				relate(spdxRelationship{program.ID, "DEPENDS_ON", m.spdxPackage().ID})
			case m.schemas && b.program == "runtime-compiler":
				relate(spdxRelationship{program.ID, "GENERATED_FROM", m.spdxPackage().ID})
			}
		}
	}
	for _, m := range modules {
		document.Packages = append(document.Packages, m.spdxPackage())
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	return r.writeFile(name+".spdx.json", out.Bytes())
}

func (r release) programPackage(program string) spdxPackage {
	return spdxPackage{
		ID: spdxID("program", program), Name: program, Version: r.version, Purpose: "APPLICATION", Location: nothingSaid,
		Concluded: ownLicence, Declared: ownLicence, Copyright: nothingSaid, Source: "git commit " + r.source.commit,
		Refs: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + ownModule + "@" + r.version + "#cmd/" + program}},
	}
}

// spdxPackage returns the package of a module.
func (m *module) spdxPackage() spdxPackage {
	p := spdxPackage{
		ID: spdxID("module", m.path+"-"+m.version), Name: m.path, Version: m.version, Purpose: "LIBRARY", Location: nothingSaid,
		Concluded: nothingSaid, Declared: m.licence, Copyright: nothingSaid,
		Refs: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")}},
	}
	if m.path == standardLibrary {
		p.Location = "https://go.dev/dl/" + m.version + ".src.tar.gz"
	}
	// As in go.sum: SHA-256 over the list of the module's files with their own.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); err == nil && len(sum) > 0 {
		p.Checksums = []spdxChecksum{{"SHA256", hex.EncodeToString(sum)}}
	}
	return p
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func spdxID(kind, name string) string {
	return "SPDXRef-" + kind + "-" + notInIDs.ReplaceAllString(name, "-")
}
