package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// plugin is kubectl's: the program that people have on their own machines, whatever those are.
const plugin = "kubectl-mpi"

// pluginSystems are the operating systems of those machines.
var pluginSystems = []string{"linux", "darwin", "windows"}

// pluginLinks are other names of the plugin: kubectl asks the first one to complete `kubectl mpi`, and finds `ai mpi` by the second.
var pluginLinks = []string{"kubectl_complete-mpi", "kubectl-ai-mpi"}

// fileName is the name of a program on its system.
func (b programBuild) fileName() string {
	if b.system == "windows" {
		return b.program + ".exe"
	}
	return b.program
}

// writePlugins writes an archive per platform with the plugin, and the manifest by which Krew installs it.
func (r release) writePlugins(builds []programBuild, manual, legal []archiveFile) error {
	manifest := krewManifest{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "mpi"}}
	manifest.Spec = krewSpec{
		Version: r.version, Homepage: "https://lockstep.dev", ShortDescription: "Run, watch, understand and repeat MPI jobs",
		Description: "Submits MPI jobs of Kubeflow Trainer, shows how far they are, merges the logs of their pods, and says why one waits or has failed.\n",
		Caveats:     "For completion: ln -s \"$(command -v kubectl-mpi)\" ~/.local/bin/kubectl_complete-mpi, where that folder is in $PATH.\n",
	}
	for _, b := range builds {
		if b.program != plugin {
			continue
		}
		name := fmt.Sprintf("%s-%s-%s-%s", plugin, r.version, b.system, b.arch)
		archive, err := r.archivePlugin(b, name, manual, legal)
		if err = errors.Join(err, r.writeFile(name+".tar.gz", archive)); err != nil {
			return err
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": b.system, "arch": b.arch}},
			URI:      r.url + "/" + name + ".tar.gz", SHA256: fmt.Sprintf("%x", sha256.Sum256(archive)), Bin: b.fileName(),
			Files: []krewFile{{name + "/" + b.fileName(), "."}, {name + "/LICENSE", "."}, {name + "/NOTICE", "."}},
		})
	}
	text, err := yaml.Marshal(manifest)
	return errors.Join(err, r.writeFile("mpi.yaml", text))
}

// archivePlugin returns an archive: one folder with the plugin and its links, manual pages and licences.
func (r release) archivePlugin(b programBuild, name string, manual, legal []archiveFile) ([]byte, error) {
	data, err := os.ReadFile(b.file)
	if err != nil {
		return nil, err
	}
	files := []archiveFile{{name: b.fileName(), mode: 0o755, data: data}}
	files = append(files, legal...)
	if b.system != "windows" {
		files = append(files, manual...)
		for _, link := range pluginLinks {
			files = append(files, archiveFile{name: link, mode: 0o777, link: plugin})
		}
	}
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	return tarGzip(files, r.source.time)
}

// manualPages returns the manual pages of the plugin, in the folder that man looks for.
func (r release) manualPages(folder string) ([]archiveFile, error) {
	folder = filepath.Join(folder, "man1")
	cmd := exec.Command("go", append(append([]string{"run"}, r.buildFlags()...), "./cmd/"+plugin, "man", folder)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.source.time.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("write the manual pages: %w\n%s", err, out)
	}
	pages, err := readFolder(folder)
	for i := range pages {
		pages[i].name = "man/" + pages[i].name
	}
	return pages, err
}

// What Krew reads (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest).
type (
	krewManifest struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       krewSpec          `json:"spec"`
	}
	krewSpec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewPlatform `json:"platforms"`
	}
	krewPlatform struct {
		Selector krewSelector `json:"selector"`
		URI      string       `json:"uri"`
		SHA256   string       `json:"sha256"`
		Bin      string       `json:"bin"`
		Files    []krewFile   `json:"files"`
	}
	krewSelector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
	krewFile struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
)
