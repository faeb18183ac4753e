package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// gateErrors sort the last words about a node that did not pass the gate (package agent/client).
var gateErrors = []struct {
	words  string
	reason mpi.Reason
}{
	{"authentication failed", AuthenticationFailed},
	{"connection refused", ConnectionRefused},
	{"connection timed out", ConnectionTimedOut},
	{"no route to host", ConnectionTimedOut},
	{"accepts connections but does not answer", ConnectionTimedOut},
	{"DNS does not answer", NameNotResolved},
}

// absent are the last words about a node that was not there to be reached.
var absent = []string{"nobody sent the addresses", "no address", "its name is not in DNS"}

// GateReason is why nodes did not pass the gate: what all of them have in common, otherwise GateTimeout.
func GateReason(failures []mpi.NodeFailure) mpi.Reason {
	var common mpi.Reason
	for _, failure := range failures {
		reason := reasonOfGateError(failure.Error)
		if common != "" && common != reason {
			return GateTimeout
		}
		common = reason
	}
	return cmp.Or(common, GateTimeout)
}

func reasonOfGateError(text string) mpi.Reason {
	for _, e := range gateErrors {
		if strings.Contains(text, e.words) {
			return e.reason
		}
	}
	return GateTimeout
}

// maxNamed is how many nodes a sentence names.
const maxNamed = 3

// GateFailure is the cause of a gate that did not pass: it names the first workers with their port, and what to check.
func GateFailure(result mpi.GateResult) Cause {
	reason := GateReason(result.Failures)
	named := make([]string, 0, maxNamed)
	for _, failure := range result.Failures[:min(maxNamed, len(result.Failures))] {
		named = append(named, describeNodeFailure(failure))
	}
	text := GateHeadline(result.Failures) + strings.Join(named, "; ")
	if more := len(result.Failures) - maxNamed + result.More; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return *causeWithRemedy(reason, text)
}

// GateHeadline is what a sentence about nodes that did not pass the gate begins with.
func GateHeadline(failures []mpi.NodeFailure) string {
	switch GateReason(failures) {
	case AuthenticationFailed:
		return "MPI communication failure - the key of the job was not accepted: "
	case NameNotResolved:
		return "MPI communication failure - check DNS: "
	case GateTimeout:
		if !slices.ContainsFunc(failures, func(f mpi.NodeFailure) bool { return !isAbsentNode(f) }) {
			return "not all pods of the job came up in time: "
		}
	}
	return blocked
}

// isAbsentNode reports whether a node was not there: a pod without an address has no name in DNS either.
func isAbsentNode(failure mpi.NodeFailure) bool {
	return slices.ContainsFunc(absent, func(words string) bool { return strings.Contains(failure.Error, words) })
}

func describeNodeFailure(failure mpi.NodeFailure) string {
	label, _, _ := strings.Cut(failure.Name, ".")
	where := label
	if failure.Address != "" {
		where += ", " + failure.Address
	}
	return fmt.Sprintf("%s port %d (%s): %s", WorkerName(failure.Name), mpi.AgentPort, where, failure.Error)
}
