package fetch

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

func machine(name, cpu string, edit func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("110")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if edit != nil {
		edit(node)
	}
	return node
}

func podOn(name, node, cpu string, edit func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: name}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
	}}}
	if edit != nil {
		edit(pod)
	}
	return pod
}

// readMachinesOf reads the machines for a job of two nodes from a cluster with some objects.
func readMachinesOf(t *testing.T, calls interceptor.Funcs, objects ...client.Object) preflight.Input {
	t.Helper()
	built := template.Runtime{Name: "r", Implementation: "MPICH", Version: "4.2"}
	built.World.Nodes, built.World.SlotsPerNode = 2, 2
	runtime, err := built.Build()
	if err != nil {
		t.Fatal(err)
	}
	made, err := mpijob.Resolve(&trainer.TrainJob{}, mpijob.Runtime{Labels: runtime.Labels, Spec: runtime.Spec})
	if err != nil {
		t.Fatal(err)
	}
	a := &preflightReader{client: fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(calls).Build()}
	a.readMachines(t.Context(), made)
	return a.in
}

// TestReadMachines: free is what no pod requests, of machines where pods of the job may be.
func TestReadMachines(t *testing.T) {
	daemon := func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: ptr.To(true)}}
	}
	in := readMachinesOf(t, interceptor.Funcs{},
		machine("a", "4", nil),
		machine("tainted", "4", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		}),
		machine("cordoned", "4", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		podOn("works", "a", "1500m", nil), podOn("daemon", "a", "250m", daemon), podOn("elsewhere", "tainted", "1", nil),
		podOn("over", "a", "1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), podOn("waits", "", "1", nil),
	)
	m := in.Machines
	if m == nil || m.Matching != 2 || m.Ready != 1 || len(m.Whole) != 1 || len(m.Free) != 1 {
		t.Fatalf("read %+v", m)
	}
	if whole, free := m.Whole[0]["cpu"], m.Free[0]["cpu"]; whole.String() != "3750m" || free.String() != "2250m" {
		t.Errorf("of the machine %s are left beside daemons, and %s free", whole.String(), free.String())
	}
	if pods := m.Free[0]["pods"]; pods.Value() != 108 {
		t.Errorf("there is room for %s more pods", pods.String())
	}
}

// TestReadMachinesWithoutRights: what a user may not list is named.
func TestReadMachinesWithoutRights(t *testing.T) {
	for what, want := range map[string]bool{"nodes": false, "pods": true} {
		in := readMachinesOf(t, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				_, isPods := list.(*corev1.PodList)
				if isPods == (what == "pods") {
					return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", nil)
				}
				return c.List(ctx, list, options...)
			},
		}, machine("a", "4", nil))
		if len(in.Unseen) != 1 || (in.Machines != nil) != want || want && in.Machines.Free != nil {
			t.Errorf("without rights for %s: %+v, not seen: %q", what, in.Machines, in.Unseen)
		}
	}
}
