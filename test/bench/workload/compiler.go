package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Count is the number of objects that the compiler makes, per cluster.
type Count struct {
	Clusters []struct {
		Name    string `json:"name"`
		Objects int    `json:"objects"`
	} `json:"clusters"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// Objects returns the sum over the clusters.
func (c Count) Objects() int {
	sum := 0
	for _, cluster := range c.Clusters {
		sum += cluster.Objects
	}
	return sum
}

// Compile builds the specs below root into the folder out with the program compiler and returns what it counted.
func Compile(ctx context.Context, compiler, root, out string) (Count, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, compiler, "build", "--root", root, "--out", out, "-o", "json")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	failed := cmd.Run()
	var count Count
	if err := json.Unmarshal(stdout.Bytes(), &count); err != nil && failed == nil {
		failed = err
	}
	if failed != nil {
		return count, fmt.Errorf("compile the workload: %w\n%s%s", failed, head(stderr.Bytes()), head(stdout.Bytes()))
	}
	return count, nil
}

// head returns the beginning of an output: a thousand diagnostics say no more than ten.
func head(output []byte) []byte { return output[:min(len(output), 1500)] }

// Manifests returns the number of manifests in a file or in all files of a folder, whatever tool wrote them.
func Manifests(name string) (int, error) {
	found := 0
	err := filepath.WalkDir(name, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(name) == "kustomization.yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		found += bytes.Count(append([]byte("\n"), data...), []byte("\napiVersion: ")) // keys of the top level
		return err
	})
	return found, err
}
