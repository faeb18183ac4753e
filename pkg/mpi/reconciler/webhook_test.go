package reconciler

import (
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ask asks the webhook about a pod of the job, as the API server does.
func (c *cluster) ask(dryRun bool) admission.Response {
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
	c.controller.mode = Companion
	return (&propagation{r: c.controller}).Handle(c.t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Namespace: name.Namespace, Object: runtime.RawExtension{Raw: text}, DryRun: &dryRun,
	}})
}

func policyKey() client.ObjectKey {
	return client.ObjectKey{Namespace: name.Namespace, Name: mpi.NetworkPolicyName(name.Name)}
}

// Kubeflow Trainer waits for nobody, so no pass may have seen the TrainJob when its pods come.
func TestNoPodIsThereBeforeItsPolicy(t *testing.T) {
	c := newCluster(t, trainJobOf())
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
	if err := c.Get(t.Context(), policyKey(), policy); err != nil || !metav1.IsControlledBy(policy, trainJobOf()) {
		t.Errorf("the job has no policy of its own when its pod comes: %v, %+v", err, policy.ObjectMeta)
	}
}

func TestAPodPassesWhoeverHasThePolicy(t *testing.T) {
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policyKey().Namespace, Name: policyKey().Name, Labels: map[string]string{"by": "somebody"}}}
	c := newCluster(t, trainJobOf(), theirs)
	if answer := c.ask(false); !answer.Allowed || len(answer.Patches) == 0 {
		t.Fatalf("a pod passes, and is completed: %+v", answer)
	}
	if err := c.Get(t.Context(), policyKey(), theirs); err != nil || theirs.Labels["by"] != "somebody" {
		t.Errorf("what is somebody else's stays: %v, %+v", err, theirs.Labels)
	}
	c.live.reads.Store(0)
	told := trainJobOf()
	if err := c.Get(t.Context(), name, told); err != nil {
		t.Fatal(err)
	}
	told.Status.Conditions = []metav1.Condition{{Type: "PodsReady", Status: metav1.ConditionFalse, Reason: "PodsPending"}}
	if err := c.Status().Update(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	if c.ask(false); c.live.reads.Load() > 0 {
		t.Errorf("%d requests about a policy that a status tells of", c.live.reads.Load())
	}
}
