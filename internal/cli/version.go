package cli

import "lockstep.dev/lockstep/internal/version"

// Version returns the release that the program belongs to.
func Version() string { return version.String() }
