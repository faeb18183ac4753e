package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
	"lockstep.dev/lockstep/test/fakecluster"
)

var name = fakecluster.Name

// cluster is one with a TrainJob, and the loop of a companion.
type cluster struct {
	t *testing.T
	client.WithWatch
	live       *fakecluster.Counted
	controller *loop.Reconciler
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	store := fakecluster.Store(t, loop.TrainJobIndex, objects...)
	live := &fakecluster.Counted{Reader: store}
	return &cluster{t, store, live, loop.New(loop.Parts{Client: store, Live: live, Namespace: "lockstep", Mode: loop.Companion, Now: time.Now})}
}

// ask asks a webhook that is asked for the first time about a pod of the job, as the API server does.
func (c *cluster) ask(dryRun bool) admission.Response {
	c.t.Helper()
	return newPodWebhook(c.controller).Handle(c.t.Context(), c.question(dryRun))
}

func (c *cluster) question(dryRun bool) admission.Request {
	c.t.Helper()
	text, err := json.Marshal(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "demo-node-0-0", Labels: map[string]string{
			mpi.JobSetNameLabel: name.Name, mpi.ReplicatedJobLabel: mpi.NodeJob,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container, Image: "registry.test/trainers:1"}}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: name.Namespace, Object: runtime.RawExtension{Raw: text}, DryRun: &dryRun,
	}}
}

func policyKey() client.ObjectKey {
	return client.ObjectKey{Namespace: name.Namespace, Name: mpi.NetworkPolicyName(name.Name)}
}

// Kubeflow Trainer waits for nobody, so no pass may have seen the TrainJob when its pods come.
func TestNoPodIsThereBeforeItsPolicy(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	if answer := c.ask(true); !answer.Allowed {
		t.Fatalf("a pod passes: %+v", answer)
	}
	policy := &networkingv1.NetworkPolicy{}
	if err := c.Get(t.Context(), policyKey(), policy); !apierrors.IsNotFound(err) {
		t.Errorf("nothing is made for a pod that is not made either: %v", err)
	}
	for range 2 {
		if answer := c.ask(false); !answer.Allowed || len(answer.Patches) == 0 {
			t.Fatalf("a pod passes, and is completed: %+v", answer)
		}
	}
	if err := c.Get(t.Context(), policyKey(), policy); err != nil || !metav1.IsControlledBy(policy, fakecluster.TrainJob()) {
		t.Errorf("the job has no policy of its own when its pod comes: %v, %+v", err, policy.ObjectMeta)
	}
}

// A pod that passed unchanged would lack the user's image and environment for the whole job.
func TestAPodGetsWhatIsItsWhenItComesBeforeTheNewsOfItsTrainJob(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Client = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, store client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, is := object.(*trainer.TrainJob); is {
				return apierrors.NewNotFound(trainer.GroupVersion.WithResource("trainjobs").GroupResource(), key.Name)
			}
			return store.Get(ctx, key, object, options...)
		},
	})
	if answer := c.ask(false); !answer.Allowed || len(answer.Patches) == 0 || len(answer.Warnings) > 0 {
		t.Errorf("the pod passes as it is: %+v", answer)
	}
	if err := c.Get(t.Context(), policyKey(), &networkingv1.NetworkPolicy{}); err != nil {
		t.Errorf("the job has no policy of its own when its pod comes: %v", err)
	}
}

func TestAPodPassesWhoeverHasThePolicy(t *testing.T) {
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policyKey().Namespace, Name: policyKey().Name, Labels: map[string]string{"by": "somebody"}}}
	c := newCluster(t, fakecluster.TrainJob(), theirs)
	if answer := c.ask(false); !answer.Allowed || len(answer.Patches) == 0 {
		t.Fatalf("a pod passes, and is completed: %+v", answer)
	}
	if err := c.Get(t.Context(), policyKey(), theirs); err != nil || theirs.Labels["by"] != "somebody" {
		t.Errorf("what is somebody else's stays: %v, %+v", err, theirs.Labels)
	}
}

// A cluster whose own webhook for network policies is slow, or that allows none, must not cost a job the user's image: the API
// server waits 5 s for us, and lets the pod pass unchanged then.
func TestAPodGetsWhatIsItsWhateverBecomesOfThePolicy(t *testing.T) {
	forbidden := apierrors.NewForbidden(networkingv1.Resource("networkpolicies"), "demo-mpi", errors.New("not here"))
	cases := map[string]struct {
		reason  string
		create  func(context.Context) error
		longest time.Duration
		tries   int32
	}{
		"Slow":      {"asked again by the next pod", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 4 * time.Second, 3},
		"Forbidden": {"the answer holds for a moment", func(context.Context) error { return forbidden }, 0, 1},
		"Invalid":   {"", func(context.Context) error { return apierrors.NewBadRequest("no") }, 0, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, fakecluster.TrainJob())
				var tries atomic.Int32
				c.creates(func(ctx context.Context, _ client.Object) error { tries.Add(1); return tc.create(ctx) })
				var logged []string
				ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
				hook := newPodWebhook(c.controller).Handler
				for range 3 {
					began := time.Now()
					if answer := hook.Handle(ctx, c.question(false)); !answer.Allowed || len(answer.Patches) == 0 {
						t.Fatalf("%s: a pod passes, and is completed: %+v", tc.reason, answer)
					}
					if took := time.Since(began); took > tc.longest {
						t.Errorf("%s: took %s", tc.reason, took)
					}
				}
				if tries.Load() != tc.tries || len(logged) != 1 || !strings.Contains(logged[0], "make the network policy before the pods") {
					t.Errorf("%s: %d tries, want %d, and one line in the log: %q", tc.reason, tries.Load(), tc.tries, logged)
				}
			})
		})
	}
}

// The pods of a wide job ask one question, also those that come a moment later.
func TestAPolicyIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fakecluster.TrainJob())
		hook := newPodWebhook(c.controller).Handler
		reads := func(want int32, why string) {
			t.Helper()
			c.live.Reads.Store(0)
			if answer := hook.Handle(t.Context(), c.question(false)); !answer.Allowed || len(answer.Patches) == 0 {
				t.Fatalf("a pod passes, and is completed: %+v", answer)
			}
			if got := c.live.Reads.Load(); got != want {
				t.Errorf("%s: want %d requests, got %d", why, want, got)
			}
		}
		reads(1, "nobody knows yet")
		reads(0, "the answer holds")
		time.Sleep(policyCacheTTL)
		reads(1, "it has lapsed")
		if err := c.Delete(t.Context(), fakecluster.TrainJob()); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), fakecluster.TrainJob(func(trainJob *trainer.TrainJob) { trainJob.UID = "another" })); err != nil {
			t.Fatal(err)
		}
		reads(1, "another job of the name")
	})
}

// The first pod that asks may be given up by the API server, and the policy is for all of them.
func TestAPolicyIsMadeForThePodsThatStillWait(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	ctx, cancel := context.WithCancel(t.Context())
	c.creates(func(ctx context.Context, object client.Object) error {
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.Create(ctx, object)
	})
	newPodWebhook(c.controller).Handle(ctx, c.question(false))
	if err := c.Get(t.Context(), policyKey(), &networkingv1.NetworkPolicy{}); err != nil {
		t.Errorf("the policy went with the first pod: %v", err)
	}
}

// An error in an answer is a refusal, whatever the failurePolicy of the webhook is.
func TestNoPodIsRefusedBecauseOfUs(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	unreadable := c.question(false)
	unreadable.Object.Raw = []byte(`{"metadata":1}`)
	answer := newPodWebhook(c.controller).Handle(t.Context(), unreadable)
	if !answer.Allowed || len(answer.Patches) > 0 || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "leaves the pod as it is: decode pod") {
		t.Errorf("a pod that cannot be read passes with a warning: %+v", answer)
	}
	c.controller.Client = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the cache is away")
		},
	})
	if answer := c.ask(false); !answer.Allowed || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], "the cache is away") {
		t.Errorf("a pod whose TrainJob cannot be looked up passes with a warning: %+v", answer)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic was made an answer, which refuses the pod")
		}
	}()
	newPodWebhook(nil).Handle(t.Context(), c.question(false))
}

// creates lets a function answer what is to be created.
func (c *cluster) creates(create func(context.Context, client.Object) error) {
	c.controller.Client = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Create: func(ctx context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return create(ctx, object)
		},
	})
}
