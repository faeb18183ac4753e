package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// memory keeps since when facts about jobs hold, from pass to pass, until the jobs are over.
type memory struct {
	mu   sync.Mutex
	jobs map[client.ObjectKey]job.Memory
	// news is since when a job has something to tell that may wait.
	news map[client.ObjectKey]time.Time
	// written is the version of a TrainJob after our last write of its status.
	written map[client.ObjectKey]string
}

func newMemory() *memory {
	return &memory{jobs: map[client.ObjectKey]job.Memory{}, news: map[client.ObjectKey]time.Time{}, written: map[client.ObjectKey]string{}}
}

// wrote remembers the version that our write made.
func (m *memory) wrote(name client.ObjectKey, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[name] = version
}

// behind says whether a version that the cache gives is older than what this process wrote. A job that has just been called
// failed, and whose JobSet is gone, would be made again otherwise.
func (m *memory) behind(name client.ObjectKey, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	written, known := m.written[name]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, written)
	if err != nil || order >= 0 {
		delete(m.written, name)
		return false
	}
	return true
}

// wait returns how long news of a job may still wait for more, 0 when its time has come.
func (m *memory) wait(name client.ObjectKey, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, waiting := m.news[name]
	if !waiting {
		m.news[name] = now
		return job.Calm
	}
	return max(0, job.Calm-now.Sub(since))
}

// told says that a job has no news left.
func (m *memory) told(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.news, name)
}

// remember lets an observation know since when its facts hold.
func (m *memory) remember(name client.ObjectKey, o *job.Observed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o.Remember(m.jobs[name])
	m.jobs[name] = o.Seen
}

func (m *memory) forget(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, name)
	delete(m.news, name)
	delete(m.written, name)
}
