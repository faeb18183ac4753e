package incremental

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp is what a file system says of a file without reading it. A file that was written to, replaced, or made to look old has
// another one: nobody can set the time of change.
type Stamp struct {
	Size, Modified, Changed int64
	Inode, Device           uint64
	Mode                    uint32
}

// Absent is the stamp of what does not exist.
var Absent Stamp

// StampOf returns the stamp of a file. False means that the file system does not say enough.
func StampOf(info fs.FileInfo) (Stamp, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, false
	}
	return StampFromStat(stat), true
}

// StampFromStat returns the stamp in the answer of a system call.
func StampFromStat(stat *syscall.Stat_t) Stamp {
	return Stamp{
		Size: stat.Size, Modified: modifiedTime(stat), Changed: changedTime(stat),
		Inode: stat.Ino, Device: uint64(stat.Dev), Mode: uint32(stat.Mode), //nolint:unconvert // other types on other systems
	}
}

// StampFromUnix returns the stamp in the answer of a system call of package unix.
func StampFromUnix(stat *unix.Stat_t) Stamp {
	return Stamp{
		Size: stat.Size, Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano(),
		Inode: stat.Ino, Device: uint64(stat.Dev), Mode: uint32(stat.Mode), //nolint:unconvert // other types on other systems
	}
}

// How coarse times of files may be: some file systems know whole seconds (FAT two of them), for others the clock of the kernel ticks.
const (
	coarse = 2 * time.Second
	fine   = 50 * time.Millisecond
)

// settled reports whether a file that is written to after a moment, in nanoseconds, certainly gets another stamp. Shortly after it was
// written it may not (the "racy" entries of git's index).
func (s Stamp) settled(moment int64) bool {
	granularity := fine
	if s.Modified%int64(time.Second) == 0 && s.Changed%int64(time.Second) == 0 {
		granularity = coarse
	}
	return max(s.Modified, s.Changed) < moment-int64(granularity)
}

// fileType is that of POSIX; 0 for what does not exist.
func (s Stamp) fileType() uint32 { return s.Mode & syscall.S_IFMT }
