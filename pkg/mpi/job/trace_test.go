package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func traced(words string) func(*trainer.TrainJob) {
	return func(j *trainer.TrainJob) { j.Annotations = map[string]string{mpi.TraceAnnotation: words} }
}

// withClaims are claims in all pods, mounted in this order.
func withClaims(mounts ...corev1.VolumeMount) func(*trainer.TrainJob) {
	var volumes []corev1.Volume
	for _, m := range mounts {
		volumes = append(volumes, corev1.Volume{Name: m.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Name}}})
	}
	pod := trainer.PodSpecPatch{Volumes: volumes, Containers: []trainer.ContainerPatch{{Name: "node", VolumeMounts: mounts}}}
	return func(j *trainer.TrainJob) {
		patchOf(podPatch(mpi.LauncherJob, pod))(j)
		patchOf(podPatch(mpi.NodeJob, pod))(j)
	}
}

// environmentsOf are the variables of the pods of a job, by the names of their replicated jobs.
func environmentsOf(made job.Job) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, rj := range desired.JobSet(made).Spec.ReplicatedJobs {
		all[rj.Name] = map[string]string{}
		for _, v := range job.MainContainer(&rj.Template.Spec.Template.Spec).Env {
			all[rj.Name][v.Name] = v.Value
		}
	}
	return all
}

// What a job does not ask for costs it nothing: its pods are the same to a byte.
func TestAJobThatAsksForNothingIsNotTraced(t *testing.T) {
	made := resolved(t, runtimeOf(false))
	if made.Trace != nil || made.TraceRefused != nil {
		t.Errorf("%v, %v", made.Trace, made.TraceRefused)
	}
	asked := resolved(t, runtimeOf(false), traced("traffic"))
	asked.Trace = nil
	if diff := cmp.Diff(desired.JobSet(made), desired.JobSet(asked)); diff != "" {
		t.Errorf("more than variables changes: %s", diff)
	}
}

func TestTraceReachesLauncherAndNodes(t *testing.T) {
	job := resolved(t, runtimeOf(true), traced("traffic,horovod,nccl"), withClaims(corev1.VolumeMount{Name: "models", MountPath: "/models", ReadOnly: true}, corev1.VolumeMount{Name: "work", MountPath: "/work"}))
	if job.TraceRefused != nil {
		t.Fatal(job.TraceRefused)
	}
	for pod, env := range environmentsOf(job) {
		for name, want := range map[string]string{
			"OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3", "OMPI_MCA_pml_monitoring_filename": "/run/lockstep/traffic",
			"HOROVOD_TIMELINE": "/work/demo-horovod-timeline.json", "NCCL_DEBUG": "INFO",
		} {
			if env[name] != want {
				t.Errorf("%s: %s is %q, not %q", pod, name, env[name], want)
			}
		}
	}
}

// Every MPI is counted, and no adapter is in the way: the library knows nothing of either.
func TestWaitingIsForEveryMPI(t *testing.T) {
	mpich := runtimeOf(true)
	mpich.Labels[mpi.ImplementationLabel] = string(mpi.MPICH)
	made := resolved(t, mpich, traced("waiting"))
	if made.TraceRefused != nil {
		t.Fatal(made.TraceRefused)
	}
	for pod, env := range environmentsOf(made) {
		if env["LOCKSTEP_WAITING"] != "/run/lockstep/waiting" {
			t.Errorf("%s: %v", pod, env)
		}
	}
}

// A list of layers is the runtime's, and one of the user's own stays as it is.
func TestTraceChangesNothingThatTheUserSets(t *testing.T) {
	runtime := runtimeOf(false)
	for i := range runtime.Spec.Template.Spec.ReplicatedJobs {
		container := job.MainContainer(&runtime.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec)
		container.Env = append(container.Env, corev1.EnvVar{Name: mpi.PMLVariable, Value: "ob1"}, corev1.EnvVar{Name: "NCCL_DEBUG", Value: "WARN"})
	}
	env := environmentsOf(resolved(t, runtime, traced("traffic,nccl")))["node"]
	if env[mpi.PMLVariable] != "ob1,monitoring" || env["NCCL_DEBUG"] != "INFO" {
		t.Errorf("%v", env)
	}
	mine := trainer.Trainer{Env: []corev1.EnvVar{{Name: mpi.PMLVariable, Value: "ob1"}, {Name: mpi.TrafficVariable, Value: "/work/all"}}}
	patch := podPatch("node", trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "NCCL_DEBUG", Value: "TRACE"}}}}})
	env = environmentsOf(resolved(t, runtime, traced("traffic,nccl"), asks(mine), patchOf(patch)))["node"]
	if env[mpi.PMLVariable] != "ob1" || env[mpi.TrafficVariable] != "/work/all" || env["NCCL_DEBUG"] != "TRACE" {
		t.Errorf("%v", env)
	}
}

func TestTraceRefused(t *testing.T) {
	mpich, adapters := runtimeOf(false), runtimeOf(false)
	mpich.Labels[mpi.ImplementationLabel] = string(mpi.MPICH)
	node := job.MainContainer(&job.ReplicatedJob(adapters.Spec.Template.Spec, mpi.NodeJob).Template.Spec.Template.Spec)
	node.Env = append(node.Env, corev1.EnvVar{Name: mpi.PMLVariable, Value: "ucx"})
	for name, tc := range map[string]struct {
		runtime *job.Runtime
		edits   []func(*trainer.TrainJob)
		says    string
	}{
		"Unknown":     {runtimeOf(false), []func(*trainer.TrainJob){traced("everything")}, "the annotation lockstep.dev/trace: `everything` cannot be traced: allowed are `traffic`, `waiting`, `horovod` and `nccl`"},
		"MPICH":       {mpich, []func(*trainer.TrainJob){traced("nccl,traffic")}, "`traffic`: only Open MPI counts what ranks send, and the runtime has MPICH"},
		"Adapters":    {adapters, []func(*trainer.TrainJob){traced("traffic")}, "messages go by `ucx` there"},
		"NoClaim":     {runtimeOf(false), []func(*trainer.TrainJob){traced("horovod")}, "--pvc CLAIM:/FOLDER"},
		"ClaimToRead": {runtimeOf(false), []func(*trainer.TrainJob){traced("horovod"), withClaims(corev1.VolumeMount{Name: "models", MountPath: "/models", ReadOnly: true})}, "--pvc CLAIM:/FOLDER"},
		"Upstream":    {openSSH(false), []func(*trainer.TrainJob){traced("nccl")}, "was not compiled by Lockstep"},
	} {
		t.Run(name, func(t *testing.T) {
			made := resolved(t, tc.runtime, tc.edits...)
			if made.TraceRefused == nil || made.TraceRefused.Reason != diagnose.InvalidTrace || !strings.Contains(made.TraceRefused.Message, tc.says) || made.Trace != nil {
				t.Errorf("%v, and it gets %v", made.TraceRefused, made.Trace)
			}
		})
	}
}

// Nobody should wait for a job to learn of a misspelt word.
func TestAJobWithAMistakeInItsTraceFailsBeforeItsPods(t *testing.T) {
	fresh := started(trainJobOf(traced("all")))
	fresh.JobSet = nil
	running := started(trainJobOf(traced("all"))) // edited too late to count
	for want, o := range map[mpi.Reason]observe.Observed{diagnose.InvalidTrace: fresh, "": running} {
		got, err := decide.Decide(phase.DeriveFacts(o), nil)
		if err != nil || len(got.Create) > 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if reason, _ := finishes(got); reason != want {
			t.Errorf("it ends with %q, not %q", reason, want)
		}
	}
}

// Kubeflow Trainer knows nothing of the annotation: its pods keep the agent and all that is ours.
func TestTrainersPodsAreTracedToo(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container}}}}
	pod.Labels = map[string]string{mpi.ReplicatedJobLabel: mpi.NodeJob}
	for words, want := range map[string]string{"nccl": "INFO", "all": ""} {
		changed := desired.PropagateToPod(pod, trainJobOf(traced(words), asks(trainer.Trainer{Image: ptr.To("i")})), *runtimeOf(false))
		if changed == nil || changed.Spec.Containers[0].Image != "i" {
			t.Fatalf("%s: %v", words, changed)
		}
		got := ""
		for _, v := range changed.Spec.Containers[0].Env {
			if v.Name == "NCCL_DEBUG" {
				got = v.Value
			}
		}
		if got != want {
			t.Errorf("%s: NCCL_DEBUG is %q", words, got)
		}
	}
}
