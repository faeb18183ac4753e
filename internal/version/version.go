// Package version names the release that a program belongs to, for all programs alike.
package version

import "runtime/debug"

// release is set by the linker for releases, as `make release` does: -X lockstep.dev/lockstep/internal/version.release=v1.2.3.
var release string

// String returns the release, or what the Go toolchain recorded: the module's version for a program of `go install`, the revision of a
// local build, `(devel)` where it recorded none.
func String() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
