//go:build unix && !linux

package main

import (
	"runtime/debug"
	"syscall"
)

// limitProcess limits processor time. These systems do not limit what Go maps, so memory has only the collector's target.
func limitProcess(seconds, memory uint64) error {
	debug.SetMemoryLimit(int64(memory))
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1})
}
