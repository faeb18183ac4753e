// Package tool finds and builds the programs that are measured: our own, which is built already, and others, each of the version that a Go
// module pins. That module is not the product's, so that what other tools need does not get into it.
package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool is a program that is measured.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Path is where the program is.
	Path string `json:"-"`
}

// Peer is a program of others: the module that a version is pinned of, and the package in it that is built.
type Peer struct{ Name, Module, Package string }

// Build builds other tools of the versions that the module in a folder pins, each once: they are kept in the user's cache under their
// version. It says what it builds.
func Build(ctx context.Context, module string, peers []Peer, say func(string, ...any)) (map[string]Tool, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("build the other tools: %w", err)
	}
	tools := map[string]Tool{}
	for _, p := range peers {
		version, err := golang(ctx, "list", "-C", module, "-m", "-f", "{{.Version}}", p.Module)
		if err != nil {
			return nil, err
		}
		built := filepath.Join(cache, "lockstep", "bench", p.Name+"-"+version)
		if _, err := os.Stat(built); errors.Is(err, fs.ErrNotExist) {
			say("building %s %s", p.Name, version)
			if _, err := golang(ctx, "build", "-C", module, "-o", built, p.Package); err != nil {
				return nil, err
			}
		}
		tools[p.Name] = Tool{Name: p.Name, Version: version, Path: built}
	}
	return tools, nil
}

func golang(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}

// Compiler is the name of our own program.
const Compiler = "runtime-compiler"

// Ours returns the compiler that is measured.
func Ours(ctx context.Context, compiler string) (Tool, error) {
	path, err := filepath.Abs(compiler)
	if err != nil {
		return Tool{}, err
	}
	output, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return Tool{}, fmt.Errorf("run --compiler: %w: build it with `make build/bin/runtime-compiler`", err)
	}
	return Tool{Name: Compiler, Version: strings.TrimSpace(string(output)), Path: path}, nil
}

// Knows reports whether the tool has a command, and the command a flag.
func (t Tool) Knows(ctx context.Context, command, flag string) bool {
	output, err := exec.CommandContext(ctx, t.Path, command, "--help").CombinedOutput()
	help := string(output) // that of the whole program where there is no such command
	return err == nil && strings.Contains(help, "Usage:\n  "+t.Name+" "+command) && strings.Contains(help, flag)
}

// Named returns a tool, or several that work together and have " + " between them, with the versions of those that are not ours.
func Named(tools []Tool, name string) string {
	parts := strings.Split(name, " + ")
	for i, part := range parts {
		for _, t := range tools {
			if t.Name == part && part != Compiler {
				parts[i] += " " + t.Version
			}
		}
	}
	return strings.Join(parts, " + ")
}
