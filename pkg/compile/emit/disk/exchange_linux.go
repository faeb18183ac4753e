package disk

import (
	"strings"

	"golang.org/x/sys/unix"
)

func renameExchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// hasACL reports whether a folder has an access control list, which its next generation would not inherit.
func hasACL(name string) bool {
	var names [1 << 10]byte
	n, err := unix.Llistxattr(name, names[:])
	return err == unix.ERANGE || n > 0 && strings.Contains(string(names[:n]), "posix_acl")
}
