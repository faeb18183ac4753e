package store

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/jobs/kept"
)

const (
	// segmentBytes is how much text waits in memory before it becomes a segment; the ticks of Run write less.
	segmentBytes = 256 << 10
	// rewind is how far before its last line a log is read again: two streams of a program are in order only nearly.
	rewind = time.Second
)

// Writer appends to the log of a job.
type Writer struct {
	store *Store
	uid   types.UID
	path  string

	mu    sync.Mutex
	text  []byte
	since map[string]time.Time
	// again counts the lines from since on: a log that is read again from there repeats them.
	again  map[string]int
	broken error
}

// OpenLog returns the writer of a job that is kept. A write that was cut off in the middle is taken back.
func (s *Store) OpenLog(uid types.UID) (*Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[uid]
	if job == nil {
		return nil, ErrNotKept
	}
	w := &Writer{
		store: s,
		uid:   uid,
		path:  s.path(job, logFile),
		since: map[string]time.Time{},
		again: map[string]int{},
	}
	file, err := os.OpenFile(w.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	job.Log.Bytes = scanSegments(file, eachLine(func(line string) {
		at, source, _ := kept.ParseLine(line)
		w.since[source] = at.Truncate(time.Second).Add(-rewind)
	}))
	if _, err := file.Seek(0, 0); err != nil {
		return nil, err
	}
	scanSegments(file, eachLine(func(line string) {
		if at, source, _ := kept.ParseLine(line); !at.Before(w.since[source]) {
			w.again[line]++
		}
	}))
	s.writers[w] = true
	return w, file.Truncate(job.Log.Bytes)
}

func eachLine(visit func(string)) func([]byte, int64) bool {
	return func(text []byte, _ int64) bool {
		for line := range bytes.Lines(text) {
			visit(string(line))
		}
		return true
	}
}

// Since is from when on the output of a `pod/container` is wanted: a little before its last line, zero for all.
func (w *Writer) Since(source string) time.Time { return w.since[source] }

// Append takes a line, unless it was kept before the log was opened. After an error nothing more is taken: a new writer
// goes on from what is kept.
func (w *Writer) Append(at time.Time, source, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := kept.FormatLine(at, source, text)
	if w.again[line] > 0 {
		w.again[line]--
		return w.broken
	}
	if w.text = append(w.text, line...); len(w.text) < segmentBytes {
		return w.broken
	}
	return w.write()
}

// flush writes what waits.
func (w *Writer) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write()
}

func (w *Writer) write() error {
	if len(w.text) > 0 && w.broken == nil {
		w.broken = w.store.appendSegment(w, compressSegment(w.text))
	}
	w.text = w.text[:0]
	return w.broken
}

// Close writes what waits. With whole no more will come; note is a sentence about missing lines.
func (w *Writer) Close(whole bool, note string) error {
	err := w.flush()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	delete(w.store.writers, w)
	job := w.store.jobs[w.uid]
	if job == nil || err != nil {
		return cmp.Or(err, ErrNotKept)
	}
	job.Log.Whole, job.Log.Note = whole, note
	old, err := w.store.read(job)
	if err != nil {
		return err
	}
	return w.store.save(job, old.Objects)
}

// appendSegment adds to a log. What was written of it when it fails is taken back, so that what comes later can be
// read.
func (s *Store) appendSegment(w *Writer, segment []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[w.uid]
	if job == nil {
		return ErrNotKept
	}
	file, err := os.OpenFile(w.path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = file.Write(segment); err != nil {
		return errors.Join(err, file.Truncate(job.Log.Bytes))
	}
	job.Log.Bytes += int64(len(segment))
	return nil
}
