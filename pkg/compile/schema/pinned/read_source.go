package pinned

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// Read returns the files of a source by name, downloading the module if the module cache lacks it.
func (s Source) Read() (map[string][]byte, error) {
	dir, err := s.Folder()
	if err != nil {
		return nil, err
	}
	module, found := os.DirFS(dir), map[string][]byte{}
	for _, pattern := range s.Files {
		names, err := fs.Glob(module, pattern)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s@%s has no file %s", s.Module, s.Version, pattern)
		}
		for _, name := range names {
			if found[path.Clean(name)], err = fs.ReadFile(module, name); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// CRDs returns the folders with the CRDs of modules in the module cache.
func CRDs(modules ...string) (folders []string, err error) {
	for _, s := range Sources {
		if slices.Contains(modules, s.Module) {
			folder, err := s.Folder()
			if err != nil {
				return nil, err
			}
			folders = append(folders, filepath.Join(folder, path.Dir(s.Files[0])))
		}
	}
	return folders, nil
}

// Folder returns the module in the module cache. It asks the go command for it, and makes sure that it is the pinned one.
func (s Source) Folder() (dir string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", s.Module+"@"+s.Version) //nolint:gosec // modules are constants
	cmd.Stderr = os.Stderr
	out, runErr := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("download %s@%s: %w", s.Module, s.Version, firstError(runErr, err))
	}
	switch {
	case module.Error != "":
		return "", fmt.Errorf("download %s@%s: %s", s.Module, s.Version, module.Error)
	case module.Sum != s.Sum:
		return "", fmt.Errorf("%s@%s has the checksum %s, pinned is %s: find out why before you change the pin", s.Module, s.Version, module.Sum, s.Sum)
	}
	return module.Dir, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
