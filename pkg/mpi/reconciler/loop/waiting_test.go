package loop

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/launchers"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/metrics"
	"lockstep.dev/lockstep/test/fakecluster"
)

var name = fakecluster.Name

// cluster is one with a TrainJob of three pods, and the controller.
type cluster struct {
	t *testing.T
	client.Client
	live       *fakecluster.Counted
	controller *Reconciler
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	store := fakecluster.Store(t, TrainJobIndex, objects...)
	counts, err := metrics.Register(prometheus.NewRegistry(), store, mpi.TrainJobLabel, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	live := &fakecluster.Counted{Reader: store}
	return &cluster{t, store, live, New(Parts{
		Client: store, Live: live, Namespace: "lockstep", Random: bytes.NewReader(bytes.Repeat([]byte{7}, 1024)), Mode: Executor,
		Now: time.Now, Launchers: launchers.New(live), Metrics: counts,
		Events: &events.Recorder{EventRecorder: k8sevents.NewFakeRecorder(100)},
	})}
}

// quotaOf lets a namespace have ten pods, of which so many are in use.
func quotaOf(used string) *corev1.ResourceQuota {
	pods := func(quantity string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourcePods: resource.MustParse(quantity)}
	}
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: pods("10")}, Status: corev1.ResourceQuotaStatus{Hard: pods("10"), Used: pods(used)},
	}
}

func (c *cluster) watching() client.WithWatch {
	return c.Client.(client.WithWatch) //nolint:forcetypeassert // the fake client is one
}

// pass reconciles once, and returns how much it asked the API server for, and what the job then shows.
func (c *cluster) pass() (reads int32, shown metav1.Condition) {
	c.t.Helper()
	c.live.Reads.Store(0)
	if _, err := c.controller.Reconcile(c.t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		c.t.Fatal(err)
	}
	var trainJob trainer.TrainJob
	if err := c.Get(c.t.Context(), name, &trainJob); err != nil {
		c.t.Fatal(err)
	}
	if len(trainJob.Status.Conditions) > 0 {
		shown = trainJob.Status.Conditions[0]
	}
	return c.live.Reads.Load(), shown
}

// mustWait lets a pass go by after which the job waits for its quota, and says how much that asked for.
func (c *cluster) mustWait() (reads int32) {
	c.t.Helper()
	reads, created := c.pass()
	if created.Type != job.Created || created.Reason != string(diagnose.QuotaExceeded) {
		c.t.Fatalf("the job does not wait for its quota: %+v", created)
	}
	return reads
}

func (c *cluster) use(pods string) {
	c.t.Helper()
	if err := c.Status().Update(c.t.Context(), quotaOf(pods)); err != nil {
		c.t.Fatal(err)
	}
}

// Jobs that wait for a quota are looked at again and again, and each time the quota changes. They ask the API server once when
// they begin to wait, and again when their time has come.
func TestAJobThatWaitsForAQuotaAsksForNothing(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(), quotaOf("9"))
	if reads := c.mustWait(); reads == 0 {
		t.Error("whether all else is there has to be asked once")
	}
	c.use("8")
	for range 3 {
		if reads := c.mustWait(); reads > 0 {
			t.Errorf("%d requests of a job that waits", reads)
		}
	}
	taken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: mpi.SSHAuthSecretName(name.Name)}}
	if err := c.Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	c.use("0")
	if reads, created := c.pass(); reads == 0 || created.Reason != string(diagnose.NameTaken) {
		t.Errorf("a Secret of somebody else came while the job waited, got %+v after %d requests", created, reads)
	}
}

func TestAJobThatHasWaitedForAQuotaStarts(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(), quotaOf("9"))
	c.mustWait()
	c.mustWait()
	c.use("7")
	c.pass()
	if err := c.Get(t.Context(), name, &jobset.JobSet{}); err != nil {
		t.Errorf("the quota has room: %v", err)
	}
}

// What the job says stays what is true of it.
func TestAJobThatWaitsAsksWhereTheCacheDoesNotTell(t *testing.T) {
	waits := func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = []metav1.Condition{
			{Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: string(diagnose.QuotaExceeded), ObservedGeneration: 1},
			{Type: job.Created, Status: metav1.ConditionFalse, Reason: string(diagnose.QuotaExceeded), ObservedGeneration: 1},
		}
	}
	changed := func(trainJob *trainer.TrainJob) { trainJob.Generation = 2 }
	restarted := func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{
			Type: job.Restarting, Status: metav1.ConditionTrue, Reason: string(job.ReasonRestarting), Message: "restart 1 of 2",
		})
	}
	lingers := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "demo-node-0-0-x", Labels: map[string]string{mpi.TrainJobLabel: name.Name}}}
	for reason, tc := range map[string]struct {
		objects []client.Object
		want    bool
	}{
		"nothing is new": {[]client.Object{fakecluster.TrainJob(waits)}, false},
		"the job is another one than that which was checked": {[]client.Object{fakecluster.TrainJob(waits, changed)}, true},
		"it was made from a runtime that may have changed":   {[]client.Object{fakecluster.TrainJob(waits, restarted)}, true},
		"pods of an earlier job are in the way, or are not":  {[]client.Object{fakecluster.TrainJob(waits), lingers}, true},
	} {
		c := newCluster(t, append(tc.objects, quotaOf("9"))...)
		if reads, _ := c.pass(); tc.want != (reads > 0) {
			t.Errorf("%s: %d requests", reason, reads)
		}
	}
}
