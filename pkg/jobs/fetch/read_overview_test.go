package fetch

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// TestReadOverviewReadsWaits: Workloads of jobs are read with their namespace, which names the tenant.
func TestReadOverviewReadsWaits(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(WorkloadKind)
	workload.SetNamespace("vision")
	workload.SetName("trainjob-a")
	workload.SetLabels(map[string]string{kueue.WorkloadOfLabel: "uid"})
	other := workload.DeepCopy()
	other.SetName("pod-b")
	other.SetLabels(nil)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(workload, other).Build()
	in, err := ReadOverview(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Workloads) != 1 || in.Workloads[0].Namespace != "vision" {
		t.Errorf("%+v, want the Workload of the job", in.Workloads)
	}
}
