package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// openSSH is a runtime of upstream's own kind: sshd in the nodes, node first, the launcher after it
// (kubeflow/trainer manifests/base/runtimes/deepspeed_distributed.yaml).
func openSSH(launcherRunsRanks bool) *job.Runtime {
	pod := func(c corev1.Container) corev1.PodTemplateSpec {
		c.Name, c.Image = mpi.Container, "upstream/deepspeed"
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	}
	node := jobset.ReplicatedJob{Name: mpi.NodeJob, Replicas: 1}
	node.Template.Spec.Template = pod(corev1.Container{
		Command: []string{"/usr/sbin/sshd"}, Args: []string{"-De"},
		Resources: corev1.ResourceRequirements{Limits: resources("nvidia.com/gpu", "4")},
	})
	launcher := jobset.ReplicatedJob{Name: mpi.LauncherJob, Replicas: 1, DependsOn: []jobset.DependsOn{{Name: mpi.NodeJob, Status: jobset.DependencyReady}}}
	launcher.Template.Labels = map[string]string{mpi.AncestorLabel: mpi.AncestorTrainer}
	launcher.Template.Spec.Template = pod(corev1.Container{})
	return &job.Runtime{
		Labels: map[string]string{mpi.FrameworkLabel: "deepspeed"},
		Spec: trainer.TrainingRuntimeSpec{
			MLPolicy: &trainer.MLPolicy{NumNodes: ptr.To[int32](1), MLPolicySource: trainer.MLPolicySource{MPI: &trainer.MPIMLPolicySource{
				NumProcPerNode: ptr.To[int32](1), SSHAuthMountPath: ptr.To("/home/mpiuser/.ssh"), RunLauncherAsNode: &launcherRunsRanks,
			}}},
			Template: trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{node, launcher}}},
		},
	}
}

func TestUpstreamsOwnRuntimesRunUnchanged(t *testing.T) {
	ask := asks(trainer.Trainer{
		NumNodes: ptr.To[int32](3), Image: ptr.To("mine:2"), Command: []string{"mpirun", "train"}, Env: []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}},
	})
	job := resolved(t, openSSH(true), ask)
	js := desired.JobSet(job)
	node, launcher := js.Spec.ReplicatedJobs[0], js.Spec.ReplicatedJobs[1]
	if node.Name != mpi.NodeJob || *node.Template.Spec.Parallelism != 2 || len(launcher.DependsOn) != 1 {
		t.Errorf("order, dependencies and exact numbers stay: %s %d %v", node.Name, *node.Template.Spec.Parallelism, launcher.DependsOn)
	}
	serving, running := node.Template.Spec.Template.Spec, launcher.Template.Spec.Template.Spec
	if diff := cmp.Diff([]string{"/usr/sbin/sshd"}, serving.Containers[0].Command); diff != "" {
		t.Errorf("nodes run sshd: %s", diff)
	}
	if diff := cmp.Diff([]string{"mpirun", "train"}, running.Containers[0].Command); diff != "" {
		t.Errorf("no agent is around the user's command: %s", diff)
	}
	if serving.Containers[0].Image != "mine:2" || !cmp.Equal(serving.Containers[0].Env, []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}) {
		t.Errorf("nodes have the image and the environment, which upstream forgets: %+v", serving.Containers[0])
	}
	want := map[string]string{
		"EPOCHS": "3", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
		"OMPI_MCA_orte_set_default_slots": "4", "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
	}
	got := map[string]string{}
	for _, variable := range running.Containers[0].Env {
		got[variable.Name] = variable.Value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the launcher has what upstream's plugin tells Open MPI, one rank per GPU: -want, +got:\n%s", diff)
	}
	modes := map[string]int32{}
	for _, volume := range serving.Volumes {
		for _, item := range volume.Secret.Items {
			modes[item.Path] = *item.Mode
		}
	}
	if diff := cmp.Diff(map[string]int32{"id_rsa": 0o640, "id_rsa.pub": 0o644, "authorized_keys": 0o644}, modes); diff != "" {
		t.Errorf("files have the modes that sshd accepts: -want, +got:\n%s", diff)
	}
	if hostfile := desired.HostfileConfigMap(job).Data["hostfile"]; hostfile != "demo-launcher-0-0.demo slots=4\ndemo-node-0-0.demo slots=4\ndemo-node-0-1.demo slots=4\n" {
		t.Errorf("got hostfile\n%s", hostfile)
	}
}

func TestWithoutAgentNobodyIsAsked(t *testing.T) {
	o := started(trainJobOf())
	o.Runtime = openSSH(false)
	js := desired.JobSet(resolved(t, o.Runtime))
	js.UID = "jobset-uid"
	o.JobSet = js
	o = withPods(o, podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready), podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready))
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	if decision.HostTable != nil {
		t.Error("there is no agent to tell addresses to")
	}
	want := []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}
	if diff := cmp.Diff(want, inShort(statusAfter(phase.DeriveFacts(o), decision, nil).Conditions)); diff != "" {
		t.Errorf("a launcher that runs is all there is to say: -want, +got:\n%s", diff)
	}
}

func TestNoGangWaitsForItself(t *testing.T) {
	runtime := openSSH(false)
	runtime.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{Coscheduling: &trainer.CoschedulingPodGroupPolicySource{}}}
	for _, rj := range desired.JobSet(resolved(t, runtime)).Spec.ReplicatedJobs {
		if len(rj.DependsOn) > 0 {
			t.Errorf("`%s` waits for pods that wait for it", rj.Name)
		}
	}
}

func TestMPIRuntimes(t *testing.T) {
	torch := job.Runtime{Spec: trainer.TrainingRuntimeSpec{MLPolicy: &trainer.MLPolicy{MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}}}}
	for name, tc := range map[string]struct {
		runtime        job.Runtime
		ours, compiled bool
	}{
		"Compiled": {*runtimeOf(false), true, true},
		"OpenSSH":  {*openSSH(false), true, false},
		"Torch":    {torch, false, false},
		"Plain":    {job.Runtime{}, false, false},
	} {
		if tc.runtime.IsMPI() != tc.ours || tc.runtime.IsCompiled() != tc.compiled {
			t.Errorf("%s: ours %v, compiled %v", name, tc.runtime.IsMPI(), tc.runtime.IsCompiled())
		}
	}
}

// TestCrashLoopWithoutAgent: kubelet starts the containers of upstream's own runtimes again, and the job is stuck meanwhile.
func TestCrashLoopWithoutAgent(t *testing.T) {
	ended := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "sshd: no hostkeys available -- exiting.\n"}
	states := map[string]corev1.ContainerStatus{
		"BacksOff": {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
		"Ended":    {State: corev1.ContainerState{Terminated: ended}},
		"RunsNow":  {State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}
	for name, container := range states {
		container.Name, container.RestartCount, container.LastTerminationState.Terminated = mpi.Container, 2, ended
		loops := func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.RestartPolicy, pod.Status.Phase = "m1", corev1.RestartPolicyOnFailure, corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
		}
		for role, pods := range map[string][]corev1.Pod{
			"Worker 0": {podOf(mpi.NodeJob, 0, loops)}, // its launcher waits until it is ready
			"Launcher": {podOf(mpi.LauncherJob, 0, loops), podOf(mpi.NodeJob, 0, ready)},
		} {
			t.Run(name+"/"+role, func(t *testing.T) {
				o := started(trainJobOf())
				o.Runtime = openSSH(false)
				o.JobSet = desired.JobSet(resolved(t, o.Runtime))
				o.JobSet.UID = "jobset-uid"
				o = withPods(o, pods...)
				got := statusOf(t, o, nil)
				if diff := cmp.Diff([]string{"PodsReady=False/CrashLoopBackOff", "Running=False/WaitingForPods", "Created=True/JobSetCreated"}, inShort(got.Conditions)); diff != "" {
					t.Errorf("-want, +got:\n%s", diff)
				}
				said := status.ObstacleCondition(got.Conditions).Message
				for _, want := range []string{role, "again and again", "exited with code 1", "no hostkeys available", "--previous"} {
					if !strings.Contains(said, want) {
						t.Errorf("the message lacks %q: %s", want, said)
					}
				}
			})
		}
	}
}

func TestContainersWithoutAgentKeepTheirLastLines(t *testing.T) {
	runtime := openSSH(false)
	node := &runtime.Spec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	node.InitContainers = []corev1.Container{{Name: "fetch"}}
	node.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageReadFile
	pod := desired.JobSet(resolved(t, runtime)).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	if pod.InitContainers[0].TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Error("nothing says why the init container fails")
	}
	if pod.Containers[0].TerminationMessagePolicy != corev1.TerminationMessageReadFile {
		t.Error("the policy that the runtime sets was overwritten")
	}
}
