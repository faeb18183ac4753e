package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

var _ = Describe("The life of a job", Ordered, ContinueOnFailure, func() {
	var namespace string
	var from int

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		installGangKinds()
		installKinds([]*apiextensions.CustomResourceDefinition{
			standIn("kueue.x-k8s.io", "v1beta2", "Workload"), standIn("visibility.kueue.x-k8s.io", "v1beta2", "LocalQueue"),
		})
		forgetLease(ctx)
		from = len(auditEntries())
		runController(reconciler.Options{LeaderElection: true, Identity: "life-0"})
	})

	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	It("refuses at once what never fits the quota, with numbers", func(ctx SpecContext) {
		quotaIn(ctx, namespace, corev1.ResourceList{"pods": resource.MustParse("2")}, nil)
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "large")))
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring("Insufficient pods: requested 3, quota `tenant` allows 2 in all"))
		Expect(versions(ctx, trainJob)).To(HaveLen(1), "nothing is made for it")
	})

	It("waits for quota without any pod, and starts when there is some", func(ctx SpecContext) {
		hard := corev1.ResourceList{"requests.cpu": resource.MustParse("3")}
		quota := quotaIn(ctx, namespace, hard, corev1.ResourceList{"requests.cpu": resource.MustParse("2")})
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "patient")))
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(message(trainJob, job.PodsReady)).To(ContainSubstring("Insufficient cpu: requested 2100m, available 1 of 3 in quota `tenant`"))
		Expect(versions(ctx, trainJob)).To(HaveLen(1))
		before := versions(ctx, trainJob)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(Equal(before))
		quota.Status.Used = nil
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKeyFromObject(trainJob), &jobset.JobSet{})
		}).WithTimeout(3*time.Second).Should(Succeed(), "the quota is watched: it is polled every 5 s at most")
	})

	It("says that a runtime does not exist, and nothing of one that has just come", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "lost")
		trainJob.Spec.RuntimeRef = trainer.RuntimeRef{Name: "nowhere", Kind: ptr.To(trainer.TrainingRuntimeKind)}
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.RuntimeNotFound)))
		for range 20 {
			runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
				r.Spec.MLPolicy.MPI, r.Spec.MLPolicy.Torch = nil, &trainer.TorchMLPolicySource{}
			})
			other := trainJobNamed(namespace, runtime.Name)
			other.Spec.RuntimeRef.Name = runtime.Name
			create(ctx, other)
		}
		Consistently(func(g Gomega) {
			var list trainer.TrainJobList
			g.Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			for _, other := range list.Items {
				if other.Name != "lost" {
					g.Expect(other.Status.Conditions).To(BeEmpty(), "TrainJobs of other runtimes are never touched")
				}
			}
		}).WithTimeout(silence).Should(Succeed())
	})

	It("refuses what a LimitRange does not allow", func(ctx SpecContext) {
		Expect(admin.Create(ctx, &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
			}}},
		})).To(Succeed())
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "fat")))
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.LimitRangeViolated)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring("container `node` of `node` requests 1 cpu, and its limit is 500m"))
	})

	It("waits for what the pods name", func(ctx SpecContext) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
			for i := range r.Spec.Template.Spec.ReplicatedJobs {
				pod := &r.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
				pod.ServiceAccountName = "mpi"
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}})
			}
		})
		trainJob := trainJobNamed(namespace, "needs")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.VolumeClaimMissing)))
		Expect(message(trainJob, job.PodsReady)).To(ContainSubstring("PersistentVolumeClaim `data`, ServiceAccount `mpi`"))
		Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mpi"}})).To(Succeed())
		Expect(admin.Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		})).To(Succeed())
		jobSetOf(ctx, trainJob)
	})

	It("fetches its data before it asks for machines", func(ctx SpecContext) { fetchesData(ctx, namespace) })

	It("ends a job whose pods are invalid at once, with its key", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "invalid")))
		js := jobSetOf(ctx, trainJob)
		Expect(admin.Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "invalid.1", Namespace: namespace},
			InvolvedObject: corev1.ObjectReference{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Namespace: namespace, Name: js.Name, UID: js.UID},
			Type:           corev1.EventTypeWarning, Reason: "JobCreationFailed", Message: `Pod "invalid-node-0-0-x7x2p" is invalid: spec.containers[0].env[3].name: Invalid value: "A=B"`,
		})).To(Succeed())
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.PodInvalid)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring(`Invalid value: "A=B"`))
		Expect(versions(ctx, trainJob)).NotTo(HaveKey("Secret invalid-mpi-ssh-auth"))
		Eventually(func() map[string]string { return versions(ctx, trainJob) }).ShouldNot(HaveKey("JobSet invalid"))
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).ShouldNot(
			HaveKey("JobSet invalid"), "a job that is over is not started again")
	})

	It("starts a job again after a fault of the infrastructure, as often as its runtime allows", func(ctx SpecContext) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
			r.Annotations = map[string]string{mpi.RestartsAnnotation: "1"}
		})
		trainJob := trainJobNamed(namespace, "unlucky")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, trainJob)
		first := jobSetOf(ctx, trainJob)
		key := keyOf(ctx, trainJob)
		taken := preemptNode(ctx, first)
		var second jobset.JobSet
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), &second)).To(Succeed())
			g.Expect(second.UID).NotTo(Equal(first.UID))
		}).Should(Succeed())
		Expect(second.Annotations).To(HaveKeyWithValue("lockstep.dev/attempt", "1"))
		Expect(keyOf(ctx, trainJob)).To(Equal(key), "the key is the same")
		Eventually(reason(ctx, trainJob, job.Restarting)).Should(Equal(string(job.ReasonRestarted)))
		Expect(message(trainJob, job.Restarting)).To(HavePrefix("restart 1 of 1: "))
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElements("Warning Preempted", "Normal Restarted"))

		for i := range taken {
			Expect(client.IgnoreNotFound(admin.Delete(ctx, &taken[i], client.GracePeriodSeconds(0)))).To(Succeed())
		}
		preemptNode(ctx, &second)
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.Preempted)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring("(restarts: 1, which is all that the runtime allows)"))
		Eventually(func() map[string]string { return versions(ctx, trainJob) }).ShouldNot(HaveKey("Secret unlucky-mpi-ssh-auth"))
	})

	It("does not restart what failed by itself", func(ctx SpecContext) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
			r.Annotations = map[string]string{mpi.RestartsAnnotation: "3"}
		})
		trainJob := trainJobNamed(namespace, "guilty")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, trainJob)
		js := jobSetOf(ctx, trainJob)
		pods := makePods(ctx, js, "127.0.0.9")
		verdict, err := mpi.Verdict{Reason: mpi.ReasonCommandFailed, Message: "the command exited with code 7", ExitCode: 7}.Encode()
		Expect(err).NotTo(HaveOccurred())
		endPod(ctx, &pods[0], 7, string(verdict))
		endJobSet(ctx, js, jobset.JobSetFailed)
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal("CommandFailed"))
		Expect(jobSetOf(ctx, trainJob).UID).To(Equal(js.UID))
	})

	It("takes a job that failed while it was suspended for a suspended one", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "preempted")))
		first := jobSetOf(ctx, trainJob)
		pods := makePods(ctx, first, "127.0.0.9")
		patch(ctx, trainJob, `{"spec":{"suspend":true}}`)
		Eventually(func() bool { return *jobSetOf(ctx, trainJob).Spec.Suspend }).Should(BeTrue())
		endPod(ctx, &pods[0], 1, "")
		endJobSet(ctx, first, jobset.JobSetFailed)
		Eventually(func(g Gomega) {
			js := &jobset.JobSet{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js)).To(Succeed())
			g.Expect(js.UID).NotTo(Equal(first.UID))
			g.Expect(*js.Spec.Suspend).To(BeTrue())
		}).Should(Succeed())
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))
		patch(ctx, trainJob, `{"spec":{"suspend":false}}`)
		Eventually(func() bool { return *jobSetOf(ctx, trainJob).Spec.Suspend }).Should(BeFalse())
	})

	// Kueue's own controller does the same in the tests on a real cluster.
	It("says that Kueue preempted it, and for which job of the namespace", func(ctx SpecContext) {
		urgent := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "urgent")))
		low := ofRuntime(ctx, trainJobNamed(namespace, "low"))
		low.Labels = map[string]string{kueue.QueueLabel: "jobs"}
		create(ctx, low)
		jobSetOf(ctx, low)
		why := fmt.Sprintf("Preempted to accommodate a workload (UID: UNKNOWN, JobUID: %s) due to prioritization in the ClusterQueue", urgent.UID)
		workload := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "status": map[string]any{"conditions": []any{map[string]any{
				"type": "Evicted", "status": "True", "reason": "Preempted", "message": why, "lastTransitionTime": "2026-03-01T12:00:00Z",
			}}},
		}}
		workload.SetNamespace(namespace)
		workload.SetName("trainjob-low")
		workload.SetLabels(map[string]string{kueue.WorkloadOfLabel: string(low.UID)})
		Expect(admin.Create(ctx, workload)).To(Succeed())
		patch(ctx, low, `{"spec":{"suspend":true}}`)
		Eventually(reason(ctx, low, trainer.TrainJobSuspended)).Should(Equal(string(diagnose.Preempted)))
		Expect(message(low, trainer.TrainJobSuspended)).To(Equal("TrainJob is suspended: preempted by Kueue in favour of TrainJob `urgent`: " + why))
		Eventually(eventsAbout(ctx, low)).Should(ContainElement("Normal Preempted"))
		patch(ctx, low, `{"spec":{"suspend":false}}`)
		Eventually(reason(ctx, low, trainer.TrainJobSuspended)).Should(Equal("Resumed"))
	})

	It("says why Kueue does not start it, without asking for each job that waits", func(ctx SpecContext) {
		Expect(admin.Create(ctx, runtimeNamed("queued"))).To(Succeed())
		saysWhyItWaits(ctx, namespace)
	})

	DescribeTable("goes on as the job that it was", func(ctx SpecContext, change func(context.Context, *trainer.ClusterTrainingRuntime)) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) { selector(r, "old") })
		trainJob := trainJobNamed(namespace, "steady")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		trainJob.Spec.Suspend = ptr.To(true)
		create(ctx, trainJob)
		js := jobSetOf(ctx, trainJob)
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))
		change(ctx, runtime)
		patch(ctx, trainJob, `{"spec":{"suspend":false}}`)
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js)).To(Succeed())
			g.Expect(*js.Spec.Suspend).To(BeFalse())
		}).Should(Succeed())
		Expect(js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.NodeSelector).To(Equal(map[string]string{"pool": "old"}))
	},
		Entry("when its runtime is changed", func(ctx context.Context, r *trainer.ClusterTrainingRuntime) {
			selector(r, "new")
			Expect(admin.Update(ctx, r)).To(Succeed())
		}),
		Entry("when its runtime is deleted", func(ctx context.Context, r *trainer.ClusterTrainingRuntime) {
			Expect(admin.Delete(ctx, r)).To(Succeed())
		}),
	)

	DescribeTable("asks gang schedulers for all pods at once", func(ctx SpecContext, policy trainer.PodGroupPolicySource, apiVersion string) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
			r.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: policy}
		})
		trainJob := trainJobNamed(namespace, "gang")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, trainJob)
		js := jobSetOf(ctx, trainJob)
		group := groupNamed(apiVersion)
		Expect(admin.Get(ctx, in(namespace, "gang"), group)).To(Succeed())
		Expect(metav1.IsControlledBy(group, trainJob)).To(BeTrue())
		members, _, err := unstructured.NestedInt64(group.Object, "spec", "minMember")
		Expect(err).NotTo(HaveOccurred())
		Expect(members).To(BeEquivalentTo(3), "the launcher counts")
		Expect(group.GetCreationTimestamp().After(js.CreationTimestamp.Time)).To(BeFalse(), "it comes before the pods")

		Expect(admin.Create(ctx, childJob(js, mpi.LauncherJob))).To(Succeed())
		// The garbage collector would delete it with the TrainJob. There is none here, so the next job of the name does.
		Expect(admin.Delete(ctx, trainJob)).To(Succeed())
		again := trainJobNamed(namespace, "gang")
		again.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, again)
		Eventually(func(g Gomega) {
			fresh := groupNamed(apiVersion)
			g.Expect(admin.Get(ctx, in(namespace, "gang"), fresh)).To(Succeed())
			g.Expect(metav1.IsControlledBy(fresh, again)).To(BeTrue())
		}).Should(Succeed())
	},
		Entry("Coscheduling", trainer.PodGroupPolicySource{Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To[int32](60)}}, "scheduling.x-k8s.io/v1alpha1"),
		Entry("Volcano", trainer.PodGroupPolicySource{Volcano: &trainer.VolcanoPodGroupPolicySource{}}, "scheduling.volcano.sh/v1beta1"),
	)

	It("leaves a JobSet alone that another controller of TrainJobs made", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "theirs")
		trainJob.Spec.RuntimeRef.Name = "not-yet"
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.RuntimeNotFound)))
		Expect(admin.Create(ctx, trainersJobSet(trainJob))).To(Succeed())
		runtime := runtimeNamed("not-yet")
		Expect(admin.Create(ctx, runtime)).To(Succeed())
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning ForeignController"))
		Expect(versions(ctx, trainJob)).To(HaveLen(2), "the TrainJob and their JobSet")
		// It is told once; a repeated event would take a right to patch events.
		patch(ctx, runtime, `{"metadata":{"annotations":{"look":"again"}}}`)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(HaveLen(2))
	})

	It("comes to its end whoever writes to it meanwhile", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "crowded")))
		writing, stop := context.WithCancel(ctx)
		var others sync.WaitGroup
		for i := range 3 {
			others.Go(func() {
				for n := 0; writing.Err() == nil; n++ {
					note := fmt.Sprintf(`{"metadata":{"annotations":{"writer-%d":"%d"}}}`, i, n)
					target := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "crowded"}}
					_ = admin.Patch(writing, target, client.RawPatch(types.MergePatchType, []byte(note)))
				}
			})
		}
		defer func() { stop(); others.Wait() }()
		js := jobSetOf(ctx, trainJob)
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		Expect(jobSetOf(ctx, trainJob).UID).To(Equal(js.UID))
	})

	It("goes on after an API server that did not answer for a while", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "frozen")))
		js := jobSetOf(ctx, trainJob)
		process := apiServer()
		Expect(process.Signal(syscall.SIGSTOP)).To(Succeed())
		time.Sleep(5 * time.Second)
		Expect(process.Signal(syscall.SIGCONT)).To(Succeed())
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		lease := &coordinationv1.Lease{}
		Expect(admin.Get(ctx, in(controllerNamespace, "mpi-controller"), lease)).To(Succeed())
		Expect(*lease.Spec.LeaseTransitions).To(BeZero(), "the leader is the same")
	})

	It("keeps within its budget of writes", func(ctx SpecContext) {
		from := len(auditEntries())
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "budget")))
		js := jobSetOf(ctx, trainJob)
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		writes := map[string]int{}
		for _, entry := range auditEntries()[from:] {
			if entry.Write() && entry.ObjectRef.Namespace == namespace {
				writes[entry.ObjectRef.Resource]++
			}
		}
		delete(writes, "events")
		total := 0
		for _, n := range writes {
			total += n
		}
		GinkgoWriter.Printf("API writes of one job from create to Complete: %d %v\n", total, writes)
		Expect(total).To(BeNumerically("<=", 8), "%v", writes)
	})

	It("goes on at once when the container of the leader starts again", func(ctx SpecContext) {
		lease := &coordinationv1.Lease{}
		Expect(admin.Get(ctx, in(controllerNamespace, "mpi-controller"), lease)).To(Succeed())
		Expect(*lease.Spec.HolderIdentity).To(Equal("life-0"), "the lease has the name of the pod, so a new process in it has the lease still")
		Expect(*lease.Spec.LeaseDurationSeconds).To(BeEquivalentTo(3), "after which another pod leads")
	})

	// This is the last one: it looks at what all others made the controller ask for.
	It("has exactly the rights that it uses", func() { expectExactRights(nil, from) })
})

// apiServer finds the API server among the processes that this one started.
func apiServer() *os.Process {
	GinkgoHelper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	Expect(err).NotTo(HaveOccurred())
	for _, task := range tasks {
		children, err := os.ReadFile(task) //nolint:gosec // of this process
		Expect(err).NotTo(HaveOccurred())
		for _, text := range strings.Fields(string(children)) {
			name, err := os.ReadFile(filepath.Join("/proc", text, "comm")) //nolint:gosec // a process of ours
			Expect(err).NotTo(HaveOccurred())
			if strings.TrimSpace(string(name)) == "kube-apiserver" {
				pid, err := strconv.Atoi(text)
				Expect(err).NotTo(HaveOccurred())
				process, err := os.FindProcess(pid)
				Expect(err).NotTo(HaveOccurred())
				return process
			}
		}
	}
	Fail("the API server is not a process of ours")
	return nil
}

// forgetLease lets the next controller make its lease itself.
func forgetLease(ctx context.Context) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-controller"}}
	Expect(client.IgnoreNotFound(admin.Delete(ctx, lease))).To(Succeed())
}

// quotaIn makes a ResourceQuota with a status; the quota controller would do that.
func quotaIn(ctx context.Context, namespace string, hard, used corev1.ResourceList) *corev1.ResourceQuota {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	Expect(admin.Create(ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: used}
	Expect(admin.Status().Update(ctx, quota)).To(Succeed())
	return quota
}

var runtimes int

// newRuntime creates a runtime of its own for a test.
func newRuntime(ctx context.Context, edit func(*trainer.ClusterTrainingRuntime)) *trainer.ClusterTrainingRuntime {
	runtimes++
	runtime := runtimeNamed(fmt.Sprintf("life-%d", runtimes))
	edit(runtime)
	Expect(admin.Create(ctx, runtime)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, runtime))).To(Succeed()) })
	return runtime
}

func ofRuntime(ctx context.Context, trainJob *trainer.TrainJob) *trainer.TrainJob {
	trainJob.Spec.RuntimeRef.Name = newRuntime(ctx, func(*trainer.ClusterTrainingRuntime) {}).Name
	return trainJob
}

func selector(runtime *trainer.ClusterTrainingRuntime, pool string) {
	runtime.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.NodeSelector = map[string]string{"pool": pool}
}

func message(trainJob *trainer.TrainJob, condition string) string {
	if found := meta.FindStatusCondition(status.AllConditions(trainJob), condition); found != nil {
		return found.Message
	}
	return ""
}

func keyOf(ctx context.Context, trainJob *trainer.TrainJob) []byte {
	secret := &corev1.Secret{}
	Expect(admin.Get(ctx, in(trainJob.Namespace, mpi.SSHAuthSecretName(trainJob.Name)), secret)).To(Succeed())
	return secret.Data[mpi.PrivateKeyKey]
}

// preemptNode lets the scheduler take a node's pod away, and the JobSet fail because of it.
func preemptNode(ctx context.Context, js *jobset.JobSet) []corev1.Pod {
	pods := makePods(ctx, js, "127.0.0.9")
	victim := &pods[1]
	victim.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message: "preempted by a pod of higher priority", LastTransitionTime: metav1.Now(),
	}}
	endPod(ctx, victim, 137, "")
	endJobSet(ctx, js, jobset.JobSetFailed)
	return pods
}

// trainersJobSet is what Kubeflow Trainer makes for a TrainJob: it has none of our labels.
func trainersJobSet(trainJob *trainer.TrainJob) *jobset.JobSet {
	return &jobset.JobSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: trainJob.Namespace, Name: trainJob.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(trainJob, trainer.SchemeGroupVersion.WithKind("TrainJob"))},
		},
		Spec: runtimeNamed("template").Spec.Template.Spec,
	}
}

// installGangKinds installs PodGroups: that of scheduler-plugins from its module, and a stand-in for Volcano's, whose module has
// no definition.
func installGangKinds() {
	GinkgoHelper()
	var kinds []*apiextensions.CustomResourceDefinition
	for _, crd := range pinnedCRDs() {
		if crd.Spec.Group == "scheduling.x-k8s.io" {
			kinds = append(kinds, crd)
		}
	}
	Expect(kinds).To(HaveLen(1))
	installKinds(append(kinds, standIn("scheduling.volcano.sh", "v1beta1", "PodGroup")))
}

// standIn is the definition of a kind that takes everything.
func standIn(group, version, kind string) *apiextensions.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	anything := &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}}
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensions.NamespaceScoped,
			Names:    apiextensions.CustomResourceDefinitionNames{Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: version, Served: true, Storage: true, Schema: anything}},
		},
	}
}

// serverStarts is how long etcd and the API server may take to start: on a busy machine more than envtest's 20 s.
const serverStarts = 3 * time.Minute

func groupNamed(apiVersion string) *unstructured.Unstructured {
	group := &unstructured.Unstructured{}
	group.SetAPIVersion(apiVersion)
	group.SetKind("PodGroup")
	return group
}
