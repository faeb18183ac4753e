package job_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// Before the first pod a job that never fits fails, and one that does not fit now waits. It is all pods or none.
func TestHeldBeforeTheFirstPod(t *testing.T) {
	// The job of the fixtures: a launcher of 100m and two nodes of 2 CPUs and 1Gi.
	fresh := func(bounds observe.NamespaceBounds, edits ...func(*trainer.TrainJob)) observe.Observed {
		return observe.Observed{Now: t0, TrainJob: trainJobOf(edits...), Runtime: runtimeOf(false), Bounds: bounds}
	}
	withQuota := func(hard, used corev1.ResourceList) observe.NamespaceBounds {
		return observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(hard, used)}}
	}
	impatient := fresh(withQuota(resources("pods", "3"), resources("pods", "1")))
	impatient.Runtime = runtimeOf(false)
	impatient.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: "30s"}
	patient := impatient
	patient.Runtime = runtimeOf(false)
	patient.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: "61s"}
	tooWide := fresh(observe.NamespaceBounds{})
	tooWide.Runtime = runtimeOf(false)
	tooWide.Runtime.Annotations = map[string]string{mpi.MaxNodesAnnotation: "1"}
	tooNarrow := fresh(observe.NamespaceBounds{})
	tooNarrow.Runtime = runtimeOf(false)
	tooNarrow.Runtime.Annotations = map[string]string{mpi.MinNodesAnnotation: "3"}

	cases := map[string]struct {
		reason  string
		o       observe.Observed
		want    outline
		message string
	}{
		"Never": {
			"", fresh(withQuota(resources("requests.cpu", "4"), nil)), outline{Ours: true, End: "QuotaExceeded"},
			"Insufficient cpu: requested 4100m, quota `team` allows 4 in all (requests.cpu): ask for fewer or smaller nodes, or ask the platform admin for a larger quota; then create the TrainJob again: this one is over",
		},
		"NeverSuspended": {"a queue need not admit what cannot run", fresh(withQuota(resources("requests.cpu", "4"), nil), suspend), outline{Ours: true, End: "QuotaExceeded"}, "Insufficient cpu"},
		"NotNow": {
			"", fresh(withQuota(resources("pods", "3"), resources("pods", "1"))), outline{Ours: true, Waiting: "QuotaExceeded", Requeue: quotaLook},
			"Insufficient pods: requested 3, available 2 of 3 in quota `team` (pods): the job waits until other pods of the namespace end, or the quota is raised, and then starts by itself",
		},
		"NotNowAtFirst": {
			"the quota may have changed before anybody knew that the job waits for it", fresh(withQuota(resources("pods", "3"), resources("pods", "1")), trainJobAged(0)),
			outline{Ours: true, Waiting: "QuotaExceeded", Requeue: heldLook}, "Insufficient pods",
		},
		"NotNowSuspended": {
			"a suspended job needs nothing yet", fresh(withQuota(resources("pods", "3"), resources("pods", "1")), suspend),
			outline{Ours: true, Create: everything, Requeue: podsAskedAfter + causeLook}, "",
		},
		"GangTimeout": {
			"until the gang times out", impatient, outline{Ours: true, End: "GangTimeout"},
			"the pods of the job did not all run within 30s, which is the gang timeout of the runtime: Insufficient pods: requested 3, available 2 of 3",
		},
		"GangPatient": {"", patient, outline{Ours: true, Waiting: "QuotaExceeded", Requeue: time.Second}, "Insufficient pods"},
		"LimitRange": {
			"", fresh(observe.NamespaceBounds{Limits: []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Min: resources("cpu", "1")}}}}}}),
			outline{Ours: true, End: "LimitRangeViolated"}, "container `node` of `launcher` requests 100m cpu: LimitRange `team` wants at least 1: change",
		},
		"MissingClaim": {
			"it may still come", fresh(observe.NamespaceBounds{Missing: []job.ObjectReference{{Kind: "PersistentVolumeClaim", Name: "data"}, {Kind: "Secret", Name: "bucket"}}}), outline{Ours: true, Waiting: "VolumeClaimMissing", Requeue: heldLook},
			"the pods of the job need what does not exist in this namespace: PersistentVolumeClaim `data`, Secret `bucket`. What to do: create the PersistentVolumeClaim",
		},
		"MissingSecret": {
			"", fresh(observe.NamespaceBounds{Missing: []job.ObjectReference{{Kind: "Secret", Name: "bucket"}}}), outline{Ours: true, Waiting: "SecretMissing", Requeue: heldLook},
			"need what does not exist in this namespace: Secret `bucket`. What to do: create the Secret",
		},
		"MissingConfigMap": {
			"", fresh(observe.NamespaceBounds{Missing: []job.ObjectReference{{Kind: "ConfigMap", Name: "settings"}}}), outline{Ours: true, Waiting: "ConfigMapMissing", Requeue: heldLook},
			"ConfigMap `settings`. What to do: create the ConfigMap",
		},
		"MissingServiceAccount": {
			"", fresh(observe.NamespaceBounds{Missing: []job.ObjectReference{{Kind: "ServiceAccount", Name: "mpi"}}}), outline{Ours: true, Waiting: "ServiceAccountMissing", Requeue: heldLook},
			"ServiceAccount `mpi`. What to do: create the service account",
		},
		"TooWide":   {"", tooWide, outline{Ours: true, End: "InvalidWorld"}, "numNodes is 2, this runtime allows at most 1"},
		"TooNarrow": {"", tooNarrow, outline{Ours: true, End: "InvalidWorld"}, "numNodes is 2, this runtime needs at least 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			said := ""
			for _, c := range statusAfter(phase.DeriveFacts(tc.o), decision, nil).Conditions {
				if c.Type == job.PodsReady && phase.DeriveFacts(tc.o).State().Waiting != nil || c.Type == trainer.TrainJobFailed {
					said = c.Message
				}
			}
			if !strings.Contains(said, tc.message) {
				t.Errorf("%s: want `%s` said, got `%s`", tc.reason, tc.message, said)
			}
		})
	}
}

// A job that is resumed is held to the quota as before its first pod: all pods or none.
func TestHeldWhenResumed(t *testing.T) {
	resumed := func(bounds observe.NamespaceBounds, edits ...func(*trainer.TrainJob)) observe.Observed {
		o := started(trainJobOf(edits...))
		o.JobSet.Spec.Suspend = new(true)
		o.Bounds = bounds
		return o
	}
	short := observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "3"), resources("pods", "1"))}}
	cases := map[string]struct {
		reason  string
		o       observe.Observed
		want    outline
		message string
	}{
		"NoRoom":   {"", resumed(short), outline{Ours: true, Waiting: "QuotaExceeded", Requeue: quotaLook}, "Insufficient pods: requested 3, available 2 of 3 in quota `team` (pods): the job waits"},
		"TooSmall": {"it has run before, the quota may grow again", resumed(observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "2"), nil)}}), outline{Ours: true, Waiting: "QuotaExceeded", Requeue: quotaLook}, "quota `team` allows 2 in all"},
		"Missing":  {"", resumed(observe.NamespaceBounds{Missing: []job.ObjectReference{{Kind: "Secret", Name: "bucket"}}}), outline{Ours: true, Waiting: "SecretMissing", Requeue: heldLook}, "Secret `bucket`"},
		"Room":     {"", resumed(observe.NamespaceBounds{}), outline{Ours: true, Update: true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := outlineOf(tc.o, decision)
			if got.Update {
				got.Requeue = 0
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			said := job.MessageOf(statusAfter(phase.DeriveFacts(tc.o), decision, nil).Conditions, job.PodsReady)
			if !strings.Contains(said, tc.message) {
				t.Errorf("%s: want `%s` said, got `%s`", tc.reason, tc.message, said)
			}
		})
	}
}

// JobSet says that it has resumed its Jobs after it did: a pod that was made in the second before is none that the suspension took.
func TestPodsMadeJustBeforeJobSetSaysThatItResumed(t *testing.T) {
	o := withPods(started(trainJobOf()))
	told := t0.Add(10 * time.Second)
	o.JobSet.Status.Conditions = []metav1.Condition{{Type: string(jobset.JobSetSuspended), Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(told)}}
	for _, tc := range []struct {
		before, after time.Duration
		taken         bool
	}{
		{0, 20 * time.Second, false},
		{time.Second, 20 * time.Second, false},
		{2 * time.Second, 20 * time.Second, true}, // clocks of machines differ
		{time.Second, 0, true},                    // suspended and resumed as soon as it ran
		{0, time.Second, true},                    // the Job ended it a moment after JobSet had gone on
		{time.Second, 2 * time.Second, false},
		{-time.Second, 0, false},
	} {
		pod := podOf(mpi.NodeJob, 0, ready, deleted)
		pod.CreationTimestamp = metav1.NewTime(told.Add(-tc.before))
		pod.DeletionTimestamp = &metav1.Time{Time: told.Add(tc.after)}
		if got := len(withPods(o, pod).AllPods()) == 0; got != tc.taken {
			t.Errorf("made %s before, deleted %s after: counts as taken by the suspension: %v", tc.before, tc.after, got)
		}
	}
}
