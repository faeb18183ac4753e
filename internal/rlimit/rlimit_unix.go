//go:build unix && !linux

// Package rlimit limits what a process that runs programs of others may use: Jsonnet, and templates of charts.
package rlimit

import (
	"runtime/debug"
	"syscall"
)

// SetLimits limits processor time. These systems do not limit what Go maps, so memory has only the collector's target.
func SetLimits(seconds, memory uint64) error {
	debug.SetMemoryLimit(int64(memory))
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1})
}
