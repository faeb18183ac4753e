package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// Kubeflow Trainer's own manager runs the jobs, and the bundle is compiled for it. A command of the user's own replaces the one
// that the runtime starts, so that the gate of the launcher has to do what is done before it.
var _ = Describe("Under stock Kubeflow Trainer, a compiled runtime", Ordered, ContinueOnFailure, Serial, func() {
	words := []string{"mpirun", "-n", "4", "mpi-hello"}

	BeforeAll(useCompanion)

	// The namespace of a tenant: what no policy of a job allows is denied, and stock Trainer makes none.
	Context("with our controller beside it", func() {
		It("runs all ranks on two machines, under the agent, with image and environment of the TrainJob, and gives its key back", func(ctx SpecContext) {
			jobs := ofCatalog("beside-", words...)
			for i := range jobs {
				jobs[i].Env = []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}
			}
			jobs[0].Image = platform.StockImage
			runUnderStock(ctx, jobs...)
			for _, j := range jobs {
				for _, pod := range podsOf(ctx, j.TrainJob()) {
					container := pod.Spec.Containers[0]
					Expect(container.Env).To(ContainElement(j.Env[0]), pod.Name)
					if j.Image != "" {
						Expect(container.Image).To(Equal(j.Image), pod.Name)
					}
					if pod.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob {
						Expect(container.Command).To(Equal(append([]string{mpi.AgentBin, "run", "--"}, words...)))
					}
				}
				expectGuarded(ctx, j)
			}
		})

		It("is read right by Kubeflow's SDK, unmodified", ofReleases, func(ctx SpecContext) {
			seen := travel(ctx, runtimes...)
			for _, runtime := range runtimes {
				Expect(seen.Runtimes[runtime]).To(Equal([]any{float64(1), "cpu", "2"}), "Trainer reads numNodes as the number of launchers: %s", runtime)
			}
			expectRightJourney(seen, runtimes...)
		})

		It("trains what the README of the Python package does", ofReleases, func(ctx SpecContext) {
			expectTrained(packaged(ctx))
		})

		It("shows how far a program is, where Trainer does not", expectLiveProgress)

		It("lets a function report its progress into the status, where Trainer serves that and may be reached", func(ctx SpecContext) {
			onlyWhenMeasured()
			serveStatus(ctx)
			expectProgress(tellProgress(ctx))
		})

		It("leaves the jobs of other frameworks to Trainer, in the bounds of their tenant", func(ctx SpecContext) {
			Expect(cluster.AddTorchRuntime(ctx, hardened)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(admin.Client.Delete(ctx, &trainer.ClusterTrainingRuntime{ObjectMeta: owned(platform.TorchRuntime, "")})).To(Succeed())
			})
			j := job("meets", platform.TorchRuntime, "python", "-c", meeting)
			j.Image, j.Slots = "lockstep.test/mpi/openmpi:5", 1
			removeAfterwards(ctx, j)
			// Trainer's webhook answers from a cache, which may not have the runtime yet.
			Eventually(func() error { return editor.Client.Create(ctx, j.TrainJob()) }).Should(Succeed())
			Eventually(completes(ctx, editor, j.TrainJob())).Should(BeTrue())
			Expect(podsOf(ctx, j.TrainJob())).To(HaveLen(2))
			object := &trainer.TrainJob{}
			Expect(editor.Client.Get(ctx, keyOf(j.TrainJob()), object)).To(Succeed())
			Expect(object.Labels).NotTo(HaveKey(mpi.TrainJobLabel), "it is not ours")
			Expect(otherEditor.Client.Create(ctx, inOther(j).TrainJob(), client.DryRunAll)).To(MatchError(ContainSubstring(platform.TorchRuntime)), "another tenant may not use the runtime")
			runInBrowser(ctx, "LOCKSTEP_PAGE_STOCK="+j.Name)
		})

		It("answers no review but the API server's", expectSecretPath)

		It("tells the life of a job in events, each step once and in order, and in metrics", func(ctx SpecContext) {
			meter := cluster.OurMeter()
			before, err := meter.Read(ctx)
			Expect(err).NotTo(HaveOccurred())
			runUnderStock(ctx, job("told-beside", "openmpi5-cpu", append(words, "--sleep", "2")...))
			Eventually(told(ctx, "told-beside")).Should(Equal(life[1:]), "what is submitted is Trainer's to tell")
			for _, phase := range []string{"gang_wait", "image_pull", "gate", "connect", "mpi_launch", "time_to_start", "running"} {
				Eventually(observed(ctx, meter, phase)).Should(BeNumerically(">", before.Count("mpi_trainjob_phase_seconds", "phase", phase)), phase)
			}
			after, err := meter.Read(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(after.Sum("mpi_trainjob_ended_total", "outcome", "Complete")).To(Equal(before.Sum("mpi_trainjob_ended_total", "outcome", "Complete") + 1))
		})

		It("says which rank failed, and how, beside the words of Trainer", func(ctx SpecContext) {
			failBeside(ctx, job("fails-beside", "openmpi4-cpu", append(words, "--exit-rank", "3", "--exit-code", "3")...), diagnose.RankFailed, "rank 3", "code 3")
		})

		It("says that a rank took more memory than its node has", func(ctx SpecContext) {
			j := limited("oom-beside", "openmpi5-cpu", "mpirun", "-n", "4", "bash", "-c", `[ "$OMPI_COMM_WORLD_RANK" = 3 ] && exec tail /dev/zero; exec mpi-hello --sleep 60`)
			failBeside(ctx, j, diagnose.OOMKilled, mpi.NodeJob+"-0-0")
		})

		It("says that somebody deleted a pod of a job", func(ctx SpecContext) {
			j := job("lost-beside", "openmpi5-cpu", append(words, "--sleep", "600")...)
			object := start(ctx, editor, j)
			Eventually(ranks(ctx, object)).Should(Equal(4), "a launch that fails would be a cause of its own")
			pods := podsOf(ctx, object)
			node := pods[slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[mpi.ReplicatedJobLabel] == mpi.NodeJob })]
			Expect(admin.Client.Delete(ctx, &node)).To(Succeed())
			diagnosed(ctx, j, diagnose.PodDeleted, node.Name)
		})

		It("says that an image cannot be pulled", func(ctx SpecContext) {
			j := job("pull-beside", "mpich-cpu", words...)
			j.Image = "lockstep.test/mpi/none:1"
			submitBeside(ctx, j)
			Eventually(conditionNamed(ctx, j, mpijob.PodsReady)).Should(because(diagnose.ImagePull, j.Image))
		})

		It("says that a job never fits the quota of its namespace", func(ctx SpecContext) {
			quota := &corev1.ResourceQuota{ObjectMeta: owned("never", tenant), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
			Expect(admin.Client.Create(ctx, quota)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, quota)).To(Succeed()) })
			j := job("never-beside", "mpich-cpu", words...)
			submitBeside(ctx, j)
			Eventually(conditionNamed(ctx, j, mpijob.PodsReady)).Should(because(diagnose.QuotaExceeded, "Insufficient pods: requested 2"))
			Eventually(told(ctx, j.Name)).Should(ContainElement(string(diagnose.QuotaExceeded)))
		})

		It("says that Trainer uses a key, and that a policy stands, which are somebody else's", func(ctx SpecContext) {
			j := job("squatted-beside", "mpich-cpu", words...)
			removeAfterwards(ctx, j) // and before that what is not the job's
			key := &corev1.Secret{ObjectMeta: owned(mpi.SSHAuthSecretName(j.Name), tenant), StringData: map[string]string{mpi.PrivateKeyKey: "known to me"}}
			policy := &networkingv1.NetworkPolicy{ObjectMeta: owned(mpi.NetworkPolicyName(j.Name), tenant)}
			for _, object := range []client.Object{key, policy} {
				Expect(admin.Client.Create(ctx, object)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, object)).To(Succeed()) })
			}
			Expect(editor.Client.Create(ctx, j.TrainJob())).To(Succeed())
			Eventually(conditionNamed(ctx, j, mpijob.Guarded)).Should(because(diagnose.NameTaken, key.Name, "NetworkPolicy `"+policy.Name+"`"))
			Eventually(told(ctx, j.Name)).Should(ContainElement(string(diagnose.NameTaken)))
			Eventually(exists(ctx, &jobset.JobSet{}, tenant, j.Name)).Should(BeTrue(), "Trainer runs it all the same")
			Expect(admin.Client.Get(ctx, keyOf(key), key)).To(Succeed())
			Expect(key.OwnerReferences).To(BeEmpty(), "with a key that is not its own")
		})

		It("keeps an executor from the jobs that Trainer runs", func(ctx SpecContext) {
			// With the roles of the one the other may ask for what it has no right to: that is not a part of its stretch.
			asCompanion.cut(ctx)
			undo, err := cluster.ApplyExecutor(ctx)
			DeferCleanup(func(ctx SpecContext) {
				Expect(undo(ctx)).To(Succeed())
				asCompanion.resume(ctx)
			})
			Expect(err).NotTo(HaveOccurred())
			var executor corev1.Pod
			Eventually(func() (note string, err error) {
				executor, note, err = refusedController(ctx)
				return note, err
			}).Should(And(ContainSubstring("kubeflow-trainer-controller-manager"), ContainSubstring("--mode companion")))
			Expect(executor.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionFalse))))

			j := job("unfought", "mpich-cpu", words...)
			runUnderStock(ctx, j)
			js := &jobset.JobSet{ObjectMeta: owned(j.Name, tenant)}
			Expect(admin.Client.Get(ctx, keyOf(js), js)).To(Succeed())
			Expect(js.Labels).NotTo(HaveKey(mpi.TrainJobLabel), "the JobSet is Trainer's")
		})
	})

	// In a namespace that no tenant owns, because nobody makes policies.
	Context("without our controller", func() {
		BeforeAll(func(ctx SpecContext) {
			Expect(cluster.StopController(ctx)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.StartCompanion(ctx)).To(Succeed()) })
		})

		It("runs all ranks on two machines, as a command of the user's own or as arguments of the agent", func(ctx SpecContext) {
			jobs := ofCatalog("alone-", words...)
			for i := range jobs {
				jobs[i].Namespace = stockNamespace
			}
			last := &jobs[len(jobs)-1]
			last.Command, last.Args = nil, words
			runUnderStock(ctx, jobs...)
		})
	})
})

const stockNamespace = "lockstep-stock"

// runUnderStock runs jobs at the same time, and finds all ranks on all machines.
func runUnderStock(ctx SpecContext, jobs ...testjob.Job) {
	GinkgoHelper()
	for _, result := range together(ctx, jobs...) {
		Expect(result.Check(machines)).To(Succeed(), "%s: log of the launcher:\n%s", result.Job.Name, result.log)
		AddReportEntry("first rank of "+result.Job.Name, result.FirstRank.Round(10*time.Millisecond))
	}
}

// submitBeside creates a job that does not come to its end.
// meeting is a program of two nodes that find each other by the variables that Trainer gives programs of PyTorch.
const meeting = `
import os, socket, time
port = int(os.environ["PET_MASTER_PORT"])
if os.environ["PET_NODE_RANK"] == "0":
    server = socket.create_server(("", port)); server.settimeout(60); server.accept()
else:
    for _ in range(300):
        try:
            socket.create_connection((os.environ["PET_MASTER_ADDR"], port), 5); break
        except OSError:
            time.sleep(0.2)
    else:
        raise SystemExit("nobody there")
print("met")
`

// hardened is what the Pod Security Standard `restricted` asks for, which upstream's runtimes leave to others.
func hardened(spec *trainer.TrainingRuntimeSpec) {
	for i := range spec.Template.Spec.ReplicatedJobs {
		pod := &spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		pod.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		for k := range pod.Containers {
			pod.Containers[k].SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
		}
	}
}

func submitBeside(ctx SpecContext, j testjob.Job) {
	GinkgoHelper()
	removeAfterwards(ctx, j)
	Expect(editor.Client.Create(ctx, j.TrainJob())).To(Succeed())
}

// expectGuarded expects of a job that has ended that it had a network policy of its own and has given its key back, and that what Trainer made
// of it is as Trainer made it.
func expectGuarded(ctx SpecContext, j testjob.Job) {
	GinkgoHelper()
	Eventually(exists(ctx, &corev1.Secret{}, tenant, mpi.SSHAuthSecretName(j.Name))).Should(BeFalse())
	policies := &networkingv1.NetworkPolicyList{}
	Expect(admin.Client.List(ctx, policies, client.InNamespace(tenant), client.MatchingLabels{mpi.TrainJobLabel: j.Name})).To(Succeed())
	Expect(policies.Items).To(HaveLen(1))
	for _, object := range []client.Object{&jobset.JobSet{ObjectMeta: owned(j.Name, tenant)}, &corev1.ConfigMap{ObjectMeta: owned(mpi.HostfileConfigMapName(j.Name), tenant)}} {
		Expect(admin.Client.Get(ctx, keyOf(object), object)).To(Succeed())
		Expect(object.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", mpi.ControllerName)), object.GetName())
	}
}

// failBeside runs a job that fails, and finds the cause beside the words of Trainer, which stay.
func failBeside(ctx SpecContext, j testjob.Job, reason mpi.Reason, says ...string) {
	GinkgoHelper()
	result := run(ctx, j)
	Expect(result.Condition).To(Equal(trainer.TrainJobFailed))
	diagnosed(ctx, j, reason, says...)
	Eventually(conditionNamed(ctx, j, trainer.TrainJobFailed)).Should(HaveField("Message", result.Message))
}

func diagnosed(ctx SpecContext, j testjob.Job, reason mpi.Reason, says ...string) {
	GinkgoHelper()
	Eventually(conditionNamed(ctx, j, mpijob.Diagnosed)).Should(because(reason, says...))
}

// because matches a condition by its reason and parts of its message.
func because(reason mpi.Reason, says ...string) OmegaMatcher {
	matchers := []OmegaMatcher{Not(BeNil()), HaveField("Reason", string(reason))}
	for _, part := range says {
		matchers = append(matchers, HaveField("Message", ContainSubstring(part)))
	}
	return And(matchers...)
}

func conditionNamed(ctx context.Context, j testjob.Job, name string) func() *metav1.Condition {
	return func() *metav1.Condition { return conditionOf(ctx, j, name) }
}

// refusedController returns a controller's pod that says of itself why it does nothing, and what it says.
func refusedController(ctx context.Context) (pod corev1.Pod, note string, err error) {
	list := &corev1.EventList{}
	if err := admin.Client.List(ctx, list, client.InNamespace(platform.Namespace), client.MatchingFields{"reason": "ForeignController"}); err != nil {
		return pod, "", err
	}
	for _, event := range list.Items {
		err := admin.Client.Get(ctx, client.ObjectKey{Namespace: platform.Namespace, Name: event.InvolvedObject.Name}, &pod)
		if err == nil || !apierrors.IsNotFound(err) {
			return pod, event.Message, err
		}
	}
	return pod, "", nil
}

// conditionOf returns a condition of a TrainJob, or nil.
func conditionOf(ctx context.Context, j testjob.Job, name string) *metav1.Condition {
	current := &trainer.TrainJob{}
	if err := admin.Client.Get(ctx, keyOf(j.TrainJob()), current); err != nil {
		return nil
	}
	return meta.FindStatusCondition(status.AllConditions(current), name)
}
