package loop

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/test/fakecluster"
)

// sent takes what the controller has sent: type, reason and note of each event.
func (c *cluster) sent() []string {
	c.t.Helper()
	recorder, is := c.controller.Events.EventRecorder.(*k8sevents.FakeRecorder)
	if !is {
		c.t.Fatal("the controller has another recorder")
	}
	var all []string
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return all
}

// ownedBy is an object's metadata that says that a TrainJob controls it.
func ownedBy(trainJob *trainer.TrainJob, object string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: trainJob.Namespace, Name: object, UID: uid,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(trainJob, trainer.SchemeGroupVersion.WithKind(trainer.TrainJobKind))},
	}
}

func TestAForeignJobSetIsToldOfOnce(t *testing.T) {
	theirs := func(uid types.UID) *jobset.JobSet {
		return &jobset.JobSet{ObjectMeta: ownedBy(fakecluster.TrainJob(), name.Name, uid)}
	}
	c := newCluster(t, fakecluster.TrainJob(), theirs("first"))
	for range 3 {
		c.pass()
	}
	if got := c.sent(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning ForeignController another controller") {
		t.Errorf("want one event about one JobSet, got %q", got)
	}
	if err := c.Delete(t.Context(), theirs("first")); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), theirs("second")); err != nil {
		t.Fatal(err)
	}
	c.pass()
	if got := c.sent(); len(got) != 1 {
		t.Errorf("want one about another, got %q", got)
	}
}

func TestAChangedSnapshotIsToldOfOnce(t *testing.T) {
	c := newCluster(t)
	trainJob := fakecluster.TrainJob(func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = []metav1.Condition{{Type: job.Created, Status: metav1.ConditionTrue}}
	})
	key := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Secret"}, ObjectMeta: ownedBy(trainJob, mpi.SSHAuthSecretName(name.Name), "s")}
	hostfile := corev1.ConfigMap{ObjectMeta: ownedBy(trainJob, mpi.HostfileConfigMapName(name.Name), "c")}
	for _, tc := range []struct {
		reason, version string
		want            int
	}{{"a first change", "1", 1}, {"the same in the next pass", "1", 0}, {"another change", "2", 1}} {
		hostfile.ResourceVersion = tc.version
		c.controller.restoreRuntime(t.Context(), &observe.Observed{TrainJob: trainJob, Children: []metav1.PartialObjectMetadata{key}}, hostfile)
		got := c.sent()
		if len(got) != tc.want || len(got) > 0 && !strings.HasPrefix(got[0], "Warning SnapshotChanged") {
			t.Errorf("%s: want %d events, got %q", tc.reason, tc.want, got)
		}
	}
}
