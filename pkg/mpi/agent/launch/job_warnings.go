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

// warningBoard holds the warnings about a running job and the progress of its program, for the controller.
type warningBoard struct {
	// hold is mpi.WarningsHold.
	hold time.Duration

	mu      sync.Mutex
	current mpi.JobWarnings
	// final: the command has ended, and progress is the last.
	final bool
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
	b.replace(mpi.JobWarnings{Warnings: warnings, Training: b.current.Training})
}

// postTraining replaces the progress of the program.
func (b *warningBoard) postTraining(progress mpi.TrainingProgress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replace(mpi.JobWarnings{Warnings: b.current.Warnings, Training: &progress})
}

// postEnd lets the last progress of the program be answered at once.
func (b *warningBoard) postEnd() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.final = true
	b.wakeAskers()
}

// replace and wakeAskers must be called with the mutex held.
func (b *warningBoard) replace(next mpi.JobWarnings) {
	if next = next.WithinBounds(); !reflect.DeepEqual(next, b.current) {
		b.current = next
		b.wakeAskers()
	}
}

func (b *warningBoard) wakeAskers() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// answerRequest is the subsystem.
func (b *warningBoard) answerRequest(ctx context.Context, request []byte) (any, error) {
	var asked mpi.WarningsRequest
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("decode a question about warnings: %w", err)
	}
	known, hold := asked.WithinBounds(), time.After(b.hold)
	var due <-chan time.Time
	if asked.TrainingAfter != nil {
		due = time.After(time.Duration(min(*asked.TrainingAfter, b.hold.Seconds()) * float64(time.Second)))
	}
	for isDue := false; ; {
		b.mu.Lock()
		current, changed, final := b.current, b.changed, b.final
		b.mu.Unlock()
		if asked.TrainingAfter == nil {
			current.Training, known.Training = nil, nil
		}
		news := (isDue || final) && !reflect.DeepEqual(current.Training, known.Training)
		if news || !reflect.DeepEqual(current.Warnings, known.Warnings) {
			return current, nil
		}
		select {
		case <-changed:
		case <-due:
			isDue = true
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
