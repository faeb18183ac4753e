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
	// news is since when a job has something to tell that may wait, by how long it may: counts of Jobs are old when pods become
	// ready, and must not hurry the news of that.
	news map[client.ObjectKey]map[time.Duration]news
	// written is the version of a TrainJob after our last write of its status.
	written map[client.ObjectKey]string
	// warnings are what was read last for a job.
	warnings map[client.ObjectKey]recentWarnings
	// said is which version was told last of a topic: of what an event of a reason is about, of a condition of a companion.
	said map[client.ObjectKey]map[string]string
}

// news is since when there is something to tell that may wait, and its version, empty where the first counts for the later ones too.
type news struct {
	since   time.Time
	version string
}

func newMemory() *memory {
	return &memory{
		jobs: map[client.ObjectKey]job.Memory{}, news: map[client.ObjectKey]map[time.Duration]news{}, written: map[client.ObjectKey]string{},
		warnings: map[client.ObjectKey]recentWarnings{}, said: map[client.ObjectKey]map[string]string{},
	}
}

func (m *memory) read(name client.ObjectKey, warnings recentWarnings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warnings[name] = warnings
}

func (m *memory) recent(name client.ObjectKey) (warnings recentWarnings, read bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	warnings, read = m.warnings[name]
	return warnings, read
}

// say says whether another version of a topic was told last, or none, and remembers this one.
func (m *memory) say(name client.ObjectKey, topic, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, known := m.said[name][topic]; known && last == version {
		return false
	}
	if m.said[name] == nil {
		m.said[name] = map[string]string{}
	}
	m.said[name][topic] = version
	return true
}

// wrote remembers the version that our write made.
func (m *memory) wrote(name client.ObjectKey, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[name] = version
}

// own says whether a version is what our last write made.
func (m *memory) own(name client.ObjectKey, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written[name] == version
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

// wait returns how long news of a job may still wait for more, 0 when its time has come. Patience is how long such news may wait
// in all, since its version came.
func (m *memory) wait(name client.ObjectKey, now time.Time, patience time.Duration, version string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.news[name] == nil {
		m.news[name] = map[time.Duration]news{}
	}
	waiting, known := m.news[name][patience]
	if !known || waiting.version != version {
		m.news[name][patience] = news{now, version}
		return patience
	}
	return max(0, patience-now.Sub(waiting.since))
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

// over forgets what the job of a TrainJob that has ended was like. The counts of its child Jobs may still be news.
func (m *memory) over(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, name)
	delete(m.warnings, name)
}

func (m *memory) forget(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, name)
	delete(m.warnings, name)
	delete(m.news, name)
	delete(m.written, name)
}

// gone forgets the rest about a TrainJob that is not there any more: while it is, what was said is not said again.
func (m *memory) gone(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.said, name)
}
