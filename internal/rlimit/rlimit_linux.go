// Package rlimit limits what a process that runs programs of others may use: Jsonnet, and templates of charts.
package rlimit

import "syscall"

// SetLimits sets limits that this process cannot exceed: seconds of processor time, and bytes of memory. RLIMIT_DATA counts what a Go program has written to or may write to,
// RLIMIT_AS would count what it only reserves.
func SetLimits(seconds, memory uint64) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds + 1}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory})
}
