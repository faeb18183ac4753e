package diagnose

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// PageURL returns the address of the page about a reason below the address of docs, such as
// https://docs.example.com/failures/OOMKilled; empty for a reason that is not documented, and if docs is no address.
func PageURL(docs string, reason mpi.Reason) string {
	_, documented := ReasonDocOf(reason)
	if !documented || !strings.HasPrefix(docs, "https://") && !strings.HasPrefix(docs, "http://") {
		return ""
	}
	return docs + "/failures/" + string(reason)
}
