package incremental

import "syscall"

func modifiedTime(stat *syscall.Stat_t) int64 { return stat.Mtim.Nano() }

func changedTime(stat *syscall.Stat_t) int64 { return stat.Ctim.Nano() }
