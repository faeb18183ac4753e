package job_test

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// t0 is the present of the tests.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// runtimeOf is a runtime as the compiler writes it: 2 nodes with 2 slots.
func runtimeOf(launcherRunsRanks bool) *job.Runtime {
	built, err := template.Runtime{
		Name: "openmpi", Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7",
		Image: "registry.test/mpi:1",
		World: mpi.World{Nodes: 2, SlotsPerNode: 2, LauncherRunsRanks: launcherRunsRanks},
		NodeResources: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		},
		LauncherResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		Agent:             template.Agent{Image: "registry.test/agent:1", ImageVolume: true},
		NodeSelector:      map[string]string{"pool": "cpu"},
	}.Build()
	if err != nil {
		panic(err)
	}
	return &job.Runtime{
		Labels: built.Labels, Annotations: map[string]string{mpi.PriceAnnotation: "24.5"}, Spec: built.Spec,
	}
}

// trainJobOf is the TrainJob `demo`, changed by edits.
func trainJobOf(edits ...func(*trainer.TrainJob)) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "demo", Namespace: "team", UID: "uid-new", Generation: 1, CreationTimestamp: metav1.NewTime(t0.Add(-time.Minute)),
		},
		Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "openmpi"}},
	}
	for _, edit := range edits {
		edit(trainJob)
	}
	return trainJob
}

func asks(t trainer.Trainer) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) { trainJob.Spec.Trainer = &t }
}

func suspend(trainJob *trainer.TrainJob) { trainJob.Spec.Suspend = ptr.To(true) }

func deadline(seconds int64) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) { trainJob.Spec.ActiveDeadlineSeconds = seconds }
}

func hasCondition(kind string, status metav1.ConditionStatus, at time.Time) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, LastTransitionTime: metav1.NewTime(at), Reason: "Before", Message: "before",
		})
	}
}

// started is what is observed of a TrainJob whose JobSet runs since ten seconds, without pods.
func started(trainJob *trainer.TrainJob) observe.Observed {
	made, err := job.Resolve(trainJob, *runtimeOf(false))
	if err != nil {
		panic(err)
	}
	js := desired.JobSet(made)
	js.UID = "jobset-uid"
	js.CreationTimestamp = metav1.NewTime(t0.Add(-10 * time.Second))
	return observe.Observed{
		Now: t0, ControllerNamespace: "lockstep-system", TrainJob: trainJob, Runtime: runtimeOf(false), JobSet: js,
		History: observe.History{{Kind: observe.FactRuns, UID: js.UID}: t0.Add(-10 * time.Second), {Kind: observe.FactLauncher, UID: "launcher-0"}: t0.Add(-5 * time.Second)},
	}
}

// sawFact adds to what was seen before.
func sawFact(o observe.Observed, kind observe.FactKind, uid types.UID, at time.Time) observe.Observed {
	o.History = maps.Clone(o.History)
	o.History[observe.ObservedFact{Kind: kind, UID: uid}] = at
	return o
}

func withPods(o observe.Observed, pods ...corev1.Pod) observe.Observed {
	o.Pods = pods
	return o
}

func jobSetHas(o observe.Observed, kind jobset.JobSetConditionType, at time.Time) observe.Observed {
	o.JobSet = o.JobSet.DeepCopy()
	o.JobSet.Status.Conditions = append(o.JobSet.Status.Conditions, metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at), Message: "said by JobSet",
	})
	if kind == jobset.JobSetFailed {
		return sawFact(o, observe.FactFailed, o.JobSet.UID, at)
	}
	return o
}

// podOf is a pod of the JobSet of started.
func podOf(role string, index int, edits ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("demo-%s-0-%d-x7x2p", role, index), UID: types.UID(fmt.Sprintf("%s-%d", role, index)),
		Labels: map[string]string{
			mpi.TrainJobLabel: "demo", mpi.JobSetUIDLabel: "jobset-uid", mpi.ReplicatedJobLabel: role,
			mpi.CompletionIndexLabel: fmt.Sprint(index),
		},
	}}
	for _, edit := range edits {
		edit(&pod)
	}
	return pod
}

func on(machine string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = machine }
}

func address(ip string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.PodIP = ip }
}

func ready(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  mpi.Container,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t0.Add(-5 * time.Second))}},
	}}
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(t0)) }

// died gives a pod a failed main container.
func died(at time.Time, code int32, reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: mpi.Container,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, Message: message, FinishedAt: metav1.NewTime(at),
			}},
		}}
	}
}

// owned gives an object a controlling TrainJob.
func owned(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind, Name: name, UID: uid, Controller: ptr.To(true),
	}}
}

func childOf(apiVersion, kind, name string, uid types.UID, owners []metav1.OwnerReference) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: uid, OwnerReferences: owners},
	}
}

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func quotaOf(hard, used corev1.ResourceList, edits ...func(*corev1.ResourceQuota)) corev1.ResourceQuota {
	quota := corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
	for _, edit := range edits {
		edit(&quota)
	}
	return quota
}
