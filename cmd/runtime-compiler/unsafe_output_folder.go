package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// rejectUnsafeOutputFolder refuses an output folder among the inputs: compiled manifests there would be read as specs, or rendered as templates,
// by the next build. Symbolic links are followed on both sides.
func rejectUnsafeOutputFolder(root, out string) error {
	if out == "" {
		return errors.New("--out is empty: name a folder, for example `dist`")
	}
	target, err := canonicalPath(out)
	if err != nil {
		return fmt.Errorf("resolve --out `%s`: %w", out, source.Reason(err))
	}
	if err := rejectProtectedFolder(root, out, target); err != nil {
		return err
	}
	for _, name := range []string{"catalog", "tenants", "overlays", source.TemplateFolder} {
		input, err := canonicalPath(filepath.Join(root, name))
		if err != nil {
			return fmt.Errorf("resolve --root: %w", err)
		}
		if isWithinFolder(input, target) {
			return fmt.Errorf("--out `%s` is in the input folder %s/: choose a folder outside, for example `dist`", out, name)
		}
	}
	base, err := canonicalPath(root)
	if err != nil {
		return fmt.Errorf("resolve --root: %w", err)
	}
	for folder := target; isWithinFolder(base, folder) && folder != base; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, "Chart.yaml")); err == nil {
			return fmt.Errorf("--out `%s` is in a Helm chart, `%s`: choose a folder outside, for example `dist`", out, folder)
		}
	}
	return nil
}

// rejectProtectedFolder refuses folders in which what is compiled would be among what it must not touch, or replace.
func rejectProtectedFolder(root, out, target string) error {
	base, err := canonicalPath(root)
	switch {
	case err != nil:
		return fmt.Errorf("resolve --root: %w", err)
	case target == filepath.Dir(target):
		return fmt.Errorf("--out `%s` is the root of the file system: choose a folder of its own, for example `dist`", out)
	case slices.Contains(strings.Split(target, string(filepath.Separator)), ".git"):
		return fmt.Errorf("--out `%s` is in a folder .git, where git keeps its own files: choose a folder outside, for example `dist`", out)
	case target == base:
		return fmt.Errorf("--out `%s` is the repository itself: choose a folder of its own, for example `dist`", out)
	case isWithinFolder(target, base):
		return fmt.Errorf("--out `%s` is around the repository: choose a folder of its own, for example `dist`", out)
	}
	return nil
}

func isWithinFolder(folder, name string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// canonicalPath returns the absolute path without symbolic links, also of what does not exist yet.
func canonicalPath(name string) (string, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	missing := ""
	for {
		real, err := filepath.EvalSymlinks(absolute)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		if !errors.Is(err, os.ErrNotExist) || absolute == filepath.Dir(absolute) {
			return "", err
		}
		absolute, missing = filepath.Dir(absolute), filepath.Join(filepath.Base(absolute), missing)
	}
}
