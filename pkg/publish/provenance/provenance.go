// Package provenance says how a compiled tree came to be: an in-toto statement with SLSA's predicate (https://slsa.dev/provenance/v1), from the
// digests of all files that were read to the digests of all files that were made.
//
// A statement has no time and no name of a machine in it: whoever compiles the same commit with the same compiler gets the same statement,
// byte by byte. That is how it is verified. It is not signed: a statement that a pipeline signs (cosign attest) is worth what the pipeline
// is worth.
package provenance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/publish"
)

// The types, of which buildType is ours: what the compiler does with a commit.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = "https://lockstep.dev/provenance/compile/v1"
	builder       = "https://lockstep.dev/runtime-compiler"
)

// Subject is something that was made.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Statement is what is written.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Predicate says what was made of what, and by what.
type Predicate struct {
	BuildDefinition struct {
		BuildType          string     `json:"buildType"`
		ExternalParameters Parameters `json:"externalParameters"`
		// ResolvedDependencies are the commit, and every file of it that was read.
		ResolvedDependencies []Dependency `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// Parameters are what the caller chose.
type Parameters struct {
	Repository string `json:"repository,omitempty"`
	Revision   string `json:"revision"`
	// Root is the folder of the specs in the repository, Cluster the only one that was compiled.
	Root    string `json:"root,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Folder  string `json:"folder"`
}

// Dependency is something that was read.
type Dependency struct {
	URI    string            `json:"uri,omitempty"`
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// Facts are what a statement is made of.
type Facts struct {
	Tree *publish.Tree
	// Inputs are the files that were read, by path from the top of the repository, and their SHA-256.
	Inputs map[string]string
	// Root, Cluster and Version are the folder of the specs, the only cluster, and the compiler's version.
	Root, Cluster, Version string
	// Artifact is an artifact that holds the tree, by name and digest; zero for none.
	Artifact Subject
}

// NewStatement returns the statement of a tree.
func NewStatement(f Facts) Statement {
	s := Statement{Type: statementType, PredicateType: predicateType, Subject: []Subject{}}
	if f.Artifact.Name != "" {
		s.Subject = append(s.Subject, f.Artifact)
	}
	for _, file := range f.Tree.Files {
		s.Subject = append(s.Subject, Subject{f.Tree.PublishedPath(file), map[string]string{"sha256": SHA256(file.Data)}})
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = buildType
	d.ExternalParameters = Parameters{f.Tree.Source.Repository, f.Tree.Source.Commit, f.Root, f.Cluster, f.Tree.Folder}
	d.ResolvedDependencies = []Dependency{{URI: "git+" + f.Tree.Source.Repository, Digest: map[string]string{"gitCommit": f.Tree.Source.Commit}}}
	if f.Tree.Source.Repository == "" {
		d.ResolvedDependencies[0] = Dependency{Name: "the repository", Digest: map[string]string{"gitCommit": f.Tree.Source.Commit}}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Inputs)) {
		d.ResolvedDependencies = append(d.ResolvedDependencies, Dependency{Name: name, Digest: map[string]string{"sha256": f.Inputs[name]}})
	}
	s.Predicate.RunDetails.Builder.ID = builder
	s.Predicate.RunDetails.Builder.Version = map[string]string{"runtime-compiler": f.Version}
	return s
}

// Encode returns the statement as it is written.
func (s Statement) Encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(s)
	return out.Bytes(), err
}

// SHA256 is the SHA-256 of data, in hexadecimal digits.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// SHA256OfFiles are the SHA-256 of files, by the name that prefix gives them.
func SHA256OfFiles(root fs.FS, names []string, prefix string) (map[string]string, error) {
	sums := map[string]string{}
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		sums[prefix+name] = SHA256(data)
	}
	return sums, nil
}
