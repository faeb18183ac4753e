package e2e

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// Horovod and DeepSpeed are replaced by stand-ins, which do to ssh, hostfile and environment what they do (test/images/launchers/README.md): the real
// ones are large, and run in test/frameworks. Pods, agents and network are real.
var _ = Describe("Launchers of other kinds", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		addRuntimes(ctx,
			standIns("horovod", "Horovod", "MPICH", "4.2.1"),
			standIns("deepspeed", "DeepSpeed", "MPICH", "4.2.1"))
	})

	It("start all ranks on all nodes, with the environment of the TrainJob", func(ctx SpecContext) {
		for _, result := range together(ctx, otherLaunchers("in time")...) {
			Expect(result.Condition).To(Equal("Complete"), "%s\n%s", result.Message, result.log)
			for rank := range 4 {
				words := fmt.Sprintf("in time: rank %d of 4, EPOCHS=3, on %s-node-0-%d", rank, result.Job.Name, rank/2)
				Expect(result.log).To(ContainSubstring(words+"\n"), result.Job.Name)
			}
		}
	})

	It("fail with the rank that failed", func(ctx SpecContext) {
		for _, result := range together(ctx, otherLaunchers("in time", "2")...) {
			Expect(result.Condition).To(Equal("Failed"), result.log)
			Expect(result.Reason).To(Equal("RankFailed"), result.Message)
			Expect(result.Message).To(And(ContainSubstring("rank 2"), ContainSubstring("code 3")))
		}
	})
})

// otherLaunchers are a job for each of them.
func otherLaunchers(arguments ...string) []testjob.Job {
	train := append([]string{"train"}, arguments...)
	return []testjob.Job{
		own("horovod", append([]string{"horovodrun", "-np", "4", "--hostfile", mpi.HostfilePath}, train...)...),
		own("deepspeed", append([]string{"deepspeed", "--hostfile", mpi.HostfilePath}, train...)...),
	}
}

// Upstream's own runtime has OpenSSH in place of the agent: what our controller gives it is all there is.
var _ = Describe("Upstream's runtime of OpenSSH, unchanged, under our controller", Ordered, ofReleases, func() {
	const unchanged, once = "upstream-openssh", "upstream-openssh-once"

	BeforeAll(func(ctx SpecContext) {
		Expect(cluster.AddUpstreamRuntime(ctx, unchanged, func(*trainer.TrainingRuntimeSpec) {})).To(Succeed())
		// As it is, the container of the launcher starts again six times, for ten minutes.
		Expect(cluster.AddUpstreamRuntime(ctx, once, func(spec *trainer.TrainingRuntimeSpec) {
			for i := range spec.Template.Spec.ReplicatedJobs {
				spec.Template.Spec.ReplicatedJobs[i].Template.Spec.BackoffLimit = ptr.To[int32](0)
			}
		})).To(Succeed())
		for _, name := range []string{unchanged, once} {
			DeferCleanup(func(ctx SpecContext) {
				Expect(admin.Client.Delete(ctx, &trainer.ClusterTrainingRuntime{ObjectMeta: owned(name, "")})).To(Succeed())
			})
			expectUsable(ctx, name)
		}
	})

	It("runs all ranks on all nodes, and tells of a rank that failed", func(ctx SpecContext) {
		// There is no gate: before all nodes answer, and have names, mpirun fails, and a restart would do what this waits for. The launcher has no sshd.
		reached := `for host in $(cut -d " " -f 1 ` + mpi.HostfilePath + `); do while (: </dev/tcp/$host/2222) 2>&1 | grep -qi "not known\|resolution"; do sleep 0.2; done; done
			for host in $(cut -d " " -f 1 ` + mpi.HostfilePath + ` | grep -v "^$HOSTNAME"); do until (: </dev/tcp/$host/2222) 2>/dev/null; do sleep 0.2; done; done; exec "$@"`
		good := own(unchanged, "bash", "-c", reached, "mpirun", "mpirun", "mpi-hello")
		bad := own(once, append(good.Command, "--exit-rank", "3", "--exit-code", "3")...)
		good.Name, bad.Name = "openssh", "openssh-fails"
		results := together(ctx, good, bad)
		Expect(results[0].Check(len(results[0].Machines))).To(Succeed(), results[0].log)
		Expect(results[0].Hosts()).To(Equal([]string{"openssh-launcher-0-0", "openssh-node-0-0"}))
		Expect(results[0].Timings.Count).To(Equal(2), "the launcher is a node")
		// No more than that: what the agent would say is not there (docs/limits.md).
		Expect(results[1].Reason).To(Equal("LauncherFailed"))
		Expect(results[1].Message).To(ContainSubstring("exited with code 3"))
		Expect(results[1].Ranks).To(ContainElement(HaveField("Rank", 3)), "mpirun may end the others before their lines: %s", results[1].log)
		Expect(results[1].lines("Exit code:")).To(ConsistOf(HaveSuffix("3")), results[1].log)
	})
})

// Beside a companion, Kubeflow Trainer 2.4 writes these into the launcher, whatever the runtime has.
var _ = Describe("The variables of Kubeflow Trainer 2.4 for Open MPI 5", Ordered, ofReleases, func() {
	const later = "openmpi5-trainer-later"

	It("leave all ranks on all nodes", func(ctx SpecContext) {
		Expect(cluster.CopyRuntime(ctx, "openmpi5-cpu", later, func(r *trainer.ClusterTrainingRuntime) {
			container := &podOf(&r.Spec, mpi.LauncherJob).Containers[0]
			for name, value := range map[string]string{
				"PRTE_MCA_prte_default_hostfile": mpi.HostfilePath, "PRTE_MCA_prte_keep_fqdn_hostnames": "false",
				"PRTE_MCA_prte_set_default_slots": "2", "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
			} {
				container.Env = slices.DeleteFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == name })
				container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
			}
		})).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(admin.Client.Delete(ctx, &trainer.ClusterTrainingRuntime{ObjectMeta: owned(later, "")})).To(Succeed())
		})
		expectUsable(ctx, later)
		result := together(ctx, own(later, "mpirun", "-n", "4", "mpi-hello"))[0]
		Expect(result.Check(machines)).To(Succeed(), result.log)
	})
})

// The program on the nodes sees what the TrainJob says.
var _ = Describe("What a TrainJob says of its trainer", func() {
	It("reaches the ranks on every node", func(ctx SpecContext) {
		command := []string{"mpirun", "-n", "4", "bash", "-c", `[ ! -x /usr/sbin/sshd ] || image=other; echo "epochs=$EPOCHS image=$image on $HOSTNAME"; exec mpi-hello`}
		jobs := ofCatalog("told-", command...)
		for i := range jobs {
			jobs[i].Env = []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}
		}
		image := job("told-image", "openmpi4-cpu", command...)
		image.Image = platform.StockImage
		for _, result := range together(ctx, append(jobs, image)...) {
			words := "epochs=3 image= on "
			if result.Job.Image != "" {
				words = "epochs= image=other on "
			}
			Expect(result.Check(machines)).To(Succeed(), result.log)
			hosts := result.Hosts()
			Expect(result.lines(words)).To(ConsistOf(hosts[0], hosts[0], hosts[1], hosts[1]), result.log)
		}
	})
})

// own is a job of a runtime of ours alone.
func own(runtime string, command ...string) testjob.Job {
	j := job("own-"+runtime, runtime, command...)
	j.Namespace = ownNamespace
	j.Env = []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}
	return j
}

// standIns is the spec of a runtime with the image of stand-ins.
func standIns(name, framework, implementation, version string) string {
	return fmt.Sprintf(`apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: %s}
spec:
  framework: %s
  mpi: {implementation: %s, version: %q}
  image: lockstep.test/mpi/stand-ins:dev
  profile: cpu-ethernet
  nodes: {default: 2, max: 8}
  slotsPerNode: 2
  resourcesPerNode: {cpu: 100m, memory: 256Mi}
  launcher: {cpu: 100m, memory: 128Mi}
`, name, framework, implementation, version)
}
