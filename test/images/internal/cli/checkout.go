package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// findRepository returns the folder of the root module: start itself, or the nearest folder above the current one.
func findRepository(start string) (string, error) {
	given := start != ""
	dir, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if isRepository(dir) {
			return dir, nil
		}
		if given || dir == filepath.Dir(dir) {
			return "", usageError{errors.New("no checkout of lockstep.dev/lockstep here: change into one, or name it with --repository")}
		}
	}
}

func isRepository(dir string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimSpace(first) == "module lockstep.dev/lockstep"
}
