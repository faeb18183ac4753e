package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/fakecluster"
)

func TestAPolicyThatIsGoneIsMadeAgain(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Policies = c.Client
	made := 0
	c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
		Create: func(ctx context.Context, store client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			if _, is := object.(*networkingv1.NetworkPolicy); is {
				made++
				object.SetUID(types.UID(fmt.Sprint("policy-", made)))
			}
			return store.Create(ctx, object, opts...)
		},
	})
	c.pass()
	if err := c.Get(t.Context(), name, &jobset.JobSet{}); err != nil {
		t.Fatal(err)
	}
	c.pass()
	if reads, _ := c.pass(); reads > 0 {
		t.Errorf("the cache tells that the policy is there, and yet %d requests", reads)
	}
	c.sent()
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: mpi.NetworkPolicyName(name.Name)}}
	for range 2 {
		if err := c.Delete(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
		c.pass()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			t.Errorf("the job needs its policy: %v", err)
		}
		c.pass()
		if got := c.sent(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning NetworkPolicyDeleted") {
			t.Errorf("want one event for each deletion, got %q", got)
		}
	}
}

// The watch of pods may be ahead of that of JobSets: somebody has suspended the JobSet, and of that only its pods tell yet.
func TestWhoSuspendsAJobSetHasDeletedNoPod(t *testing.T) {
	for suspended, blamed := range map[bool]bool{true: false, false: true} {
		c := newCluster(t, fakecluster.TrainJob())
		c.pass()
		js := &jobset.JobSet{}
		if err := c.Get(t.Context(), name, js); err != nil {
			t.Fatal(err)
		}
		cached := js.DeepCopy()
		c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
			Get: func(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
				if js, is := object.(*jobset.JobSet); is {
					cached.DeepCopyInto(js)
					return nil
				}
				return store.Get(ctx, key, object, opts...)
			},
		})
		js.Spec.Suspend = ptr.To(suspended)
		if err := c.Update(t.Context(), js); err != nil {
			t.Fatal(err)
		}
		for _, pod := range []*corev1.Pod{readyPod(mpi.LauncherJob, 0), readyPod(mpi.NodeJob, 0), readyPod(mpi.NodeJob, 1)} {
			pod.Finalizers = []string{"test/kept"} // so that it is seen being deleted
			if err := c.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if pod.Labels[mpi.CompletionIndexLabel] != "1" {
				continue
			}
			if err := c.Delete(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
		c.pass()
		var trainJob trainer.TrainJob
		if err := c.Get(t.Context(), name, &trainJob); err != nil {
			t.Fatal(err)
		}
		ready := apimeta.FindStatusCondition(status.AllConditions(&trainJob), job.PodsReady)
		if (ready != nil && ready.Reason == string(diagnose.PodDeleted)) != blamed {
			t.Errorf("the JobSet is suspended: %v; the job says %+v", suspended, ready)
		}
	}
}

func readyPod(role string, index int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: fmt.Sprintf("%s-%s-0-%d-x", name.Name, role, index), Labels: map[string]string{
			mpi.TrainJobLabel: name.Name, mpi.ReplicatedJobLabel: role, mpi.JobSetUIDLabel: "", mpi.CompletionIndexLabel: fmt.Sprint(index),
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// In a namespace that is being deleted the JobSet of a job may go before its TrainJob.
func TestNobodyIsToldOfAJobSetThatGoesWithItsNamespace(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "demo", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for reason, tc := range map[string]struct {
		answer error
		over   bool
	}{
		"it goes":       {terminating, false},
		"it stays":      {nil, true},
		"a quota is up": {apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "demo", errors.New("exceeded quota")), true},
	} {
		c := newCluster(t, fakecluster.TrainJob(begun))
		c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, object client.Object, opts ...client.CreateOption) error {
				if (&client.CreateOptions{}).ApplyOptions(opts).DryRun == nil {
					t.Errorf("%s: %s is made", reason, object.GetName())
				}
				return tc.answer
			},
		})
		c.pass()
		var trainJob trainer.TrainJob
		if err := c.Get(t.Context(), name, &trainJob); err != nil {
			t.Fatal(err)
		}
		if over := apimeta.IsStatusConditionTrue(trainJob.Status.Conditions, trainer.TrainJobFailed); over != tc.over {
			t.Errorf("%s: over: %v", reason, over)
		}
		if told := len(c.sent()) > 0; told != tc.over {
			t.Errorf("%s: told: %v", reason, told)
		}
	}
}

// begun is the status of a job whose pods are being made.
func begun(trainJob *trainer.TrainJob) {
	trainJob.Status.Conditions = []metav1.Condition{
		{Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: string(job.ReasonPodsPending)},
		{Type: job.Running, Status: metav1.ConditionFalse, Reason: string(job.ReasonWaitingForPods)},
		{Type: job.Created, Status: metav1.ConditionTrue, Reason: string(job.ReasonJobSetCreated)},
	}
}

// Without its runtime a job has no other way to learn that its JobSet is gone, and a cache that lacks it may only be behind.
func TestAJobWithoutRuntimeAndJobSetIsOver(t *testing.T) {
	begin := time.Now()
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Now = func() time.Time { return begin }
	c.pass()
	begin = begin.Add(status.DebounceStep)
	if _, created := c.pass(); created.Status != metav1.ConditionTrue {
		t.Fatalf("the job is made: %+v", created)
	}
	if err := c.DeleteAllOf(t.Context(), &trainer.ClusterTrainingRuntime{}); err != nil {
		t.Fatal(err)
	}
	c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
		Get: func(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if _, is := object.(*jobset.JobSet); is {
				return apierrors.NewNotFound(jobset.SchemeGroupVersion.WithResource("jobsets").GroupResource(), key.Name)
			}
			return store.Get(ctx, key, object, opts...)
		},
	})
	ended := func() string {
		t.Helper()
		c.pass()
		var trainJob trainer.TrainJob
		if err := c.Get(t.Context(), name, &trainJob); err != nil {
			t.Fatal(err)
		}
		if failed := apimeta.FindStatusCondition(trainJob.Status.Conditions, trainer.TrainJobFailed); failed != nil {
			return failed.Reason
		}
		return ""
	}
	if got := ended(); got != "" {
		t.Errorf("the JobSet is there, and a job that runs needs no runtime: %s", got)
	}
	if err := c.DeleteAllOf(t.Context(), &jobset.JobSet{}, client.InNamespace(name.Namespace)); err != nil {
		t.Fatal(err)
	}
	if got := ended(); got != string(diagnose.JobSetDeleted) {
		t.Errorf("want %s, got %q", diagnose.JobSetDeleted, got)
	}
}

// The cache learns of a policy later than of a JobSet.
func TestAPolicyThatTheCacheLacksIsAskedFor(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Policies = fake.NewClientBuilder().WithScheme(c.Scheme()).Build()
	for range 3 {
		c.pass()
	}
	for _, event := range c.sent() {
		if strings.Contains(event, "NetworkPolicyDeleted") {
			t.Errorf("it is there: %s", event)
		}
	}
}

// forbidding lets nobody read Secrets.
type forbidding struct{ client.Reader }

func (f forbidding) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if object.GetObjectKind().GroupVersionKind().Kind == "Secret" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New(`User "mpi-controller" cannot get resource "secrets" in API group "" in the namespace "team"`))
	}
	return f.Reader.Get(ctx, key, object, opts...)
}

func TestInANamespaceOfNobodyNothingIsTriedAtFullSpeed(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Live = forbidding{c.Client}
	var said []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
	for range 2 {
		if _, err := c.controller.Reconcile(ctx, ctrl.Request{NamespacedName: name}); !apierrors.IsForbidden(err) {
			t.Errorf("rights may come later, and until then the pass counts as failed: %v", err)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "the controller may not get secrets in this namespace") {
		t.Errorf("want it once in plain words, got %q", said)
	}
	if err := c.Get(t.Context(), name, &jobset.JobSet{}); err == nil {
		t.Error("no job is made")
	}
	var list corev1.SecretList
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) > 0 {
		t.Errorf("no key either: %v", err)
	}
}
