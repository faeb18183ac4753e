package reconciler

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// looksKept is after how many looks in a row without an answer the last one counts no more.
	looksKept = 6
	// queuesRefused is how long a question waits at most that was refused again and again; the first time it waits for the next look.
	queuesRefused = 5 * time.Minute
)

// question is what Kueue is asked in each look about a namespace or a queue.
type question struct {
	// unheard is how many looks in a row brought no answer, those included in which it was not asked.
	unheard int
	why     metav1.StatusReason
	// It is not asked before next, pause after it was asked last.
	pause time.Duration
	next  time.Time
}

func (q *question) due(now time.Time) bool { return !now.Before(q.next) }

func (q *question) skip() { q.unheard++ }

func (q *question) answered() bool { return q.unheard == 0 }

// stale says that the last answer counts no more.
func (q *question) stale() bool { return q.unheard >= looksKept }

// heard notes an answer, or why there was none. News is a reason that is not that of the last time.
func (q *question) heard(err error, now time.Time) (news bool) {
	if err == nil {
		*q = question{}
		return false
	}
	why := apierrors.ReasonForError(err)
	news = q.unheard == 0 || why != q.why
	q.unheard, q.why = q.unheard+1, why
	if refused(err) {
		q.pause = min(max(queuesRead, 2*q.pause), queuesRefused)
		q.next = now.Add(q.pause)
	} else {
		q.pause = 0
	}
	return news
}

// refused says whether an error is likely to be the same in the next look.
func refused(err error) bool { return missing(err) || apierrors.IsForbidden(err) }

// missing says whether the cluster has no such kind, or not any more, or no object of such a name.
func missing(err error) bool { return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// at returns the value of a key, a new one where there is none.
func at[K comparable, V any](values map[K]*V, key K) *V {
	if values[key] == nil {
		values[key] = new(V)
	}
	return values[key]
}
