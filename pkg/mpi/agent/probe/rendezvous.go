package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Rendezvous is where ranks hand in what they have and get what all others have. The zero value is ready.
type Rendezvous struct {
	mu     sync.Mutex
	tables map[string]*rendezvousRound
}

// rendezvousRound is one rendezvous: it is full when all ranks have come.
type rendezvousRound struct {
	texts   []json.RawMessage
	present []bool
	missing int
	full    chan struct{}
}

// maxWait bounds how long a rank may wait.
const maxWait = time.Hour

// Answer is the subsystem: it waits until all ranks of the request's rendezvous have come.
func (r *Rendezvous) Answer(ctx context.Context, request []byte) (any, error) {
	var asked mpi.ProbeRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("decode the request of a probe: %w", err)
	}
	if err := validateRequest(asked); err != nil {
		return nil, err
	}
	name := strconv.Itoa(asked.Size) + "/" + asked.Session + "/" + asked.Round
	t := r.joinRound(name, asked)
	limit := min(time.Duration(asked.Seconds*float64(time.Second)), maxWait)
	select {
	case <-t.full:
		return t.reply(asked), nil
	case <-time.After(limit):
		return nil, r.leaveRound(name, t, asked.Rank, fmt.Sprintf("within %v", limit))
	case <-ctx.Done():
		return nil, r.leaveRound(name, t, asked.Rank, "in time")
	}
}

func validateRequest(r mpi.ProbeRequest) error {
	switch {
	case r.Size < 1 || r.Size > mpi.MaxProbeRanks:
		return fmt.Errorf("a probe of %d ranks: allowed are 1 to %d", r.Size, mpi.MaxProbeRanks)
	case r.Rank < 0 || r.Rank >= r.Size:
		return fmt.Errorf("rank %d of a probe of %d: allowed are 0 to %d", r.Rank, r.Size, r.Size-1)
	case !(r.Seconds >= 0): // not a number, too
		return errors.New("a rank of a probe must wait 0 seconds or longer")
	}
	return nil
}

// joinRound takes the place of a rank. Who comes again, as the same rank of a new attempt, takes the place over.
func (r *Rendezvous) joinRound(name string, asked mpi.ProbeRequest) *rendezvousRound {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tables[name]
	if t == nil {
		t = &rendezvousRound{
			texts: make([]json.RawMessage, asked.Size), present: make([]bool, asked.Size), missing: asked.Size, full: make(chan struct{}),
		}
		if r.tables == nil {
			r.tables = map[string]*rendezvousRound{}
		}
		r.tables[name] = t
	}
	if !t.present[asked.Rank] {
		t.present[asked.Rank] = true
		t.missing--
	}
	t.texts[asked.Rank] = asked.Text
	if t.missing == 0 {
		delete(r.tables, name) // the next mpirun may meet under the same name
		close(t.full)
	}
	return t
}

// leaveRound gives the place of a rank up and says who was missing.
func (r *Rendezvous) leaveRound(name string, t *rendezvousRound, rank int, when string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing []string
	for i, present := range t.present {
		if !present {
			missing = append(missing, strconv.Itoa(i))
		}
	}
	if t.present[rank] && t.missing > 0 {
		t.present[rank] = false
		t.missing++
	}
	if t.missing == len(t.present) && r.tables[name] == t {
		delete(r.tables, name)
	}
	return fmt.Errorf("ranks that did not come %s: %s", when, strings.Join(missing, ", "))
}

func (t *rendezvousRound) reply(asked mpi.ProbeRequest) mpi.ProbeReply {
	if !asked.Deliver {
		return mpi.ProbeReply{}
	}
	return mpi.ProbeReply{Texts: t.texts}
}
