//go:build unix && !linux && !darwin

package disk

func renameExchange(string, string) error { return errNotAtOnce }

func hasACL(string) bool { return false }
