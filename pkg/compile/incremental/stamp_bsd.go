//go:build darwin || freebsd || netbsd

package incremental

import "syscall"

func modified(stat *syscall.Stat_t) int64 { return stat.Mtimespec.Nano() }

func changed(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
