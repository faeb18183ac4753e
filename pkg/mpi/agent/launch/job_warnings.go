package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// warningBoard holds what is wrong with a running job, for the controller.
type warningBoard struct {
	// hold is mpi.WarningsHold.
	hold time.Duration

	mu      sync.Mutex
	current mpi.JobWarnings
	// changed is closed and replaced by the next change.
	changed chan struct{}
}

func newWarningBoard() *warningBoard {
	return &warningBoard{hold: mpi.WarningsHold, changed: make(chan struct{})}
}

// post replaces the warnings.
func (b *warningBoard) post(warnings []mpi.JobWarning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := (mpi.JobWarnings{Warnings: warnings}).WithinBounds(); !reflect.DeepEqual(next, b.current) {
		b.current = next
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// answerRequest is the subsystem.
func (b *warningBoard) answerRequest(ctx context.Context, request []byte) (any, error) {
	var known mpi.JobWarnings
	if err := json.Unmarshal(request, &known); err != nil {
		return nil, fmt.Errorf("decode a question about warnings: %w", err)
	}
	hold := time.After(b.hold)
	for {
		b.mu.Lock()
		current, changed := b.current, b.changed
		b.mu.Unlock()
		if !reflect.DeepEqual(current, known.WithinBounds()) {
			return current, nil
		}
		select {
		case <-changed:
		case <-hold:
			return current, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// quietAfter is how long the output must have been quiet before a failure in it is worth a warning: a program that handles an
// exception prints on.
const quietAfter = 20 * time.Second

// outputWarning returns the warning about a failure that the output tells of while the job runs, nil for none. Python with
// mpi4py waits in MPI_Finalize for the other ranks, which wait for this one.
func (t *outputTail) outputWarning(now time.Time) *mpi.JobWarning {
	last := t.lastWrite()
	if last.IsZero() || now.Sub(last) < quietAfter {
		return nil
	}
	if !last.Equal(t.judged) {
		t.judged, t.warning = last, warningIn(t.lastStream().keptLines())
	}
	return t.warning
}

// warningLines is how many lines at the end of the output are looked at: a traceback, and what a launcher adds.
const warningLines = 20

func warningIn(lines []string) *mpi.JobWarning {
	found := diagnose.FindInOutput(lines[max(0, len(lines)-warningLines):])
	if found == nil || found.Weight < diagnose.Failure {
		return nil
	}
	who := "the program"
	if found.Rank != nil {
		who = fmt.Sprintf("rank %d", *found.Rank)
	}
	return &mpi.JobWarning{Reason: found.Reason, Message: fmt.Sprintf(
		"%s printed `%s` and nothing after it, and the job goes on: other ranks may wait for this one", who, found.Line)}
}
