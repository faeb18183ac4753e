package job

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// traceVariables returns the variables of all pods by which the annotation of a TrainJob has its run recorded. Variables that the user sets
// himself win.
func traceVariables(trainJob *trainer.TrainJob, made Job) ([]corev1.EnvVar, *Refusal) {
	text, asked := trainJob.Annotations[mpi.TraceAnnotation]
	if !asked {
		return nil, nil
	}
	traces, err := mpi.ParseTraces(text)
	if err != nil {
		return nil, traceRefusal(err)
	}
	if !made.Runtime.IsCompiled() {
		return nil, traceRefusal(fmt.Errorf("the runtime was not compiled by Lockstep, and its pods have no agent"))
	}
	mine := assignedVariables(trainJob)
	var env []corev1.EnvVar
	for _, trace := range traces {
		variables, err := made.variablesOf(trace)
		if err != nil {
			return nil, traceRefusal(fmt.Errorf("`%s`: %w", trace, err))
		}
		for _, v := range variables {
			if !slices.ContainsFunc(mine, func(e corev1.EnvVar) bool { return e.Name == v.Name }) {
				env = append(env, corev1.EnvVar{Name: v.Name, Value: v.Value})
			}
		}
	}
	return env, nil
}

func traceRefusal(err error) *Refusal {
	return newRefusal(diagnose.InvalidTrace, "the annotation %s: %s", mpi.TraceAnnotation, err)
}

func (j Job) variablesOf(trace mpi.Trace) ([]mpi.Variable, error) {
	pod := j.rankPod()
	switch trace {
	case mpi.TraceTraffic:
		if implementation := j.Runtime.Labels[mpi.ImplementationLabel]; implementation != string(mpi.OpenMPI) {
			return nil, fmt.Errorf("only Open MPI counts what ranks send, and the runtime has %s: leave it out", implementation)
		}
		return mpi.TrafficVariables(valueIn(*MainContainer(pod), mpi.PMLVariable))
	case mpi.TraceHorovod:
		folder := writableClaim(*pod)
		if folder == "" {
			return nil, fmt.Errorf("the job has no volume that outlives its pods, into which the timeline could be written: mount a claim (`kubectl mpi submit --pvc CLAIM:/FOLDER`), or leave it out")
		}
		return mpi.HorovodVariables(path.Join(folder, j.Name+"-horovod-timeline.json")), nil
	case mpi.TraceNCCL:
		return mpi.NCCLVariables(), nil
	case mpi.TraceWaiting:
		return mpi.WaitingVariables(), nil
	}
	return nil, nil
}

// rankPod is the pod of rank 0.
func (j Job) rankPod() *corev1.PodSpec {
	name := mpi.NodeJob
	if j.World.LauncherRunsRanks {
		name = mpi.LauncherJob
	}
	return podOf(j.Template.Spec, name)
}

func podOf(spec jobset.JobSetSpec, name string) *corev1.PodSpec {
	return &ReplicatedJob(spec, name).Template.Spec.Template.Spec
}

func valueIn(container corev1.Container, variable string) string {
	for _, v := range container.Env {
		if v.Name == variable {
			return v.Value
		}
	}
	return ""
}

// writableClaim is the folder of the first claim in the main container into which it may write, empty for none.
func writableClaim(pod corev1.PodSpec) string {
	for _, mount := range MainContainer(&pod).VolumeMounts {
		if !mount.ReadOnly && slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == mount.Name && v.PersistentVolumeClaim != nil && !v.PersistentVolumeClaim.ReadOnly
		}) {
			return mount.MountPath
		}
	}
	return ""
}
