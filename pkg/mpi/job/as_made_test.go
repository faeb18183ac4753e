package job_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// keyOf is what is seen of the Secret of a job, and hostfileOf its ConfigMap, both as the API server has them.
func keyOf(t *testing.T, made job.Job) metav1.PartialObjectMetadata {
	t.Helper()
	key, err := desired.SSHAuthSecret(made, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	key.UID = "s1"
	return metav1.PartialObjectMetadata{TypeMeta: key.TypeMeta, ObjectMeta: key.ObjectMeta}
}

func hostfileOf(made job.Job) corev1.ConfigMap {
	hostfile := *desired.HostfileConfigMap(made)
	hostfile.UID = "c1"
	return hostfile
}

// A job that goes on does so with the runtime that it was made from. Who may write ConfigMaps in the namespace gets no runtime of
// their own by that, and cannot keep a job from its end.
func TestSnapshot(t *testing.T) {
	past, today := restartable("2"), restartable("0")
	made := resolved(t, past)
	kept, key := hostfileOf(made), keyOf(t, made)
	with := func(data string) corev1.ConfigMap {
		changed := *kept.DeepCopy()
		changed.Data[job.SnapshotKey] = data
		return changed
	}
	without, foreign := *kept.DeepCopy(), *kept.DeepCopy()
	delete(without.Data, job.SnapshotKey)
	foreign.OwnerReferences = nil
	unsigned := *key.DeepCopy()
	unsigned.Annotations = nil
	others := *key.DeepCopy()
	others.OwnerReferences = nil
	smuggled := restartable("10")
	runs := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		o := started(trainJobOf(edits...))
		o.Runtime = today
		return o
	}
	notMade := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		o := runs(edits...)
		o.JobSet = nil
		return o
	}
	counted := func(trainJob *trainer.TrainJob) {
		trainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.NodeJob}}
	}
	cases := map[string]struct {
		reason   string
		o        observe.Observed
		hostfile corev1.ConfigMap
		key      *metav1.PartialObjectMetadata
		want     *job.Runtime
		warns    bool
	}{
		"Runs":        {"", runs(), kept, &key, past, false},
		"Created":     {"its JobSet was deleted", notMade(hasCondition(job.Created, "True", t0)), kept, &key, past, false},
		"Restarted":   {"", notMade(restartedOnce), kept, &key, past, false},
		"Stopped":     {"its JobSet failed while it was being suspended, and is made again", notMade(hasCondition(job.Created, "False", t0), counted), kept, &key, past, false},
		"NeverMade":   {"the first try left it, and the runtime was repaired since", notMade(hasCondition(job.Created, "False", t0)), kept, &key, today, false},
		"Smuggled":    {"a job that is held has no key yet", notMade(), with(smuggled.Snapshot()), nil, today, false},
		"Changed":     {"", runs(), with(smuggled.Snapshot()), &key, today, true},
		"NoJSON":      {"", runs(), with("{"), &key, today, true},
		"Emptied":     {"", runs(), without, &key, today, true},
		"Deleted":     {"", runs(), corev1.ConfigMap{}, &key, today, false},
		"KeyGone":     {"the end was not written yet", runs(), kept, nil, today, false},
		"NoDigest":    {"a job of an earlier version", runs(), kept, &unsigned, today, true},
		"OthersKey":   {"", runs(), kept, &others, today, false},
		"OthersFiles": {"", runs(), foreign, &key, today, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.key != nil {
				tc.o.Children = []metav1.PartialObjectMetadata{*tc.key}
			}
			why := tc.o.RestoreRuntime(tc.hostfile)
			if diff := cmp.Diff(tc.want, tc.o.Runtime, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if (why != nil) != tc.warns {
				t.Errorf("%s: said `%v`", tc.reason, why)
			}
			if !tc.o.OwnsJobSet() {
				return
			}
			decision, err := decide.Decide(phase.DeriveFacts(jobSetHas(tc.o, jobset.JobSetCompleted, t0)), nil)
			if reason, _ := finishes(decision); reason != job.ReasonCompleted || err != nil {
				t.Errorf("%s: it cannot end: %v", tc.reason, err)
			}
		})
	}
}

// A job that was never started is made from the runtime of today, with all that an earlier try left made anew.
func TestFirstTryWithAnotherRuntime(t *testing.T) {
	today := resolved(t, runtimeOf(false))
	earlier := resolved(t, restartable("2"))
	policy := childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", "n1", owned("demo", "uid-new"))
	children := func(of job.Job) []metav1.PartialObjectMetadata {
		return []metav1.PartialObjectMetadata{keyOf(t, of), policy}
	}
	cases := map[string]struct {
		reason   string
		children []metav1.PartialObjectMetadata
		hostfile corev1.ConfigMap
		want     outline
	}{
		"Same": {
			"what is there is used", children(today), hostfileOf(today),
			outline{Ours: true, Create: []string{"JobSet demo"}},
		},
		"Repaired": {
			"", children(earlier), hostfileOf(earlier),
			outline{Ours: true, Delete: []string{"Secret demo-mpi-ssh-auth s1", "NetworkPolicy demo-mpi n1", "ConfigMap demo-mpi-hostfile c1"}, Create: everything},
		},
		"Refused": {
			"a quota has refused ConfigMap and key; nothing is made twice", []metav1.PartialObjectMetadata{policy}, corev1.ConfigMap{},
			outline{Ours: true, Create: []string{"ConfigMap demo-mpi-hostfile", "Secret demo-mpi-ssh-auth", "JobSet demo"}},
		},
		"KeyRefused": {
			"", []metav1.PartialObjectMetadata{policy}, hostfileOf(today),
			outline{Ours: true, Create: []string{"Secret demo-mpi-ssh-auth", "JobSet demo"}},
		},
		"Planted": {
			"nobody but us writes a key", nil, hostfileOf(earlier),
			outline{Ours: true, Delete: []string{"ConfigMap demo-mpi-hostfile c1"}, Create: everything},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := observe.Observed{Now: t0, ControllerNamespace: "lockstep-system", TrainJob: trainJobOf(), Runtime: runtimeOf(false), Children: tc.children}
			if err := o.RestoreRuntime(tc.hostfile); err != nil {
				t.Fatal(err)
			}
			decision, err := decide.Decide(phase.DeriveFacts(o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Requeue = podsAskedAfter + causeLook
			if diff := cmp.Diff(tc.want, outlineOf(o, decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
