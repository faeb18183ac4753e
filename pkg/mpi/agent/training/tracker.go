package training

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const (
	// longestLine is how many bytes of a line are read.
	longestLine = 1 << 10
	// recognizedLines is how many lines a second are compared with the usual ones, which costs a fraction of a percent
	// of a processor.
	recognizedLines = 200
	// lastLines is how many lines at the end are read again if some were skipped.
	lastLines = 50
)

// Tracker knows how far a program is. It needs no initialization.
type Tracker struct {
	// Changed gets the progress after each change, one call at a time, if it is not nil.
	Changed func(mpi.TrainingProgress)

	mu    sync.Mutex
	known mpi.TrainingProgress
	// explicit: the program reports its progress itself, so that usual lines no longer count.
	explicit bool
	usual    recognizer
	// second is when the current second began, and looked how many lines were compared in it.
	second time.Time
	looked int
	// skipped: there were more lines than are compared.
	skipped bool
}

// Known returns the progress so far, nil if there was no report.
func (t *Tracker) Known() *mpi.TrainingProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known.IsEmpty() {
		return nil
	}
	known := t.known
	return &known
}

// TakePost takes in the post of a program in this pod. It never fails.
func (t *Tracker) TakePost(_ context.Context, p mpi.TrainingProgress) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.explicit = true
	t.update(p)
	return nil
}

// AnswerPost is the subsystem that takes in posts from other pods of the job.
func (t *Tracker) AnswerPost(ctx context.Context, request []byte) (any, error) {
	var p mpi.TrainingProgress
	if err := json.Unmarshal(request, &p); err != nil {
		return nil, fmt.Errorf("decode the progress of a program: %w", err)
	}
	return struct{}{}, t.TakePost(ctx, p)
}

// update must be called with the mutex held.
func (t *Tracker) update(p mpi.TrainingProgress) {
	next := t.known.With(p.WithinBounds())
	if next.Updated = t.known.Updated; reflect.DeepEqual(next, t.known) {
		return
	}
	next.Updated = time.Now().UnixMilli()
	if t.known = next; t.Changed != nil {
		t.Changed(next)
	}
}

// NoteLine takes in a line of the output.
func (t *Tracker) NoteLine(line []byte) {
	line = line[:min(len(line), longestLine)]
	mayBeMarked := bytes.Contains(line, []byte(mpi.TrainingMarker))
	t.mu.Lock()
	defer t.mu.Unlock()
	if !mayBeMarked && !t.maySpend(time.Now()) {
		return
	}
	_, text := diagnose.CutRankTag(diagnose.StripEscapes(string(line)))
	if p, marked := ParseLine(text); marked {
		t.explicit = true
		t.update(p)
	} else if p, found := t.usual.read(text); found && !mayBeMarked {
		t.update(p)
	}
}

// maySpend reports whether one more line may be compared with the usual ones.
func (t *Tracker) maySpend(now time.Time) bool {
	if t.explicit {
		return false
	}
	if now.Sub(t.second) >= time.Second {
		t.second, t.looked = now, 0
	}
	t.looked++
	t.skipped = t.skipped || t.looked > recognizedLines
	return t.looked <= recognizedLines
}

// NoteEnd takes in the last lines of the output.
func (t *Tracker) NoteEnd(lines []string) {
	t.mu.Lock()
	again := t.skipped
	t.second = time.Time{}
	t.mu.Unlock()
	if !again {
		return
	}
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		t.NoteLine([]byte(line))
	}
}

// Stream cuts one stream of the output into lines, of which a program may draw several over each other.
type Stream struct {
	tracker *Tracker
	begun   []byte
}

// NewStream returns a stream at its beginning.
func (t *Tracker) NewStream() *Stream { return &Stream{tracker: t} }

// Write takes in more text. It never fails, and a nil stream ignores it.
func (s *Stream) Write(text []byte) (int, error) {
	if s == nil {
		return len(text), nil
	}
	for rest := text; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\n\r")
		part, after := rest, []byte(nil)
		if end >= 0 {
			part, after = rest[:end], rest[end+1:]
		}
		s.begun = append(s.begun, part[:min(len(part), longestLine-len(s.begun))]...)
		if rest = after; end >= 0 {
			s.EndLine()
		}
	}
	return len(text), nil
}

// EndLine takes in an unfinished line.
func (s *Stream) EndLine() {
	if s != nil && len(s.begun) > 0 {
		s.tracker.NoteLine(s.begun)
		s.begun = s.begun[:0]
	}
}
