package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
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
