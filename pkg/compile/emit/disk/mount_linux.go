package disk

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// isMount reports whether something is mounted at a folder, which may be a part of the file system around it (bind mount): a rename into it
// fails all the same. The kernel is asked to open it without crossing a mount (openat2(2), Linux 5.6); where that is refused or unknown
// the file systems are compared.
func isMount(folder string) bool {
	around, err := unix.Open(filepath.Dir(folder), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return isOnOtherFileSystem(folder)
	}
	defer unix.Close(around)
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV}
	opened, err := unix.Openat2(around, filepath.Base(folder), how)
	if err == nil {
		_ = unix.Close(opened)
		return false
	}
	return errors.Is(err, unix.EXDEV) || isOnOtherFileSystem(folder)
}
