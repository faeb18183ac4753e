//go:build !linux || !(amd64 || arm64)

// Package seccomp takes from a process what it does not need to run programs of others. Only Linux on amd64 and arm64 does.
package seccomp

import "errors"

// Confine is an error here.
func Confine() error { return errors.ErrUnsupported }
