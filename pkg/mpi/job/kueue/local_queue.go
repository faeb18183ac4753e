package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// positionsTold is how many jobs of a queue are told their position, what they lack and an estimate. These change with jobs that
	// start, for all jobs behind them: of a long queue only the head is kept up to date.
	positionsTold = 20
	// sample is of how many jobs that started last an estimate is made, leastSample how many it takes.
	sample      = 10
	leastSample = 3
	// kueueExpected is how long Kueue may take to make the Workload of a new job, and to start a job that it has admitted. It takes
	// milliseconds.
	kueueExpected = 10 * time.Second
)

// WaitPrefix begins the text about a wait in a queue.
const WaitPrefix = "; waits in queue `"

// IsQueued reports whether a job is suspended, said so, and names a queue of Kueue.
func IsQueued(trainJob *trainer.TrainJob) bool {
	return job.IsManagedHere(trainJob) && !job.IsFinished(trainJob) && ptr.Deref(trainJob.Spec.Suspend, false) && trainJob.Labels[QueueLabel] != "" &&
		apimeta.IsStatusConditionTrue(trainJob.Status.Conditions, trainer.TrainJobSuspended)
}

// HasLeftQueue reports whether a job says of a wait in a queue, though it names none any more.
func HasLeftQueue(trainJob *trainer.TrainJob) bool {
	return job.IsManagedHere(trainJob) && !job.IsFinished(trainJob) && trainJob.Labels[QueueLabel] == "" &&
		apimeta.IsStatusConditionTrue(trainJob.Status.Conditions, trainer.TrainJobSuspended) && !ShowsWait(trainJob, NoQueueWait())
}

// QueueWait is what the condition Suspended says of the wait of a job in a queue. The zero QueueWait is that nothing is known for now, and
// leaves what was said.
type QueueWait struct {
	// Text is empty where there is nothing to say of a wait.
	Text string
	// Position counts from 1, Length the jobs that wait, 20 for more; 0 if Kueue does not report them.
	Position, Length int
	Known            bool
	// NotResumed is true where Kueue waits for nothing more, and the job is suspended all the same.
	NotResumed bool
}

// NoQueueWait is that there is nothing to say: what was said goes.
func NoQueueWait() QueueWait { return QueueWait{Known: true} }

// ShowsWait reports whether a suspended job shows just this wait: its status ends with the text, or the record has none.
func ShowsWait(trainJob *trainer.TrainJob, wait QueueWait) bool {
	if !wait.Known || wait.Text != "" {
		return strings.HasSuffix(job.MessageOf(trainJob.Status.Conditions, trainer.TrainJobSuspended), wait.Text)
	}
	record, _ := jobv1.Read(trainJob.Annotations, trainJob.UID)
	return record.Queue == nil || record.Queue.Text == ""
}

// LocalQueue is what Kueue knows of a local queue.
type LocalQueue struct {
	queue string
	jobs  map[types.UID]queueEntry
	// length is how many jobs wait in the queue, 0 where Kueue does not tell the order.
	length int
	// median is how long the jobs of this queue that started last waited, the median of so many; none where there are too few.
	median time.Duration
	sample int
}

// queueEntry is a job in a line.
type queueEntry struct {
	Workload
	// rank counts from 1 for the next one; it is 0 for a job that Kueue has not put in order. Others is how many jobs of other
	// queues are ahead of it.
	rank, others int
}

// NewLocalQueue puts the Workloads of a local queue in order. The order is nil where Kueue does not tell it.
func NewLocalQueue(queue string, workloads []Workload, order *QueueOrder) LocalQueue {
	line := LocalQueue{queue: queue, jobs: map[types.UID]queueEntry{}}
	var started, unordered []Workload
	for _, w := range workloads {
		if w.Queue != queue {
			continue
		}
		if w.Reserved.IsZero() {
			unordered = append(unordered, w)
		} else {
			started = append(started, w)
		}
		line.jobs[w.Job] = queueEntry{Workload: w}
	}
	if order == nil {
		line.rankJobs(estimatedOrder(unordered))
	} else {
		line.length = order.Length
		line.rankJobs(*order)
	}
	line.median, line.sample = medianWait(started)
	return line
}

// rankJobs gives jobs their ranks. Kueue tells the first 1,000 of a queue; what is active and not among them comes after.
func (l LocalQueue) rankJobs(order QueueOrder) {
	for uid, e := range l.jobs {
		p, placed := order.Positions[uid]
		switch {
		case placed:
			e.rank, e.others = p.InQueue+1, p.Overall-p.InQueue
		case e.Reserved.IsZero() && !e.inactive && order.Length > positionsTold:
			e.rank = order.Length + 1
		}
		l.jobs[uid] = e
	}
}

// estimatedOrder orders jobs as Kueue usually does: by priority, then by age. It serves to choose of whom more is said, and is told
// nobody.
func estimatedOrder(workloads []Workload) QueueOrder {
	slices.SortFunc(workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created), cmp.Compare(a.Job, b.Job))
	})
	order := QueueOrder{Positions: map[types.UID]QueuePosition{}, Length: len(workloads)}
	for i, w := range workloads {
		order.Positions[w.Job] = QueuePosition{InQueue: i, Overall: i}
	}
	return order
}

// medianWait returns the median time from the creation to the quota of the jobs that got it last, and of how many. Jobs that were
// stopped once are left out: they have run meanwhile.
func medianWait(started []Workload) (median time.Duration, of int) {
	started = slices.DeleteFunc(started, func(w Workload) bool { return !w.Counts() })
	slices.SortFunc(started, func(a, b Workload) int { return b.Reserved.Compare(a.Reserved) })
	started = started[:min(len(started), sample)]
	if len(started) < leastSample {
		return 0, 0
	}
	return WaitOf(50, started), len(started)
}

// WaitOf returns what is to be said of the wait of a job, and the rank of the job: smaller ones are told of changes first. Nothing is
// known in the moment before Kueue has made a Workload, and in that between the admission of a job and its start.
func (l LocalQueue) WaitOf(trainJob *trainer.TrainJob, now time.Time) (wait QueueWait, rank int) {
	e, known := l.jobs[trainJob.UID]
	switch {
	case !known && now.Sub(trainJob.CreationTimestamp.Time) < kueueExpected, e.admitted && now.Sub(e.Reserved) < kueueExpected:
		return QueueWait{}, 0
	case e.admitted:
		return QueueWait{Text: l.textBeginning() + ": Kueue has admitted it and does not resume it", Known: true, NotResumed: true}, 0
	}
	wait = QueueWait{Text: l.waitText(e, known, now), Known: true}
	if known && e.Reserved.IsZero() && e.rank > 0 && e.rank <= positionsTold && l.length > 0 {
		wait.Position, wait.Length = e.rank, min(l.length, positionsTold)
	}
	return wait, e.rank
}

// waitText does not move for jobs beyond the first ones: each change would be one of thousands of statuses.
func (l LocalQueue) waitText(e queueEntry, known bool, now time.Time) string {
	switch {
	case !known:
		return l.textBeginning() + ": Kueue has made no Workload for it"
	case !e.Reserved.IsZero():
		return l.textBeginning() + ": its quota is reserved, and Kueue waits for admission checks"
	case e.rank > positionsTold:
		return l.textBeginning() + l.farBackText()
	}
	return l.textBeginning() + l.positionText(e) + e.reasonText() + l.estimateText(e, now)
}

func (l LocalQueue) textBeginning() string { return WaitPrefix + l.queue + "`" }

func (l LocalQueue) positionText(e queueEntry) string {
	if l.length == 0 || e.rank == 0 {
		return ""
	}
	text := fmt.Sprintf(" at position %d of %s", e.rank, countOrMore(l.length))
	switch {
	case e.others == 1:
		text += ", and behind 1 job of another queue"
	case e.others > 0:
		text += fmt.Sprintf(", and behind %s jobs of other queues", countOrMore(e.others))
	}
	return text
}

// farBackText is what is said of the position of a job that is not among the first.
func (l LocalQueue) farBackText() string {
	if l.length == 0 {
		return ""
	}
	return fmt.Sprintf(", where %d jobs or more are ahead of it", positionsTold)
}

// countOrMore is a number that does not move any more when it is large.
func countOrMore(n int) string {
	if n > positionsTold {
		return fmt.Sprintf("more than %d", positionsTold)
	}
	return fmt.Sprint(n)
}

func (e queueEntry) reasonText() string {
	if e.why == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(e.why, ".")
}

// estimateText says how long the jobs of this queue waited lately, and that this one has waited longer, once it has.
func (l LocalQueue) estimateText(e queueEntry, now time.Time) string {
	switch {
	case l.sample == 0 || e.stopped:
		return ""
	case now.Sub(e.Created) > l.median:
		return fmt.Sprintf("; it has waited longer than the last %d jobs of this queue did (median: %s)", l.sample, roundedDuration(l.median))
	}
	return fmt.Sprintf("; estimated wait: %s in all, the median of the last %d jobs of this queue", roundedDuration(l.median), l.sample)
}

// roundedDuration rounds so that the words change rarely, and promise no precision.
func roundedDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "less than 1 min"
	case d < 10*time.Minute:
		return fmt.Sprintf("about %d min", d.Round(time.Minute)/time.Minute)
	case d < time.Hour-5*time.Minute:
		return fmt.Sprintf("about %d min", d.Round(10*time.Minute)/time.Minute)
	case d < 36*time.Hour:
		return fmt.Sprintf("about %d h", max(1, d.Round(time.Hour)/time.Hour))
	}
	return fmt.Sprintf("about %d days", max(2, d.Round(day)/day))
}

func findCondition(conditions []metav1.Condition, kind string) (found *metav1.Condition, is bool) {
	found = apimeta.FindStatusCondition(conditions, kind)
	return found, found != nil && found.Status == metav1.ConditionTrue
}
