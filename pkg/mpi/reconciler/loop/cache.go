package loop

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// jobCache keeps since when facts about jobs hold, from pass to pass, until the jobs are over.
type jobCache struct {
	mu   sync.Mutex
	jobs map[client.ObjectKey]observe.History
	// news is since when a job has something to tell that may wait, by how long it may: counts of Jobs are old when pods become
	// ready, and must not hurry the news of that.
	news map[client.ObjectKey]map[time.Duration]pendingNews
	// published are the conditions that an executor published last.
	published map[client.ObjectKey]map[types.UID][]metav1.Condition
	// written is the version of a TrainJob after our last write of its status.
	written map[client.ObjectKey]string
	// warnings are what was read last for a job.
	warnings map[client.ObjectKey]recentWarnings
	// said is which version was told last of a topic: of what an event of a reason is about, of a condition of a companion.
	said map[client.ObjectKey]map[string]string
}

// pendingNews is since when there is something to tell that may wait, and its version, empty where the first counts for the later ones too.
type pendingNews struct {
	since   time.Time
	version string
}

func newJobCache() *jobCache {
	return &jobCache{
		jobs: map[client.ObjectKey]observe.History{}, news: map[client.ObjectKey]map[time.Duration]pendingNews{}, written: map[client.ObjectKey]string{},
		published: map[client.ObjectKey]map[types.UID][]metav1.Condition{},
		warnings:  map[client.ObjectKey]recentWarnings{}, said: map[client.ObjectKey]map[string]string{},
	}
}

func (c *jobCache) keepWarnings(name client.ObjectKey, warnings recentWarnings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings[name] = warnings
}

func (c *jobCache) lastWarnings(name client.ObjectKey) (warnings recentWarnings, read bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	warnings, read = c.warnings[name]
	return warnings, read
}

// isNew reports whether another version of a topic was told last, or none, and remembers this one.
func (c *jobCache) isNew(name client.ObjectKey, topic, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, known := c.said[name][topic]; known && last == version {
		return false
	}
	if c.said[name] == nil {
		c.said[name] = map[string]string{}
	}
	c.said[name][topic] = version
	return true
}

// wasTold reports whether isNew has remembered a version of a topic.
func (c *jobCache) wasTold(name client.ObjectKey, topic, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[name][topic] == version
}

// notePublished remembers the conditions of a job that runs; of one that is over the status is enough.
func (c *jobCache) notePublished(trainJob *trainer.TrainJob, conditions []metav1.Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published[client.ObjectKeyFromObject(trainJob)] = map[types.UID][]metav1.Condition{trainJob.UID: conditions}
}

// publishedConditions returns the conditions of a TrainJob that were published last, if this process did it.
func (c *jobCache) publishedConditions(trainJob *trainer.TrainJob) (conditions []metav1.Condition, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conditions, known = c.published[client.ObjectKeyFromObject(trainJob)][trainJob.UID]
	return conditions, known
}

// noteWritten remembers the version that our write made.
func (c *jobCache) noteWritten(name client.ObjectKey, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[name] = version
}

// isOwnVersion reports whether a version is what our last write made.
func (c *jobCache) isOwnVersion(name client.ObjectKey, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written[name] == version
}

// isBehind reports whether a version that the cache gives is older than what this process wrote. A job that has just been called
// failed, and whose JobSet is gone, would be made again otherwise.
func (c *jobCache) isBehind(name client.ObjectKey, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	written, known := c.written[name]
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, written)
	if err != nil || order >= 0 {
		delete(c.written, name)
		return false
	}
	return true
}

// debounceFor returns how long news of a job may still wait for more, 0 when its time has come. The limit is how long such news may wait
// in all, since its version came.
func (c *jobCache) debounceFor(name client.ObjectKey, now time.Time, limit time.Duration, version string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.news[name] == nil {
		c.news[name] = map[time.Duration]pendingNews{}
	}
	waiting, known := c.news[name][limit]
	if !known || waiting.version != version {
		c.news[name][limit] = pendingNews{now, version}
		return limit
	}
	return max(0, limit-now.Sub(waiting.since))
}

// dropPendingNews says that a job has no news left.
func (c *jobCache) dropPendingNews(name client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.news, name)
}

// rememberFacts lets an observation know since when its facts hold.
func (c *jobCache) rememberFacts(name client.ObjectKey, o *observe.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.RememberSince(c.jobs[name])
	c.jobs[name] = o.History
}

// forgetEnded forgets what the job of a TrainJob that has ended was like. The counts of its child Jobs may still be news.
func (c *jobCache) forgetEnded(name client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, name)
	delete(c.warnings, name)
	delete(c.published, name)
}

func (c *jobCache) forgetJob(name client.ObjectKey) {
	c.forgetEnded(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.news, name)
	delete(c.written, name)
}

// forgetDeleted forgets the rest about a TrainJob that is not there any more: while it is, what was said is not said again.
func (c *jobCache) forgetDeleted(name client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.said, name)
}
