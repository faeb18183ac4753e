// Package repository_test judges the repository itself: what comments and documents name exists.
package repository_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/reporoot"
)

// findFiles returns the absolute paths of the files with a suffix, without built ones. It walks instead of asking git:
// Go runs a test again when a folder that the test has listed changes.
func findFiles(t *testing.T, suffix string) []string {
	t.Helper()
	root, err := reporoot.Find()
	if err != nil {
		t.Fatal(err)
	}
	built := []string{filepath.Join(root, "build"), filepath.Join(root, "dist")}
	var files []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || slices.Contains(built, path)):
			return filepath.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(path, suffix):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
