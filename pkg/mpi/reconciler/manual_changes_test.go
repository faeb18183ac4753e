package reconciler

import (
	"context"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func TestAPolicyThatIsGoneIsMadeAgain(t *testing.T) {
	c := newCluster(t, trainJobOf())
	c.controller.policies = c.Client
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
	if err := c.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	c.pass()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
		t.Errorf("the job needs its policy: %v", err)
	}
	c.pass()
	if got := c.sent(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning NetworkPolicyDeleted") {
		t.Errorf("want one event, got %q", got)
	}
}

// Without its runtime a job has no other way to learn that its JobSet is gone, and a cache that lacks it may only be behind.
func TestAJobWithoutRuntimeAndJobSetIsOver(t *testing.T) {
	begin := time.Now()
	c := newCluster(t, trainJobOf())
	c.controller.clock = newClock(func() time.Time { return begin })
	c.pass()
	begin = begin.Add(job.Calm)
	if _, created := c.pass(); created.Status != metav1.ConditionTrue {
		t.Fatalf("the job is made: %+v", created)
	}
	if err := c.DeleteAllOf(t.Context(), &trainer.ClusterTrainingRuntime{}); err != nil {
		t.Fatal(err)
	}
	c.controller.client = interceptor.NewClient(c.watching(), interceptor.Funcs{
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
	c := newCluster(t, trainJobOf())
	c.controller.policies = fake.NewClientBuilder().WithScheme(c.Scheme()).Build()
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
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, nil)
	}
	return f.Reader.Get(ctx, key, object, opts...)
}

func TestInANamespaceOfNobodyNothingIsTriedAtFullSpeed(t *testing.T) {
	c := newCluster(t, trainJobOf())
	c.controller.live = forbidding{c.Client}
	result, err := c.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	if err != nil || result.RequeueAfter != lastRetry {
		t.Errorf("rights may come later: %+v, %v", result, err)
	}
	if err := c.Get(t.Context(), name, &jobset.JobSet{}); err == nil {
		t.Error("no job is made")
	}
	var list corev1.SecretList
	if err := c.List(t.Context(), &list); err != nil || len(list.Items) > 0 {
		t.Errorf("no key either: %v", err)
	}
}
