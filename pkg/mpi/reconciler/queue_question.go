package reconciler

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// looksKept is after how many looks in a row without an answer the last one counts no more.
const looksKept = 6

// question is what Kueue is asked in each look about a namespace or a queue. It is asked again in the next look whatever the answer
// was: for a minute after Kueue was installed, the API server says that there is no visibility server, and somebody waits for his position.
type question struct {
	// unheard is how many looks in a row brought no answer.
	unheard int
	why     metav1.StatusReason
}

func (q *question) answered() bool { return q.unheard == 0 }

// stale says that the last answer counts no more.
func (q *question) stale() bool { return q.unheard >= looksKept }

// heard notes an answer, or why there was none. News is a reason that is not that of the last time.
func (q *question) heard(err error) (news bool) {
	if err == nil {
		*q = question{}
		return false
	}
	why := apierrors.ReasonForError(err)
	news = q.unheard == 0 || why != q.why
	q.unheard, q.why = q.unheard+1, why
	return news
}

// missing says whether the cluster has no such kind, or not any more, or no object of such a name.
func missing(err error) bool { return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// at returns the value of a key, a new one where there is none.
func at[K comparable, V any](values map[K]*V, key K) *V {
	if values[key] == nil {
		values[key] = new(V)
	}
	return values[key]
}
