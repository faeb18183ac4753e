package job_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// However a job ends, its key is worth nothing to it any more, but something to a thief.
func TestKeyGoesWithEveryEnd(t *testing.T) {
	key := keyOf(t, resolved(t, runtimeOf(false)))
	left := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		return observe.Observed{Now: t0, TrainJob: trainJobOf(edits...), Runtime: runtimeOf(false), Children: []metav1.PartialObjectMetadata{key}}
	}
	taken := left()
	taken.JobSet = &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "js1"}}
	tooLarge := left()
	tooLarge.Bounds = observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "2"), nil)}}
	impatient := left(restartedOnce, func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions[0].LastTransitionTime = metav1.NewTime(t0.Add(-30 * time.Second))
	})
	impatient.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: "30s"}
	impatient.Bounds = observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "3"), resources("pods", "1"))}}
	others := left(deadline(10))
	others.Children[0].OwnerReferences = owned("other", "uid-other")
	cases := map[string]struct {
		reason  string
		o       observe.Observed
		want    mpi.Reason
		deleted []string
	}{
		"Refused":    {"the runtime was changed before a restart", left(asks(trainer.Trainer{NumNodes: ptr.To[int32](0)})), diagnose.InvalidWorld, []string{"Secret demo-mpi-ssh-auth s1"}},
		"NameTaken":  {"", taken, diagnose.NameTaken, []string{"Secret demo-mpi-ssh-auth s1"}},
		"Deadline":   {"", left(deadline(10)), diagnose.DeadlineExceeded, []string{"Secret demo-mpi-ssh-auth s1"}},
		"Impossible": {"", tooLarge, "QuotaExceeded", []string{"Secret demo-mpi-ssh-auth s1"}},
		"Held":       {"", impatient, "GangTimeout", []string{"Secret demo-mpi-ssh-auth s1"}},
		"Others":     {"what is somebody else's stays", others, diagnose.NameTaken, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(outline{Ours: true, End: tc.want, Delete: tc.deleted}, outlineOf(tc.o, decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, "demo", nil)
	resumed := started(trainJobOf())
	resumed.JobSet.Spec.Suspend = ptr.To(true)
	resumed.Children = []metav1.PartialObjectMetadata{key}
	for name, o := range map[string]observe.Observed{"a second pass": left(), "a restart": left(restartedOnce), "a resumption": resumed} {
		decision, err := decide.Decide(phase.DeriveFacts(o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		want := outline{Ours: true, End: "InvalidObject", Delete: []string{"Secret demo-mpi-ssh-auth s1"}}
		if diff := cmp.Diff(want, outlineOf(o, *decision.EndIfRefused(invalid))); diff != "" {
			t.Errorf("the API server refuses %s for good: -want, +got:\n%s", name, diff)
		}
	}
}
