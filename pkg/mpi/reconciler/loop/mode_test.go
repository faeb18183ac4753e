package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// The status shows fewer conditions than a job has, and none while it runs.
func TestStatusChanges(t *testing.T) {
	created := []metav1.Condition{{Type: "Created", Status: metav1.ConditionTrue}}
	counts := []trainer.JobStatus{{Name: "node"}}
	cases := map[string]struct {
		reason        string
		before, after trainer.TrainJobStatus
		want          []string
	}{
		"First":   {"there is nothing to add to", trainer.TrainJobStatus{}, trainer.TrainJobStatus{Conditions: created}, []string{"add /status"}},
		"Nothing": {"", trainer.TrainJobStatus{}, trainer.TrainJobStatus{}, nil},
		"Counts":  {"", trainer.TrainJobStatus{Conditions: created}, trainer.TrainJobStatus{Conditions: created, JobsStatus: counts}, []string{"add /status/jobsStatus"}},
		"Runs": {
			"a list without entries is not null", trainer.TrainJobStatus{Conditions: created, JobsStatus: counts}, trainer.TrainJobStatus{JobsStatus: counts},
			[]string{"remove /status/conditions"},
		},
		"Ends": {"", trainer.TrainJobStatus{JobsStatus: counts}, trainer.TrainJobStatus{Conditions: created, JobsStatus: counts}, []string{"add /status/conditions"}},
		"Same": {"nothing new, nothing written", trainer.TrainJobStatus{Conditions: created}, trainer.TrainJobStatus{Conditions: created}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range statusChanges(tc.before, tc.after) {
				got = append(got, o.Op+" "+o.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// News that is not urgent waits for more, and no longer than it may.
func TestNewsWaits(t *testing.T) {
	m, at := newJobCache(), time.Unix(1000, 0)
	key := client.ObjectKey{Namespace: "team", Name: "demo"}
	if got := m.debounceFor(key, at, status.DebounceStep, ""); got != status.DebounceStep {
		t.Errorf("the first news waits %s, got %s", status.DebounceStep, got)
	}
	if got := m.debounceFor(key, at.Add(status.DebounceStep/4), status.DebounceStep, ""); got != status.DebounceStep*3/4 {
		t.Errorf("more news does not make it wait longer: %s", got)
	}
	if got := m.debounceFor(key, at.Add(status.DebounceStep), status.DebounceStep, ""); got != 0 {
		t.Errorf("its time has come: %s", got)
	}
	if got := m.debounceFor(key, at.Add(status.DebounceStep), status.DebounceReady, ""); got != status.DebounceReady {
		t.Errorf("other news has a time of its own: %s", got)
	}
	m.dropPendingNews(key)
	if got := m.debounceFor(key, at.Add(status.DebounceStep), status.DebounceStep, ""); got != status.DebounceStep {
		t.Errorf("told, the next news waits again: %s", got)
	}
}

// A job of a thousand pods that start one after the other is not written for each of them, and one that stays at some is.
func TestCountsWaitUntilTheyRest(t *testing.T) {
	m, at := newJobCache(), time.Unix(1000, 0)
	key := client.ObjectKey{Namespace: "team", Name: "demo"}
	counts := func(active int32) trainer.TrainJobStatus {
		return trainer.TrainJobStatus{JobsStatus: []trainer.JobStatus{{Name: mpi.NodeJob, Active: new(active)}}}
	}
	for i := range int32(1000) {
		at = at.Add(time.Second)
		if got := m.debounceFor(key, at, status.DebounceCounts, settledVersion(counts(i), status.DebounceCounts)); got != status.DebounceCounts {
			t.Fatalf("%d pods, which are more than before, wait for %s", i, got)
		}
	}
	if got := m.debounceFor(key, at.Add(status.DebounceCounts/2), status.DebounceCounts, settledVersion(counts(999), status.DebounceCounts)); got != status.DebounceCounts/2 {
		t.Errorf("the same number does not wait longer: %s", got)
	}
	if got := m.debounceFor(key, at.Add(status.DebounceCounts), status.DebounceCounts, settledVersion(counts(999), status.DebounceCounts)); got != 0 {
		t.Errorf("they rest, and are told: %s", got)
	}
	if settledVersion(counts(1), status.DebounceStep) != settledVersion(counts(2), status.DebounceStep) {
		t.Error("other news is told however the counts change")
	}
}

// A cache that is behind our own write must not be believed: a job that has just failed would be made again.
func TestBehind(t *testing.T) {
	m := newJobCache()
	key := client.ObjectKey{Namespace: "team", Name: "demo"}
	if m.isBehind(key, "7") {
		t.Error("who has written nothing believes the cache")
	}
	m.noteWritten(key, "100")
	if !m.isBehind(key, "99") {
		t.Error("versions are numbers, not texts")
	}
	if m.isBehind(key, "100") || m.isBehind(key, "99") {
		t.Error("once the cache has caught up it is believed for good")
	}
	m.noteWritten(key, "8")
	if m.isBehind(key, "100") {
		t.Error("somebody else wrote later")
	}
}

// The patch is bound to what the decision was made from, and to nothing else: who writes annotations all the time must not
// keep a job from its end.
func TestUnchanged(t *testing.T) {
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 3, ResourceVersion: "7"}}
	var shown trainer.TrainJobStatus
	paths := func() []string {
		var list []string
		for _, o := range append(unchangedTests(trainJob), shownTest(shown)) {
			list = append(list, o.Op+" "+o.Path)
		}
		return list
	}
	if diff := cmp.Diff([]string{"test /metadata/uid", "test /metadata/generation", "test /status"}, paths()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	shown.Conditions = []metav1.Condition{{Type: "Created"}}
	if diff := cmp.Diff([]string{"test /metadata/uid", "test /metadata/generation", "test /status/conditions"}, paths()); diff != "" {
		t.Errorf("an end that another replica has told stays told: -want, +got:\n%s", diff)
	}
}
