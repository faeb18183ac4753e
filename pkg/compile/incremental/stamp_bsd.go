//go:build darwin || freebsd || netbsd

package incremental

import "syscall"

func modifiedTime(stat *syscall.Stat_t) int64 { return stat.Mtimespec.Nano() }

func changedTime(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
