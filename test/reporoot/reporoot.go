// Package reporoot finds the root of the repository that the working directory lies in.
package reporoot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Find returns the nearest folder upwards that holds the bundle.
func Find() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "catalog")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("find the checkout: no folder above holds `catalog`: run this inside the repository")
}
