package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

const (
	runtimeName = "openmpi"
	// creators create at the same time.
	creators = 20
)

// fill makes a runtime and so many jobs that run, each with the two Jobs that a JobSet has.
func fill(ctx context.Context, config *rest.Config, jobs int) error {
	own := rest.CopyConfig(config)
	own.QPS = -1
	c, err := fetch.NewClient(own)
	if err != nil {
		return err
	}
	built, err := template.Runtime{
		Name: runtimeName, Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1", World: mpi.World{Nodes: 8, SlotsPerNode: 2},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, Agent: template.Agent{Image: "registry.test/agent:1"},
	}.Build()
	if err != nil {
		return err
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, built.DeepCopy()} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	runtime := mpijob.Runtime{Labels: built.Labels, Annotations: built.Annotations, Spec: built.Spec}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range jobs {
		group.Go(func() error { return runningJob(ctx, c, fmt.Sprintf("train-%04d", i), runtime) })
	}
	return group.Wait()
}

// runningJob makes a job with the conditions of one that runs.
func runningJob(ctx context.Context, c client.Client, name string, runtime mpijob.Runtime) error {
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{mpi.TrainJobLabel: name}},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: runtimeName}, Trainer: &trainer.Trainer{Command: []string{"mpirun", "train"}}},
	}
	if err := c.Create(ctx, trainJob); err != nil {
		return err
	}
	for _, kind := range []string{mpijob.Created, mpijob.PodsReady, mpijob.Running} {
		trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind, Message: "all pods of the job are ready", LastTransitionTime: metav1.Now(),
		})
	}
	if err := c.Status().Update(ctx, trainJob); err != nil {
		return err
	}
	made, err := mpijob.Resolve(trainJob, runtime)
	if err != nil {
		return err
	}
	for _, part := range desired.PodSets(desired.JobSet(made)) {
		labels := map[string]string{mpi.JobSetNameLabel: name, mpi.ReplicatedJobLabel: part.Name, mpi.TrainJobLabel: name}
		spec := *part.Spec.DeepCopy()
		spec.RestartPolicy = corev1.RestartPolicyNever
		one := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + part.Name + "-0", Labels: labels, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: mpijob.KindOfJobSet().APIVersion, Kind: mpijob.KindOfJobSet().Kind, Name: name, UID: trainJob.UID, Controller: ptr.To(true),
			}}},
			Spec: batchv1.JobSpec{
				Parallelism: ptr.To(int32(part.Count)), Completions: ptr.To(int32(part.Count)), // of a world that was resolved
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
			},
		}
		if err := c.Create(ctx, one); err != nil {
			return err
		}
	}
	return nil
}
