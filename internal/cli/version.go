package cli

import "runtime/debug"

// Version returns what the Go toolchain recorded: the module's version, or the revision of a local build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
