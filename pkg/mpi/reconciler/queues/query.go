package queues

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptPolls is after how many looks in a row without an answer the last one counts no more.
const keptPolls = 6

// cachedQuery is what Kueue is asked in each look about a namespace or a queue. It is asked again in the next look whatever the answer
// was: for a minute after Kueue was installed, the API server says that there is no visibility server, and somebody waits for their position.
type cachedQuery struct {
	// failures is how many looks in a row brought no answer.
	failures int
	why      metav1.StatusReason
}

func (q *cachedQuery) wasAnswered() bool { return q.failures == 0 }

// isStale says that the last answer counts no more.
func (q *cachedQuery) isStale() bool { return q.failures >= keptPolls }

// recordAnswer notes an answer, or why there was none. News is a reason that is not that of the last time.
func (q *cachedQuery) recordAnswer(err error) (news bool) {
	if err == nil {
		*q = cachedQuery{}
		return false
	}
	why := apierrors.ReasonForError(err)
	news = q.failures == 0 || why != q.why
	q.failures, q.why = q.failures+1, why
	return news
}

// isMissingKindOrObject reports whether the cluster has no such kind, or not any more, or no object of such a name.
func isMissingKindOrObject(err error) bool {
	return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

// getOrNew returns the value of a key, a new one where there is none.
func getOrNew[K comparable, V any](values map[K]*V, key K) *V {
	if values[key] == nil {
		values[key] = new(V)
	}
	return values[key]
}
