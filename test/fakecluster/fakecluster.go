// Package fakecluster is a cluster in memory with one runtime, for the tests of the controller's packages.
package fakecluster

import (
	"context"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// Name is the name of the job.
var Name = client.ObjectKey{Namespace: "team", Name: "demo"}

// Counted counts what is asked of the API server.
type Counted struct {
	client.Reader
	Reads atomic.Int32
}

// Get counts.
func (c *Counted) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	c.Reads.Add(1)
	return c.Reader.Get(ctx, key, object, opts...)
}

// List counts.
func (c *Counted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.Reads.Add(1)
	return c.Reader.List(ctx, list, opts...)
}

// Store returns a cluster with the runtime and other objects. The index finds Jobs and pods by their TrainJob.
func Store(t *testing.T, index string, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	jobs := &metav1.PartialObjectMetadata{}
	jobs.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	byTrainJob := func(o client.Object) []string { return []string{o.GetLabels()[mpi.TrainJobLabel]} }
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&trainer.TrainJob{}, &corev1.ResourceQuota{}).
		WithIndex(&corev1.Pod{}, index, byTrainJob).WithIndex(jobs, index, byTrainJob).
		WithIndex(&trainer.TrainJob{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithObjects(append(objects, Runtime(t))...).Build()
}

// Runtime returns the runtime `openmpi`.
func Runtime(t *testing.T) *trainer.ClusterTrainingRuntime {
	t.Helper()
	built, err := template.Runtime{
		Name: "openmpi", Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1",
		World:         mpi.World{Nodes: 2, SlotsPerNode: 1},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		Agent:         template.Agent{Image: "registry.test/agent:1", ImageVolume: true},
	}.Build()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TrainJob returns a job of two nodes in that runtime.
func TrainJob(edits ...func(*trainer.TrainJob)) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: Name.Namespace, Name: Name.Name, UID: "t", Generation: 1, CreationTimestamp: metav1.Now()},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "openmpi"}},
	}
	for _, edit := range edits {
		edit(trainJob)
	}
	return trainJob
}
