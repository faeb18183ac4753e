package retention

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
)

func namespaceThatKeeps(name, keep string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if keep != "" {
		namespace.Annotations = map[string]string{mpi.FinishedJobsAnnotation: keep}
	}
	return namespace
}

func endedJob(namespace, name, condition string, end time.Time) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if condition != "" {
		trainJob.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(end)}}
	}
	return trainJob
}

// sweptOf returns the names of the jobs that a sweep leaves, and its error.
func sweptOf(t *testing.T, now time.Time, objects ...client.Object) ([]string, error) {
	t.Helper()
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	failed := (&Sweeper{Client: store, Live: store, Now: func() time.Time { return now }}).deleteExpiredJobs(context.Background())
	var left trainer.TrainJobList
	if err := store.List(context.Background(), &left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, trainJob := range left.Items {
		names = append(names, trainJob.Namespace+"/"+trainJob.Name)
	}
	slices.Sort(names)
	return names, failed
}

func TestFinishedJobsAreKeptAsLongAsTheirNamespaceSays(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	long, short := now.Add(-25*time.Hour), now.Add(-23*time.Hour)
	left, err := sweptOf(t, now,
		namespaceThatKeeps("day", "24h"), namespaceThatKeeps("ever", ""),
		endedJob("day", "complete-long-ago", trainer.TrainJobComplete, long), endedJob("day", "failed-long-ago", trainer.TrainJobFailed, long),
		endedJob("day", "complete", trainer.TrainJobComplete, short), endedJob("day", "runs", "", long),
		endedJob("day", "suspended", trainer.TrainJobSuspended, long),
		endedJob("ever", "complete-long-ago", trainer.TrainJobComplete, long), endedJob("gone", "complete-long-ago", trainer.TrainJobComplete, long),
	)
	if err != nil {
		t.Error(err)
	}
	want := []string{"day/complete", "day/runs", "day/suspended", "ever/complete-long-ago", "gone/complete-long-ago"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("-want, +left:\n%s", diff)
	}
}

func TestJobsInGitStayUntilGitDropsThem(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	old := now.Add(-time.Hour * 1000)
	flux := endedJob("day", "by-flux", trainer.TrainJobComplete, old)
	flux.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "lockstep-jobs-climate"}
	argo := endedJob("day", "by-argo", trainer.TrainJobFailed, old)
	argo.Annotations = map[string]string{"argocd.argoproj.io/tracking-id": "lockstep-jobs-climate:trainer.kubeflow.org/TrainJob:day/by-argo"}
	byHand := endedJob("day", "by-hand", trainer.TrainJobComplete, old)
	left, err := sweptOf(t, now, namespaceThatKeeps("day", "24h"), flux, argo, byHand)
	if diff := cmp.Diff([]string{"day/by-argo", "day/by-flux"}, left); diff != "" || err != nil {
		t.Errorf("an engine applies a job again that it misses, and the job runs again: -want, +left:\n%s%v", diff, err)
	}
}

func TestAMistakeInOneNamespaceDeletesNothingThereAndHarmsNoOther(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, keep := range []string{"a week", "-1h", "0s"} {
		left, err := sweptOf(t, now, namespaceThatKeeps("a", keep), namespaceThatKeeps("b", "1h"),
			endedJob("a", "old", trainer.TrainJobComplete, now.Add(-time.Hour*1000)), endedJob("b", "old", trainer.TrainJobComplete, now.Add(-time.Hour*2)))
		if diff := cmp.Diff([]string{"a/old"}, left); diff != "" {
			t.Errorf("%s: -want, +left:\n%s", keep, diff)
		}
		if err == nil || !strings.Contains(err.Error(), "namespace `a` is `"+keep+"`") {
			t.Errorf("%s: the namespace and what it says are not named: %v", keep, err)
		}
	}
}
