//go:build unix && !linux && !darwin

package disk

func renameExchange(string, string) error { return errNotAtOnce }

func hasACL(string) bool { return false }

// isMount reports whether something is mounted at a folder.
func isMount(folder string) bool { return isOnOtherFileSystem(folder) }
