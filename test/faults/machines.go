package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Machines that are lost, and pods that have to go.
func machineFaults() []Fault {
	// The launcher is on one machine, the worker on the other, which comes to harm.
	apart := func(job *trainer.TrainJob) {
		patchPods(job, mpi.LauncherJob, trainer.PodSpecPatch{NodeSelector: map[string]string{corev1.LabelHostname: keeper}})
		patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{NodeSelector: map[string]string{corev1.LabelHostname: victim}})
	}
	lost := everywhere(Fault{
		Name: "node lost", How: "the first process of a machine with a worker is killed", Ranks: true, Shape: apart,
		Want: []mpi.Reason{diagnose.MachineLost, diagnose.WorkerLost},
		During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
			if err := t.hitMachine(ctx); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error { return t.StartMachine(ctx, 1) }, t.KillMachine(ctx, 1)
		},
	})
	return append(lost, []Fault{
		{
			Name: "network link cut", How: "the link of a machine with a worker goes down", Ranks: true, Shape: apart,
			Want: []mpi.Reason{diagnose.MachineLost, diagnose.WorkerLost}, During: cutLink,
		},
		{
			Name: "eviction", How: "a worker is evicted through the API, as by `kubectl drain`", Ranks: true, Shape: apart,
			Want: []mpi.Reason{diagnose.Evicted},
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				pod, err := t.hit(ctx, mpi.NodeJob)
				if err != nil {
					return nil, err
				}
				eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
				return nil, t.admin.Logs.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
			},
		},
		{
			Name: "pod deleted", How: "a user deletes the pod of a worker", Ranks: true, Shape: apart,
			Want: []mpi.Reason{diagnose.PodDeleted},
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				pod, err := t.hit(ctx, mpi.NodeJob)
				if err != nil {
					return nil, err
				}
				return nil, t.admin.Client.Delete(ctx, &pod)
			},
		},
		{
			Name: "pod deleted after its launch", How: "a user deletes the pod of a worker while the script goes on without it: the job must complete all the same", Ranks: true,
			Shape: func(job *trainer.TrainJob) {
				apart(job)
				command("bash", "-c", "mpirun -n 4 mpi-hello --sleep 5 && sleep 25")(job)
			},
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				pod, err := t.hit(ctx, mpi.NodeJob)
				if err != nil {
					return nil, err
				}
				time.Sleep(12 * time.Second) // until the launch has ended
				return nil, t.admin.Client.Delete(ctx, &pod)
			},
		},
		{
			Name: "preemption by priority", How: "a pod of higher priority needs the machine of a worker", Ranks: true, Shape: apart,
			Want: []mpi.Reason{diagnose.Preempted}, During: preempt,
		},
		{
			Name: "unschedulable CPU", How: "other pods leave less than 200m of CPU on every machine",
			Want: []mpi.Reason{diagnose.Unschedulable}, Says: []string{"cpu"}, Before: fillMachines, Waits: true,
		},
		{
			Name: "unschedulable node selector", How: "no machine has the label that the job asks for",
			Want: []mpi.Reason{diagnose.Unschedulable}, Waits: true,
			Shape: func(job *trainer.TrainJob) {
				patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{NodeSelector: map[string]string{"example.com/model": "none-such"}})
			},
		},
	}...)
}

// Disks that are full.
func diskFaults() []Fault {
	return []Fault{
		{
			Name: "disk full", How: "rank 3 fills an emptyDir above its size limit of 8 MiB until kubelet notices", Ranks: true,
			Limit: 100 * time.Second, // kubelet looks at the sizes of volumes once a minute
			Want:  []mpi.Reason{diagnose.Evicted, diagnose.DiskFull}, Hits: workerOf(0),
			Shape: func(job *trainer.TrainJob) {
				oneRank("head -c 64M /dev/zero > /scratch/file")(job)
				patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{
					Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("8Mi"))},
					}}},
					Containers: []trainer.ContainerPatch{{Name: mpi.Container, VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}}},
				})
			},
		},
		{
			Name: "no space left", How: "rank 3 writes to a memory disk of 8 MiB", Ranks: true,
			Want: []mpi.Reason{diagnose.DiskFull}, Says: []string{"no space left"}, Hits: rankOf(3),
			Shape: func(job *trainer.TrainJob) {
				oneRank("head -c 64M /dev/zero > /scratch/file || exit 1")(job)
				patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{
					Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("8Mi"))},
					}}},
					Containers: []trainer.ContainerPatch{{Name: mpi.Container, VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}}},
				})
			},
		},
	}
}

// patchPods adds a patch of a user to the pods of a role.
func patchPods(job *trainer.TrainJob, role string, spec trainer.PodSpecPatch) {
	job.Spec.RuntimePatches = append(job.Spec.RuntimePatches, trainer.RuntimePatch{
		Manager: "faults.lockstep.dev/" + role,
		TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{
			ReplicatedJobs: []trainer.ReplicatedJobPatch{{Name: role, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{
				Template: &trainer.PodTemplatePatch{Spec: &spec},
			}}}},
		}}},
	})
}

func cutLink(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	if err := t.hitMachine(ctx); err != nil {
		return nil, err
	}
	set := func(state string) func(context.Context) error {
		return func(ctx context.Context) error { return hostLink(ctx, victim, state) }
	}
	return set("up"), set("down")(ctx)
}

const highPriority = "lockstep-faults-high"

func preempt(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	if err := t.hitMachine(ctx); err != nil {
		return nil, err
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: highPriority}, Value: 1_000_000}
	if err := t.admin.Client.Create(ctx, class); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	node := &corev1.Node{}
	if err := t.admin.Client.Get(ctx, client.ObjectKey{Name: victim}, node); err != nil {
		return nil, err
	}
	pod := idlePod("lockstep-important", victim, node.Status.Allocatable.Cpu().MilliValue())
	pod.Spec.PriorityClassName = highPriority
	return t.forget(pod), t.admin.Client.Create(ctx, pod)
}

// fillMachines puts a pod on each machine that leaves little CPU.
func fillMachines(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	const left = 190
	nodes := &corev1.NodeList{}
	if err := t.admin.Client.List(ctx, nodes); err != nil {
		return nil, err
	}
	var undo undoing
	for _, node := range nodes.Items {
		free, err := t.freeCPU(ctx, node)
		if err != nil {
			return undo.all, err
		}
		pod := idlePod("lockstep-filler-"+node.Name, node.Name, free-left)
		undo.add(t.forget(pod))
		if err := t.admin.Client.Create(ctx, pod); err != nil {
			return undo.all, err
		}
	}
	return undo.all, nil
}

// freeCPU is what no pod on the machine requests, in thousandths of a core.
func (c *cluster) freeCPU(ctx context.Context, node corev1.Node) (int64, error) {
	pods := &corev1.PodList{}
	if err := c.admin.Client.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return 0, err
	}
	free := node.Status.Allocatable.Cpu().MilliValue()
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, c := range pod.Spec.Containers {
			free -= c.Resources.Requests.Cpu().MilliValue()
		}
	}
	return free, nil
}

// idlePod does nothing on a machine but ask for CPU.
func idlePod(name, machine string, milliCPU int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: sandbox},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{corev1.LabelHostname: machine},
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{
				Name: "idle", Image: "lockstep.test/pause:1", ImagePullPolicy: corev1.PullIfNotPresent,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
				}},
			}},
		},
	}
}

// forget deletes an object and returns when it is gone.
func (c *cluster) forget(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := client.IgnoreNotFound(c.admin.Client.Delete(ctx, object)); err != nil {
			return err
		}
		return until(ctx, settling, object.GetName()+" does not go", func(ctx context.Context) (bool, error) {
			err := c.admin.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
}
