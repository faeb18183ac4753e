package watch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
	"lockstep.dev/lockstep/test/fakecluster"
)

var name = fakecluster.Name

// podCache is the manager's cache with one TrainJob, its JobSet and pods, and reads them as that does.
type podCache struct {
	client.Client
	trainJob *trainer.TrainJob
	jobSet   *jobset.JobSet
	pods     toolscache.Indexer
	// reads counts all reads, lists those of pods.
	reads, lists int
}

func (c *podCache) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.reads++
	if key != name {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch object := object.(type) {
	case *trainer.TrainJob:
		c.trainJob.DeepCopyInto(object)
	case *jobset.JobSet:
		c.jobSet.DeepCopyInto(object)
	}
	return nil
}

func (c *podCache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.reads, c.lists = c.reads+1, c.lists+1
	found, err := c.pods.ByIndex(loop.TrainJobIndex, name.Name)
	if err != nil {
		return err
	}
	objects := make([]runtime.Object, 0, len(found))
	for _, object := range found {
		objects = append(objects, object.(runtime.Object)) //nolint:forcetypeassert // only pods are in there
	}
	return apimeta.SetList(list, objects)
}

// requests is a queue that tells what was asked for: at once, or later.
type requests struct {
	requestQueue
	now, later int
}

func (r *requests) Add(reconcile.Request)                     { r.now++ }
func (r *requests) AddAfter(reconcile.Request, time.Duration) { r.later++ }

// gang is a job with so many nodes whose pods come and go.
type gang struct {
	*podCache
	news  handler.EventHandler
	queue requests
}

func newGang(nodes int) *gang {
	replicated := func(name string, pods int) jobset.ReplicatedJob {
		template := batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Parallelism: ptr.To(int32(pods))}} //nolint:gosec // thousands at most
		return jobset.ReplicatedJob{Name: name, Replicas: 1, Template: template}
	}
	meta := metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "s"}
	cache := &podCache{
		trainJob: &trainer.TrainJob{ObjectMeta: meta},
		jobSet: &jobset.JobSet{ObjectMeta: meta, Spec: jobset.JobSetSpec{
			ReplicatedJobs: []jobset.ReplicatedJob{replicated(mpi.LauncherJob, 1), replicated(mpi.NodeJob, nodes)},
		}},
		pods: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{
			loop.TrainJobIndex: func(object any) ([]string, error) {
				return loop.IndexTrainJob(loop.Executor)(object.(client.Object)), nil //nolint:forcetypeassert // only pods are in there
			},
		}),
	}
	return &gang{podCache: cache, news: watches{loop.New(loop.Parts{Client: cache, Mode: loop.Executor})}.enqueueOnPod()}
}

// pod is the launcher, which is number 0, or a node, with changes.
func (g *gang) pod(number int, changes ...func(*corev1.Pod)) *corev1.Pod {
	role := mpi.NodeJob
	if number == 0 {
		role = mpi.LauncherJob
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: fmt.Sprintf("demo-%s-0-%d-x7x2p", role, number), UID: types.UID(fmt.Sprint(number)),
		Labels: map[string]string{
			mpi.TrainJobLabel: name.Name, mpi.JobSetUIDLabel: "s", mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: fmt.Sprint(number),
		},
	}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// comes lets a pod become what it is now; before is nil for a new one.
func (g *gang) comes(before, now *corev1.Pod) {
	if err := g.pods.Add(now); err != nil {
		panic(err)
	}
	if before == nil {
		g.news.Create(context.Background(), event.CreateEvent{Object: now}, &g.queue)
		return
	}
	g.news.Update(context.Background(), event.UpdateEvent{ObjectOld: before, ObjectNew: now}, &g.queue)
}

func (g *gang) goes(pod *corev1.Pod) {
	if err := g.pods.Delete(pod); err != nil {
		panic(err)
	}
	g.news.Delete(context.Background(), event.DeleteEvent{Object: pod}, &g.queue)
}

// asked returns how often a pass was asked for at once since the last call.
func (g *gang) asked() int {
	defer func() { g.queue = requests{} }()
	return g.queue.now
}

func made(*corev1.Pod)        {}
func placed(pod *corev1.Pod)  { pod.Spec.NodeName = "machine" }
func address(pod *corev1.Pod) { placed(pod); pod.Status.PodIP = "10.0.0.1" }
func ready(pod *corev1.Pod) {
	address(pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// steps are what the pods of a gang do on their way to the first rank.
var steps = []func(*corev1.Pod){made, placed, address, ready}

// walk takes all pods of a gang through all steps, and returns how often a pass was asked for at once in each.
func (g *gang) walk(pods int) []int {
	var asked []int
	for i, step := range steps {
		for n := range pods {
			var before *corev1.Pod
			if i > 0 {
				before = g.pod(n, steps[i-1])
			}
			g.comes(before, g.pod(n, step))
		}
		asked = append(asked, g.asked())
	}
	return asked
}

// A wide gang is looked at when all have come a step further, and the goroutine that hears of the pods of all jobs does not go
// through those of this one for each of them.
func TestAGangIsLookedAtWhenAllHaveComeAStepFurther(t *testing.T) {
	g := newGang(40)
	if diff := cmp.Diff([]int{0, 1, 1, 1}, g.walk(41)); diff != "" {
		t.Errorf("passes at once per step: -want, +got:\n%s", diff)
	}
	if g.lists > 0 {
		t.Errorf("the pods were listed %d times", g.lists)
	}
}

// A pod that goes is not a part of the gang any more, and the one that comes in its place has to take the same steps.
func TestAGangWaitsForAPodThatCameInPlaceOfAnother(t *testing.T) {
	g := newGang(1)
	g.walk(2)
	dies := g.pod(1, ready, func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) })
	g.comes(g.pod(1, ready), dies)
	g.goes(dies)
	if got := g.asked(); got != 2 {
		t.Errorf("a pod of a running job that is taken away, and one that is gone, are looked at, got %d passes", got)
	}
	another := func(changes ...func(*corev1.Pod)) *corev1.Pod {
		return g.pod(1, append(changes, func(pod *corev1.Pod) { pod.Name, pod.UID = "demo-node-0-1-abcde", "another" })...)
	}
	g.comes(nil, another(made))
	if got := g.asked(); got != 0 {
		t.Errorf("the new pod has come nowhere yet, got %d passes", got)
	}
	for i := range steps[1:] {
		g.comes(another(steps[i]), another(steps[i+1]))
		if got := g.asked(); got != 1 {
			t.Errorf("step %d completes the gang, got %d passes", i+1, got)
		}
	}
}

// A controller that starts finds the pods of thousands of jobs: each job is looked at, and its gang is known from then on.
func TestAGangOfBeforeTheStart(t *testing.T) {
	g := newGang(1)
	for n, step := range []func(*corev1.Pod){ready, address} {
		g.news.Create(t.Context(), event.CreateEvent{Object: g.pod(n, step), IsInInitialList: true}, &g.queue)
	}
	if g.asked() != 2 || g.queue.later != 0 || g.reads > 0 {
		t.Errorf("one request per pod, which the queue makes one per job, without a look: %+v after %d reads", g.queue, g.reads)
	}
	g.comes(g.pod(1, address), g.pod(1, ready))
	if got := g.asked(); got != 1 {
		t.Errorf("the gang is complete, got %d passes", got)
	}
}

// Nothing is kept of jobs that are gone.
func TestGangsEndWithTheirPods(t *testing.T) {
	g, counts := newGang(1), gangCounts{}
	stranger := g.pod(2, func(pod *corev1.Pod) { pod.Labels[mpi.ReplicatedJobLabel] = "initializer" })
	for _, pod := range []*corev1.Pod{g.pod(0), g.pod(1, ready), stranger} {
		counts.replacePod(nil, pod)
	}
	if diff := cmp.Diff(gangCounts{"s": {observe.StageMade: 1, observe.StageReady: 1}}, counts); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, pod := range []*corev1.Pod{g.pod(0), g.pod(1, ready), stranger} {
		counts.replacePod(pod, nil)
	}
	if len(counts) != 0 {
		t.Errorf("left over: %v", counts)
	}
}

// BenchmarkPodNews is a job of 1,000 pods on its way to the first rank: 4,000 events.
func BenchmarkPodNews(b *testing.B) {
	const pods = 1000
	b.ReportAllocs()
	for b.Loop() {
		newGang(pods - 1).walk(pods)
	}
}
