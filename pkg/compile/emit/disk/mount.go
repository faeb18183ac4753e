package disk

import (
	"os"
	"path/filepath"
)

// isOnOtherFileSystem reports whether a folder is on another file system than the one that it is in. A folder that cannot be looked at is not.
func isOnOtherFileSystem(folder string) bool {
	own, err := os.Stat(folder)
	if err != nil {
		return false
	}
	around, err := os.Stat(filepath.Dir(folder))
	return err == nil && device(own) != device(around)
}
