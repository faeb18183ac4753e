package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"lockstep.dev/lockstep/pkg/jobs/kept"
)

// Limits bound what is kept: for how long after the end of a job, and how many bytes of compressed logs of a job, of
// a namespace, and in all.
type Limits struct {
	For                         time.Duration
	PerJob, PerNamespace, Total int64
}

// tick is how often what waits is written, and limits are looked at.
const tick = 2 * time.Second

// Run writes what waits and holds the limits until the context ends. What fails is tried again.
func (s *Store) Run(ctx context.Context) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		s.mu.Lock()
		writers := slices.Collect(maps.Keys(s.writers))
		s.mu.Unlock()
		for _, w := range writers {
			_ = w.flush() // whoever appends meets the error
		}
		if err := s.Sweep(); err != nil {
			ctrl.Log.Error(err, "hold the limits of what is kept")
		}
	}
}

func (s *Store) isTooOld(job *kept.Job) bool {
	return job.Ended != nil && s.now().Sub(job.Ended.Time) > s.limits.For
}

// Sweep holds the limits: old jobs go, and a job that prints too much loses the beginning of its log. If a namespace or
// all of them, have too much, jobs go in the order of their ends, and then the beginnings of running jobs.
func (s *Store) Sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	var all []*kept.Job
	byNamespace := map[string][]*kept.Job{}
	for uid, job := range s.jobs {
		if s.isTooOld(job) {
			failed = errors.Join(failed, s.remove(uid))
			continue
		}
		failed = errors.Join(failed, s.cutBeginnings([]*kept.Job{job}, s.limits.PerJob))
		byNamespace[job.Namespace] = append(byNamespace[job.Namespace], job)
	}
	for _, jobs := range byNamespace {
		left, err := s.shrink(jobs, s.limits.PerNamespace)
		failed = errors.Join(failed, err)
		all = append(all, left...)
	}
	_, err := s.shrink(all, s.limits.Total)
	return errors.Join(failed, err)
}

// shrink removes jobs until the others are small enough together, and returns those.
func (s *Store) shrink(jobs []*kept.Job, most int64) ([]*kept.Job, error) {
	slices.SortFunc(jobs, func(a, b *kept.Job) int {
		return ptr.Deref(a.Ended, metav1.Time{}).Compare(ptr.Deref(b.Ended, metav1.Time{}).Time)
	})
	sum := sumOf(jobs)
	var failed error
	left := slices.DeleteFunc(jobs, func(job *kept.Job) bool {
		if job.Ended == nil || sum <= most || failed != nil {
			return false
		}
		sum -= job.Log.Bytes
		failed = s.remove(job.UID)
		return true
	})
	return left, errors.Join(failed, s.cutBeginnings(left, most))
}

func sumOf(jobs []*kept.Job) (sum int64) {
	for _, job := range jobs {
		sum += job.Log.Bytes
	}
	return sum
}

// cutBeginnings halves the largest log until all are small enough together.
func (s *Store) cutBeginnings(jobs []*kept.Job, most int64) error {
	for sumOf(jobs) > most {
		largest := slices.MaxFunc(jobs, func(a, b *kept.Job) int { return cmp.Compare(a.Log.Bytes, b.Log.Bytes) })
		if largest.Log.Bytes == 0 {
			return nil
		}
		if err := s.cutBeginning(largest); err != nil {
			return err
		}
	}
	return nil
}

// cutBeginning takes away the older half of a log.
func (s *Store) cutBeginning(job *kept.Job) error {
	file, err := os.Open(s.path(job, logFile))
	if err != nil {
		return err
	}
	defer file.Close()
	var from int64
	scanSegments(file, func(_ []byte, end int64) bool {
		from = end
		return end < job.Log.Bytes/2
	})
	size := max(0, job.Log.Bytes-from)
	if err := replaceFile(s.path(job, logFile), io.NewSectionReader(file, from, size)); err != nil {
		return err
	}
	job.Log.Bytes, job.Log.Cut = size, true
	return nil
}
