package seccomp

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// refusedHere is empty: this architecture has no older names.
var refusedHere []uint32
