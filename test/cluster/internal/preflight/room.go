package preflight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A kubelet evicts every pod while its disk has less than 1 % left, and a cluster then looks as if it hung. It is refused below twice
// that, or below what its images and logs need.
const (
	leastShare = 50 // one in so many
	leastBytes = 2 << 30
)

// RoomError says that a disk is too full.
type RoomError struct {
	Folder           string
	Available, Least uint64
}

func (e RoomError) Error() string {
	return fmt.Sprintf("the disk of %s has %.1f GB left, and %.1f GB are needed: kubelet evicts all pods of a disk that is nearly full; free some, `go clean -cache` often helps",
		e.Folder, float64(e.Available)/1e9, float64(e.Least)/1e9)
}

// Room returns a RoomError for the first folder whose disk is too full. Folders need not exist yet.
func Room(folders ...string) error {
	for _, folder := range folders {
		var disk syscall.Statfs_t
		if err := syscall.Statfs(existing(folder), &disk); err != nil {
			return fmt.Errorf("look at the disk of %s: %w", folder, err)
		}
		size := uint64(disk.Bsize) //nolint:gosec // a size is not negative
		if err := enough(folder, disk.Bavail*size, disk.Blocks*size); err != nil {
			return err
		}
	}
	return nil
}

func enough(folder string, available, total uint64) error {
	if least := max(total/leastShare, leastBytes); available < least {
		return RoomError{Folder: folder, Available: available, Least: least}
	}
	return nil
}

// existing returns the folder, or the nearest one above it that exists.
func existing(folder string) string {
	for {
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}
