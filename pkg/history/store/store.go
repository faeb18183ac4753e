// Package store keeps jobs on a disk: `<namespace>/<uid>/job.json`, and beside it `log.gz` with the lines of all its
// containers, in segments that are compressed one by one. A process that ends at any moment loses only what it has
// not written, which kubelet still has; of a file only whole segments count. What this package must not know: where
// lines come from, and who reads them.
package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/jobs/kept"
)

const (
	jobFile = "job.json"
	logFile = "log.gz"
)

// ErrNotKept is the answer for a job that is not kept, or not any more.
var ErrNotKept = errors.New("the job is not kept")

// Store keeps jobs in a folder.
type Store struct {
	root   string
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	jobs    map[types.UID]*kept.Job
	removed map[types.UID]bool
	writers map[*Writer]bool
}

// Open returns what a folder keeps. It returns that too when some of it cannot be read, with an error.
func Open(root string, limits Limits, now func() time.Time) (*Store, error) {
	s := &Store{
		root:    root,
		limits:  limits,
		now:     now,
		jobs:    map[types.UID]*kept.Job{},
		removed: map[types.UID]bool{},
		writers: map[*Writer]bool{},
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", jobFile))
	for _, file := range files {
		folder := filepath.Dir(file)
		job := &kept.Job{}
		job.UID, job.Namespace = types.UID(filepath.Base(folder)), filepath.Base(filepath.Dir(folder))
		job, failed := s.read(job)
		if err = errors.Join(err, failed); failed != nil {
			continue
		}
		if info, failed := os.Stat(s.path(job, logFile)); failed == nil {
			job.Log.Bytes = info.Size()
		}
		job.Objects = nil
		s.jobs[job.UID] = job
	}
	return s, err
}

func (s *Store) path(job *kept.Job, file string) string {
	return filepath.Join(s.root, job.Namespace, string(job.UID), file)
}

// read returns a job with its objects.
func (s *Store) read(job *kept.Job) (*kept.Job, error) {
	text, err := os.ReadFile(s.path(job, jobFile))
	if err != nil {
		return nil, err
	}
	whole := &kept.Job{}
	return whole, json.Unmarshal(text, whole)
}

func (s *Store) save(job *kept.Job, objects *kept.Objects) error {
	whole := *job
	whole.Objects = objects
	text, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	return replaceFile(s.path(job, jobFile), bytes.NewReader(text))
}

// Keep begins to keep a job, or renews what is known of it; its log stays as it is. ErrNotKept is the answer for a job
// that was removed in the life of this process, and for a job that ended too long ago.
func (s *Store) Keep(job kept.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed[job.UID] || s.isTooOld(&job) {
		return ErrNotKept
	}
	objects := job.Objects
	job.Objects = nil
	if old := s.jobs[job.UID]; old != nil {
		job.Log = old.Log
	}
	if err := os.MkdirAll(s.path(&job, ""), 0o700); err != nil {
		return err
	}
	s.jobs[job.UID] = &job
	return s.save(&job, objects)
}

// List returns jobs without their objects, the oldest first.
func (s *Store) List(wanted func(*kept.Job) bool) []kept.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []kept.Job{}
	for _, job := range s.jobs {
		if wanted(job) {
			found = append(found, *job)
		}
	}
	slices.SortFunc(found, func(a, b kept.Job) int {
		return cmp.Or(
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name),
		)
	})
	return found
}

// Get returns a job with its objects, or ErrNotKept.
func (s *Store) Get(uid types.UID) (*kept.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[uid]
	if job == nil {
		return nil, ErrNotKept
	}
	whole := *job
	old, err := s.read(job)
	if err == nil {
		whole.Objects = old.Objects
	}
	return &whole, err
}

// CopyLog writes the lines of a job, each as kept.FormatLine does.
func (s *Store) CopyLog(w io.Writer, job *kept.Job) error {
	file, err := os.Open(s.path(job, logFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	scanSegments(file, func(text []byte, _ int64) bool {
		_, err = w.Write(text)
		return err == nil
	})
	return err
}

// Remove takes a job and its log away.
func (s *Store) Remove(uid types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(uid)
}

func (s *Store) remove(uid types.UID) error {
	job := s.jobs[uid]
	if job == nil {
		return nil
	}
	delete(s.jobs, uid)
	s.removed[uid] = true
	return os.RemoveAll(s.path(job, ""))
}
