//go:build !amd64

package proc

func legacySyscallName(_ int, otherwise string) string { return otherwise }
