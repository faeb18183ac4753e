package disk

import "golang.org/x/sys/unix"

func renameExchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// hasACL says that a folder has no access control list that its next generation would miss: those of macOS are not looked at.
func hasACL(string) bool { return false }

// isMount reports whether something is mounted at a folder.
func isMount(folder string) bool { return isOnOtherFileSystem(folder) }
