package main

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

// tool is a program that is measured.
type tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	path    string
}

// peer is a program that the module of peers pins.
type peer struct{ name, module, pkg string }

var peers = []peer{
	{"helm", "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm"},
	{"jsonnet", "github.com/google/go-jsonnet", "github.com/google/go-jsonnet/cmd/jsonnet"},
	{"kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "sigs.k8s.io/kustomize/kustomize/v5"},
}

// buildPeers builds the other tools of the versions that the module in a folder pins, each once: they are kept in the user's
// cache under their version.
func buildPeers(ctx context.Context, module string, say func(string, ...any)) (map[string]tool, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("build the other tools: %w", err)
	}
	tools := map[string]tool{}
	for _, p := range peers {
		version, err := goTool(ctx, "list", "-C", module, "-m", "-f", "{{.Version}}", p.module)
		if err != nil {
			return nil, err
		}
		built := filepath.Join(cache, "lockstep", "bench", p.name+"-"+version)
		if _, err := os.Stat(built); errors.Is(err, fs.ErrNotExist) {
			say("building %s %s", p.name, version)
			if _, err := goTool(ctx, "build", "-C", module, "-o", built, p.pkg); err != nil {
				return nil, err
			}
		}
		tools[p.name] = tool{Name: p.name, Version: version, path: built}
	}
	return tools, nil
}

func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}

// ours returns the compiler that is measured.
func ours(ctx context.Context, compiler string) (tool, error) {
	path, err := filepath.Abs(compiler)
	if err != nil {
		return tool{}, err
	}
	output, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return tool{}, fmt.Errorf("run --compiler: %w: build it with `make build/bin/runtime-compiler`", err)
	}
	return tool{Name: "runtime-compiler", Version: strings.TrimSpace(string(output)), path: path}, nil
}

// knows says whether the compiler has a command, and the command a flag.
func (t tool) knows(ctx context.Context, command, flag string) bool {
	output, err := exec.CommandContext(ctx, t.path, command, "--help").CombinedOutput()
	help := string(output) // that of the whole program where there is no such command
	return err == nil && strings.Contains(help, "Usage:\n  "+t.Name+" "+command) && strings.Contains(help, flag)
}
