package launch

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// nodeTrouble is a kind of failure that is not explained by a container that has not started yet.
type nodeTrouble int

const (
	none nodeTrouble = iota
	// wrongKey: the node shows another key.
	wrongKey
	// unreachable: packets to the node, or from one node to another, get lost.
	unreachable
	// rejected: connections are refused although somebody listens.
	rejected
	// noHandshake: the node accepts connections and says nothing. An agent that gets no processor time does that too.
	noHandshake
	// misplaced: another pod of the job answers. A newer table may know better, so the gate waits on.
	misplaced
)

// doubtAfter is how long a trouble lasts before it is worth a word. Two lost attempts are no single lost packet. An agent
// listens within a second of its container's start, and has more time where machines are busy. One without a handshake is rather
// busy than blocked. A new table comes within moments after a pod has moved.
var doubtAfter = map[nodeTrouble]time.Duration{
	none: math.MaxInt64, wrongKey: 0, unreachable: 2 * client.Attempt, rejected: 8 * time.Second, noHandshake: 10 * time.Second, misplaced: 5 * time.Second,
}

// limitOfTrouble returns how long a trouble may last before the gate gives up, and whether it ever does.
func (g Gate) limitOfTrouble(in nodeTrouble) (limit time.Duration, ends bool) {
	switch in {
	case wrongKey:
		return g.WrongKeyTimeout, true
	case unreachable, rejected, noHandshake:
		return g.UnreachableTimeout, g.UnreachableTimeout > 0
	}
	return 0, false
}

// troubleOf sorts the failure of an attempt. Up says that the containers of all nodes are known to run: then somebody has to
// listen. A node that cannot reach another has answered us, and so has the other.
func troubleOf(err error, up bool) nodeTrouble {
	var failure *client.Failure
	var cut *cutOffError
	cause, listens := client.Cause(""), up
	switch {
	case errors.As(err, &cut):
		cause, listens = client.Cause(cut.peer.Error), true
	case errors.As(err, &failure):
		cause = failure.Cause
	}
	switch cause {
	case client.OtherPod:
		return misplaced
	case client.Authentication:
		return wrongKey
	case client.TimedOut, client.Unreachable:
		return unreachable
	case client.NoHandshake:
		return noHandshake
	case client.Refused:
		if listens {
			return rejected
		}
	}
	return none
}

// lastingTrouble is a trouble and since when it lasts.
type lastingTrouble struct {
	trouble nodeTrouble
	since   time.Time
}

// noteTrouble takes in how an attempt failed that began at a time.
func (l *lastingTrouble) noteTrouble(now nodeTrouble, began time.Time) {
	if now != l.trouble || l.since.IsZero() {
		*l = lastingTrouble{now, began}
	}
}

// cutOffError says that a node answers but cannot reach another pod.
type cutOffError struct{ peer mpi.NodeFailure }

func (e *cutOffError) Error() string {
	return fmt.Sprintf("it cannot reach %s: %s", hosts.DescribeHost(e.peer.Name, e.peer.Address), e.peer.Error)
}
