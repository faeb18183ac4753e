package diagnose

import "lockstep.dev/lockstep/pkg/mpi"

// DocsURL is the folder of the pages about reasons, one per reason: docs/failures.
const DocsURL = "https://lockstep.dev/failures/"

// PageURL is the address of the page about a reason, empty for an undocumented reason.
func PageURL(reason mpi.Reason) string {
	if _, documented := ReasonDocOf(reason); !documented {
		return ""
	}
	return DocsURL + string(reason)
}
