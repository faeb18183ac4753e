package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"
	"sigs.k8s.io/yaml"
)

// a release of programs that do not run.
func tried(t *testing.T) (release, []programBuild) {
	t.Chdir("../..")
	r := release{version: "v0.1.0", arches: []string{"amd64", "arm64"}, out: t.TempDir(), url: "https://files.example.com/v0.1.0", source: sourceCommit{commit: "c0ffee", time: time.Unix(1_700_000_000, 0).UTC()}}
	folder := t.TempDir()
	var builds []programBuild
	for _, arch := range r.arches {
		for _, program := range append([]string{"runtime-compiler"}, podPrograms()...) {
			b := programBuild{program: program, system: "linux", arch: arch, file: filepath.Join(folder, arch+program), info: &buildinfo.BuildInfo{}}
			if program == "mpi-agent" {
				b.info.Deps = []*debug.Module{{Path: "example.org/M", Version: "v1.0.0"}}
			}
			if err := os.WriteFile(b.file, []byte(program+" for "+arch), 0o700); err != nil {
				t.Fatal(err)
			}
			builds = append(builds, b)
		}
	}
	return r, builds
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"v0.1.0": true, "v1.2.3-rc.1": true, "0.1.0": false, "v1": false, "": false, "v01.0.0": false, "v1.0.0;x": false} {
		if got := versions.MatchString(version); got != want {
			t.Errorf("%q: %t, want %t", version, got, want)
		}
	}
}

// TestCompilerPrograms: the archive has all programs of the compiler, and nothing of the cluster.
func TestCompilerPrograms(t *testing.T) {
	t.Chdir("../..")
	programs, err := compilerPrograms()
	if err != nil || !slices.Contains(programs, "runtime-compiler") || slices.Contains(programs, "mpi-agent") {
		t.Errorf("got %v, %v", programs, err)
	}
}

// TestImages: each image is one index of both architectures, whole, under the name that the chart asks for.
func TestImages(t *testing.T) {
	r, builds := tried(t)
	legal := []archiveFile{{name: "LICENSE", mode: 0o644, data: []byte("licence")}}
	if err := r.writeImages(builds, legal, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	first := readOut(t, r)
	if err := r.writeImages(builds, legal, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, readOut(t, r)); diff != "" {
		t.Errorf("the second time they differ: %s", diff)
	}
	folder := t.TempDir()
	untar(t, first["mpi-agent-v0.1.0.oci.tar"], folder)
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	named := manifest.Manifests[0]
	if reference := named.Annotations["io.containerd.image.name"]; reference != "lockstep.dev/mpi-agent:v0.1.0" || !strings.Contains(first["images.txt"], reference+"@"+named.Digest.String()+"\n") {
		t.Errorf("%s is not in\n%s", reference, first["images.txt"])
	}
	if inner, err := index.ImageIndex(named.Digest); err != nil {
		t.Error(err)
	} else if images, err := inner.IndexManifest(); err != nil || len(images.Manifests) != 2 || !images.Manifests[1].Platform.Equals(v1.Platform{OS: "linux", Architecture: "arm64"}) {
		t.Errorf("%+v, %v", images, err)
	}
}

// TestChart: Helm reads the packaged chart, and its images are those of the release.
func TestChart(t *testing.T) {
	r, _ := tried(t)
	if err := r.packageChart("charts/mpi-controller"); err != nil {
		t.Fatal(err)
	}
	read, err := loader.LoadArchive(strings.NewReader(readOut(t, r)["mpi-controller-0.1.0.tgz"]))
	if err != nil {
		t.Fatal(err)
	}
	if m := read.Metadata; m.Version != "0.1.0" || m.AppVersion != r.version || read.Values["image"].(map[string]any)["repository"] != registry+"/mpi-controller" {
		t.Errorf("%+v, %v", m, read.Values["image"])
	}
}

// TestImagesCopy: what copies images between registries (here ORAS) finds both architectures in the tar file by the name of the image.
func TestImagesCopy(t *testing.T) {
	r, builds := tried(t)
	if err := r.writeImages(builds, nil, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	layout, err := oci.NewFromTar(t.Context(), filepath.Join(r.out, "mpi-controller-v0.1.0.oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range r.arches {
		options := oras.CopyOptions{}
		options.WithTargetPlatform(&ocispec.Platform{OS: "linux", Architecture: arch})
		if _, err := oras.Copy(t.Context(), layout, "lockstep.dev/mpi-controller:v0.1.0", memory.New(), "copy", options); err != nil {
			t.Error(err)
		}
	}
}

// TestArchives: an archive has the programs for people, in one folder, with the licences.
func TestArchives(t *testing.T) {
	r, builds := tried(t)
	if err := r.writeArchives(builds, []string{"runtime-compiler"}, []archiveFile{{name: "NOTICE", mode: 0o644}}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	untar(t, readOut(t, r)["lockstep-v0.1.0-linux-arm64.tar.gz"], folder)
	files, _ := filepath.Glob(folder + "/*/*")
	for i, name := range files {
		files[i] = strings.TrimPrefix(name, folder+"/lockstep-v0.1.0-linux-arm64/")
	}
	if diff := cmp.Diff([]string{"NOTICE", "runtime-compiler"}, files); diff != "" {
		t.Error(diff)
	}
}

// TestPlugins: there is an archive per platform, with what kubectl looks for, and Krew's manifest has their checksums.
func TestPlugins(t *testing.T) {
	r, _ := tried(t)
	folder := t.TempDir()
	var builds []programBuild
	for _, system := range pluginSystems {
		b := programBuild{program: plugin, system: system, arch: "arm64", file: filepath.Join(folder, system)}
		if err := os.WriteFile(b.file, []byte(plugin+" for "+system), 0o700); err != nil {
			t.Fatal(err)
		}
		builds = append(builds, b)
	}
	if err := r.writePlugins(builds, []archiveFile{{name: "man/man1/kubectl-mpi.1", mode: 0o644}}, []archiveFile{{name: "LICENSE", mode: 0o644}}); err != nil {
		t.Fatal(err)
	}
	made := readOut(t, r)
	var manifest krewManifest
	if err := yaml.UnmarshalStrict([]byte(made["mpi.yaml"]), &manifest); err != nil || len(manifest.Spec.Platforms) != 3 {
		t.Fatal(err, made["mpi.yaml"])
	}
	for i, system := range pluginSystems {
		name := "kubectl-mpi-v0.1.0-" + system + "-arm64"
		p := manifest.Spec.Platforms[i]
		if p.URI != "https://files.example.com/v0.1.0/"+name+".tar.gz" || p.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(made[name+".tar.gz"]))) {
			t.Errorf("Krew fetches %+v", p)
		}
		unpacked := t.TempDir()
		untar(t, made[name+".tar.gz"], unpacked)
		for _, f := range p.Files[:2] {
			if _, err := os.Stat(filepath.Join(unpacked, f.From)); err != nil {
				t.Error(err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(unpacked, name, p.Bin)); err != nil || string(text) != plugin+" for "+system {
			t.Errorf("%s, %v", text, err)
		}
		for _, link := range pluginLinks {
			if target, err := os.Readlink(filepath.Join(unpacked, name, link)); (err == nil) != (system != "windows") || err == nil && target != plugin {
				t.Errorf("%s: %s is a link to %q, %v", system, link, target, err)
			}
		}
	}
}

// TestMaterials: the bill says which program contains which module, and names nothing that it does not have.
func TestMaterials(t *testing.T) {
	r, builds := tried(t)
	modules := []*module{
		{path: "example.org/M", version: "v1.0.0", licence: "MIT", sum: "h1:Je+e7zvTLzB4qW09J1fB7pZrqvPtWuGng2NqdN5p5QU="},
		{path: "example.org/schemas", version: "v2.0.0", licence: "MIT", schemas: true},
		{path: standardLibrary, version: "go1.26.8", licence: "BSD-3-Clause"},
	}
	if err := r.writeBillOfMaterials(builds, modules); err != nil {
		t.Fatal(err)
	}
	text := readOut(t, r)["lockstep-v0.1.0.spdx.json"]
	for _, want := range []string{
		`"relatedSpdxElement": "SPDXRef-module-example.org-M-v1.0.0"`, `"relationshipType": "GENERATED_FROM"`,
		`"checksumValue": "25ef9eef3bd32f3078a96d3d2757c1ee966baaf3ed5ae1a783636a74de69e505"`, `"created": "2023-11-14T22:13:20Z"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, `"SPDXID": "SPDXRef-program-`); n != 5 {
		t.Errorf("%d programs, want each once", n)
	}
}

func TestSums(t *testing.T) {
	r := release{out: t.TempDir()}
	if err := r.writeFile("a", []byte("b")); err != nil {
		t.Fatal(err)
	}
	if err := r.writeChecksums(); err != nil {
		t.Fatal(err)
	}
	if got, want := readOut(t, r)["SHA256SUMS"], "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  a\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIdentify(t *testing.T) {
	const bsd = "Redistribution and use in source and\nbinary forms are permitted"
	for text, want := range map[string][]string{
		"Apache License\n   Version 2.0, January 2004": {"Apache-2.0"},
		bsd: {"BSD-2-Clause"},
		bsd + " Neither the name of X nor the names":                                   {"BSD-3-Clause"},
		bsd + ". The names of its contributors may not be used to endorse":             {"BSD-3-Clause"},
		"Permission is hereby granted, free of charge, to any person obtaining a copy": {"MIT"},
		"GNU GENERAL PUBLIC LICENSE":                                                   nil,
	} {
		if diff := cmp.Diff(want, identifyLicences(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestLicences: a module is passed on with the licences beside and above its packages; one whose licence nobody knows is not passed on.
func TestLicences(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE": "Apache License, Version 2.0", "NOTICE": "Thanks", "a/b/LICENSE.txt": "Permission is hereby granted, free of charge, to any person obtaining a copy",
		"c/LICENSE": "GNU", "a/license.go": "package a",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &module{path: "example.org/m", version: "v1.0.0", folder: folder, packages: []string{filepath.Join(folder, "a", "b")}}
	if err := m.readLicences(); err != nil || m.licence != "Apache-2.0 AND MIT" || len(m.texts) != 3 {
		t.Errorf("%q, %v, %v", m.licence, m.texts, err)
	}
	if text := noticeText([]*module{m, {path: "example.org/n", version: "v2.0.0", licence: "MIT", texts: map[string]string{"COPYING": "Apache License, Version 2.0\n"}}}); !strings.Contains(text, "example.org/m v1.0.0: LICENSE\nexample.org/n v2.0.0: COPYING\n\nApache License") {
		t.Errorf("a text of two modules is there once, with both:\n%s", text)
	}
	m.packages = append(m.packages, filepath.Join(folder, "c"))
	if err := m.readLicences(); err == nil || !strings.Contains(err.Error(), "nobody knows the licence c/LICENSE") {
		t.Errorf("got %v", err)
	}
	if err := (&module{path: "example.org/o", folder: t.TempDir()}).readLicences(); err == nil || !strings.Contains(err.Error(), "has no licence") {
		t.Errorf("got %v", err)
	}
}

func readOut(t *testing.T, r release) map[string]string {
	t.Helper()
	files, err := readFolder(r.out)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range files {
		found[strings.TrimPrefix(f.name, filepath.Base(r.out)+"/")] = string(f.data)
	}
	return found
}

func untar(t *testing.T, data, folder string) {
	t.Helper()
	cmd := exec.Command("tar", "-x", "-C", folder)
	if bytes.HasPrefix([]byte(data), []byte{0x1f, 0x8b}) {
		cmd.Args = append(cmd.Args, "-z")
	}
	cmd.Stdin = strings.NewReader(data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
