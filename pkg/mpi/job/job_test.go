package job_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func TestResolveWorld(t *testing.T) {
	cases := map[string]struct {
		reason  string
		runtime *job.Runtime
		asked   trainer.Trainer
		want    mpi.World
	}{
		"Default": {
			reason:  "the runtime's node template says how many nodes there are, not mlPolicy.numNodes, which is 1",
			runtime: runtimeOf(false),
			want:    mpi.World{Nodes: 2, SlotsPerNode: 2},
		},
		"DefaultWithLauncher": {
			reason:  "a launcher that runs ranks is one of the nodes",
			runtime: runtimeOf(true),
			want:    mpi.World{Nodes: 2, SlotsPerNode: 2, LauncherRunsRanks: true},
		},
		"Asked": {
			reason:  "a TrainJob overrides both",
			runtime: runtimeOf(false),
			asked:   trainer.Trainer{NumNodes: ptr.To[int32](5), NumProcPerNode: ptr.To[int32](8)},
			want:    mpi.World{Nodes: 5, SlotsPerNode: 8},
		},
		"One": {
			reason:  "one node stays one node",
			runtime: runtimeOf(true),
			asked:   trainer.Trainer{NumNodes: ptr.To[int32](1)},
			want:    mpi.World{Nodes: 1, SlotsPerNode: 2, LauncherRunsRanks: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			made, err := job.Resolve(trainJobOf(asks(tc.asked)), *tc.runtime)
			if err != nil {
				t.Fatalf("%s: Resolve(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, made.World); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWidestWorldNeedsNoShorterName(t *testing.T) {
	wide := trainer.Trainer{NumNodes: ptr.To[int32](mpi.MaxNodes)}
	job := resolved(t, runtimeOf(false), asks(wide), func(j *trainer.TrainJob) { j.Name = strings.Repeat("a", 44) })
	if last := mpi.PodHostname(job.Name, mpi.NodeJob, mpi.MaxNodes-1); len(last)+6 > 63 {
		t.Errorf("JobSet refuses the host name `%s`", last)
	}
}

func TestResolveRefuses(t *testing.T) {
	without := func(name string) *job.Runtime {
		runtime := runtimeOf(false)
		jobs := runtime.Spec.Template.Spec.ReplicatedJobs
		for i := range jobs {
			if jobs[i].Name == name {
				jobs[i].Name = "other"
			}
		}
		return runtime
	}
	otherContainer := runtimeOf(false)
	otherContainer.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers[0].Name = "main"
	named := func(name string) func(*trainer.TrainJob) {
		return func(trainJob *trainer.TrainJob) { trainJob.Name = name }
	}
	cases := map[string]struct {
		reason  string
		runtime *job.Runtime
		edit    func(*trainer.TrainJob)
		want    mpi.Reason
		says    string
	}{
		"NoLauncher":   {"an MPI job needs a launcher", without(mpi.LauncherJob), nil, diagnose.InvalidRuntime, "no replicated job `launcher`"},
		"NoNode":       {"an MPI job needs nodes", without(mpi.NodeJob), nil, diagnose.InvalidRuntime, "no replicated job `node`"},
		"NoContainer":  {"the main container has upstream's name", otherContainer, nil, diagnose.InvalidRuntime, "no container `node`"},
		"NoNodes":      {"upstream admits 0 nodes since 2.3, MPI does not", runtimeOf(false), asks(trainer.Trainer{NumNodes: ptr.To[int32](0)}), diagnose.InvalidWorld, "numNodes is 0"},
		"TooManyNodes": {"the controller must not fill its memory with a hostfile", runtimeOf(false), asks(trainer.Trainer{NumNodes: ptr.To[int32](1<<31 - 1)}), diagnose.InvalidWorld, "numNodes is 2147483647, at most 5000 are possible"},
		"NoSlots":      {"a node without slots runs nothing", runtimeOf(false), asks(trainer.Trainer{NumProcPerNode: ptr.To[int32](0)}), diagnose.InvalidWorld, "slots per node is 0"},
		"ReservedEnv":  {"the job would lose its nodes", runtimeOf(false), asks(trainer.Trainer{Env: []corev1.EnvVar{{Name: "PRTE_MCA_plm_ssh_agent", Value: "ssh"}}}), diagnose.ReservedVariable, "`PRTE_MCA_plm_ssh_agent`"},
		"Initializer":  {"nobody here reads it", runtimeOf(false), fetches("gs://bucket/set"), diagnose.InitializerUnsupported, "spec.initializer.dataset.storageUri is `gs://bucket/set`: data comes from s3://"},
		"BadClaim":     {"it would lead out of the claim", runtimeOf(false), fetches("pvc://data/../.."), diagnose.InitializerUnsupported, "want pvc://CLAIM or pvc://CLAIM/FOLDER"},
		"LongArgument": {"no kernel starts it", runtimeOf(false), asks(trainer.Trainer{Command: []string{"sh", "-c", strings.Repeat("y", 128<<10)}}), diagnose.ArgumentTooLong, "spec.trainer.command[2] has 131072 bytes, and Linux takes at most 128 KiB (131071 bytes)"},
		"LongArgs":     {"", runtimeOf(false), asks(trainer.Trainer{Args: []string{strings.Repeat("y", 300_000)}}), diagnose.ArgumentTooLong, "spec.trainer.args[0] has 300000 bytes"},
		"LongVariable": {"its name counts", openSSH(false), asks(trainer.Trainer{Env: []corev1.EnvVar{{Name: "CONFIG", Value: strings.Repeat("y", 128<<10-7)}}}), diagnose.ArgumentTooLong, "the variable `CONFIG` has 131072 bytes"},
		"LongInPatch":  {"", runtimeOf(false), patchOf(podPatch("node", trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "DATA", Value: strings.Repeat("y", 128<<10)}}}}})), diagnose.ArgumentTooLong, "the variable `DATA` has 131077 bytes"},
		"LauncherName": {"`-launcher-0-0-xxxxx` takes 19 of 63 characters", runtimeOf(false), named(strings.Repeat("a", 45)), diagnose.NameTooLong, "at most 44 are allowed"},
		"UnknownReplicatedJob": {
			"a patch for nothing is a mistake", runtimeOf(false), patchOf(trainer.ReplicatedJobPatch{Name: "worker"}), diagnose.InvalidPatch, "no replicated job `worker`",
		},
		"ReservedEnvInPatch": {
			"patches are another way to the same environment", runtimeOf(false),
			patchOf(podPatch("node", trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{Name: "node", Env: []corev1.EnvVar{{Name: "HYDRA_LAUNCHER", Value: "fork"}}}}})),
			diagnose.ReservedVariable, "`HYDRA_LAUNCHER`",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trainJob := trainJobOf()
			if tc.edit != nil {
				tc.edit(trainJob)
			}
			_, err := job.Resolve(trainJob, *tc.runtime)
			var refused *job.Refusal
			if !errors.As(err, &refused) {
				t.Fatalf("%s: want a refusal, got %v", tc.reason, err)
			}
			if refused.Reason != tc.want || !strings.Contains(refused.Message, tc.says) {
				t.Errorf("%s: want %s with `%s`, got %s: %s", tc.reason, tc.want, tc.says, refused.Reason, refused.Message)
			}
		})
	}
}

func TestLongestNameFits(t *testing.T) {
	made, err := job.Resolve(trainJobOf(func(j *trainer.TrainJob) { j.Name = strings.Repeat("a", 44) }), *runtimeOf(false))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(mpi.PodHostname(made.Name, mpi.LauncherJob, 0) + "-abcde"); got != 63 {
		t.Errorf("the longest allowed name should use up all 63 characters of a DNS label, got %d", got)
	}
}

func patchOf(rj trainer.ReplicatedJobPatch) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		trainJob.Spec.RuntimePatches = append(trainJob.Spec.RuntimePatches, trainer.RuntimePatch{
			Manager: "kueue.x-k8s.io/manager",
			TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{
				Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: []trainer.ReplicatedJobPatch{rj}},
			}},
		})
	}
}

func podPatch(name string, spec trainer.PodSpecPatch) trainer.ReplicatedJobPatch {
	return trainer.ReplicatedJobPatch{Name: name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{
		Template: &trainer.PodTemplatePatch{Spec: &spec},
	}}}
}

// TestResolveOfOtherFrameworks: a front end that asks about a runtime without MPI gets an answer.
func TestResolveOfOtherFrameworks(t *testing.T) {
	for name, policy := range map[string]*trainer.MLPolicy{"none": nil, "torch": {MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}}} {
		var refusal *job.Refusal
		if _, err := job.Resolve(&trainer.TrainJob{}, job.Runtime{Spec: trainer.TrainingRuntimeSpec{MLPolicy: policy}}); !errors.As(err, &refusal) || refusal.Reason != diagnose.InvalidRuntime {
			t.Errorf("%s: %v", name, err)
		}
	}
}
