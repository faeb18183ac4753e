package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	gomegatypes "github.com/onsi/gomega/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

var _ = Describe("The user of a job", func() {
	It("suspends it while it runs, and lets it go on from its beginning", func(ctx SpecContext) {
		j := job("interrupted", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "3")
		object := start(ctx, editor, j)
		before := namesOf(podsOf(ctx, object))
		suspend(ctx, editor, object, true)
		Eventually(condition(ctx, editor, object, trainer.TrainJobSuspended)).Should(BeTrue())
		Eventually(func() []string { return namesOf(podsOf(ctx, object)) }).Should(BeEmpty())
		Expect(condition(ctx, editor, object, "Running")()).To(BeFalse())
		suspend(ctx, editor, object, false)
		Eventually(condition(ctx, editor, object, "Running")).Should(BeTrue())
		Expect(sets.New(namesOf(podsOf(ctx, object))...).Intersection(sets.New(before...))).To(BeEmpty())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		Expect(condition(ctx, editor, object, trainer.TrainJobSuspended)()).To(BeFalse())
		Eventually(turns(ctx, editor, object, "Suspended", "Resumed")).Should(HaveExactElements(
			"TrainingStarted", "Suspended", "Resumed", "TrainingStarted", "Completed"))
	})

	It("finds it as it was made, whatever became of its runtime while it was suspended", func(ctx SpecContext) {
		const changed = "changed-meanwhile"
		sandboxRuntime(ctx, changed, func(*trainer.ClusterTrainingRuntime) {})
		j := own(changed, "mpirun", "-n", "4", "mpi-hello")
		object := j.TrainJob()
		object.Spec.Suspend = ptr.To(true)
		submit(ctx, admin, object)
		Eventually(condition(ctx, admin, object, trainer.TrainJobSuspended)).Should(BeTrue())
		Eventually(func() types.UID { return jobSetOf(ctx, j).UID }).ShouldNot(BeEmpty())
		Expect(cluster.CopyRuntime(ctx, changed, changed, func(r *trainer.ClusterTrainingRuntime) {
			for _, role := range []string{mpi.LauncherJob, mpi.NodeJob} {
				podOf(&r.Spec, role).Containers[0].Image = "lockstep.test/mpi/openmpi:gone"
			}
		})).To(Succeed())
		suspend(ctx, admin, object, false)
		Eventually(completes(ctx, admin, object)).Should(BeTrue())
	})

	It("may lose a node after its last launch: the work is done", func(ctx SpecContext) {
		object := start(ctx, editor, job("postprocesses", "openmpi5-cpu", "bash", "-c", "mpirun -n 4 mpi-hello && sleep 2 && echo summed up && sleep 15"))
		Eventually(follow(ctx, object)).Should(ContainSubstring("summed up"))
		node := worker(ctx, object)
		Expect(admin.Client.Delete(ctx, &node)).To(Succeed())
		Eventually(func() bool {
			return condition(ctx, editor, object, trainer.TrainJobComplete)() || condition(ctx, editor, object, trainer.TrainJobFailed)()
		}).Should(BeTrue())
		Expect(condition(ctx, editor, object, trainer.TrainJobComplete)()).To(BeTrue(), "%v", said(ctx, object, trainer.TrainJobFailed)())
	})

	DescribeTable("suspends it, and its ranks have time to save their work", func(ctx SpecContext, runtime string) {
		j := job("saves-"+runtime, runtime, saving...)
		object := start(ctx, editor, j)
		log := follow(ctx, object)
		Eventually(log).Should(ofEach("ready"))
		suspend(ctx, editor, object, true)
		Eventually(log).Should(ofEach("saved"))
		asked := time.Now()
		Eventually(func() []string { return namesOf(podsOf(ctx, object)) }).Should(BeEmpty())
		Expect(time.Since(asked)).To(BeNumerically("<", platform.ScaleTimeout(15*time.Second)), "nobody waits for the rest of the grace")
	}, catalog)

	DescribeTable("deletes it, and nothing is left, when", func(ctx SpecContext, reached func(context.Context, *trainer.TrainJob) bool) {
		j := job("unwanted", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello")
		object := submit(ctx, editor, j.TrainJob())
		Eventually(func() bool { return reached(ctx, object) }).WithPolling(5 * time.Millisecond).Should(BeTrue())
		Expect(editor.Client.Delete(ctx, object)).To(Succeed())
		// A pass that is not over makes objects of a job that is gone already; the garbage collector must find them too.
		Eventually(leftovers(ctx, j)).MustPassRepeatedly(20).Should(BeEmpty())
	},
		Entry("it has just been created", func(context.Context, *trainer.TrainJob) bool { return true }),
		Entry("its first pod exists", func(ctx context.Context, o *trainer.TrainJob) bool { return len(podsOf(ctx, o)) > 0 }),
		Entry("its launcher has just ended", func(ctx context.Context, o *trainer.TrainJob) bool {
			return slices.ContainsFunc(podsOf(ctx, o), func(p corev1.Pod) bool {
				return p.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob && p.Status.Phase == corev1.PodSucceeded
			})
		}),
	)

	// Kueue's webhook refuses TrainJobs whose runtime is not there.
	It("is told what it waits for: a runtime, and what its pods name", Serial, func(ctx SpecContext) {
		for kind, name := range map[string]string{trainer.TrainingRuntimeKind: "early", trainer.ClusterTrainingRuntimeKind: "earlier"} {
			j := inLife(name, "not-yet")
			object := j.TrainJob()
			object.Spec.RuntimeRef.Kind = &kind
			submit(ctx, admin, object)
			Eventually(conditionNow(ctx, j, mpijob.Created)).Should(HaveField("Reason", string(diagnose.RuntimeNotFound)), kind)
		}
		compiled := &trainer.ClusterTrainingRuntime{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Name: "openmpi4-cpu"}, compiled)).To(Succeed())
		own := &trainer.TrainingRuntime{ObjectMeta: owned("not-yet", lifeNamespace), Spec: compiled.Spec}
		own.Labels = compiled.Labels
		pod := podOf(&own.Spec, mpi.NodeJob)
		pod.ServiceAccountName = "mpi"
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}})
		Expect(admin.Client.Create(ctx, own)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, own)).To(Succeed()) })
		Eventually(conditionNow(ctx, inLife("early", "not-yet"), mpijob.PodsReady)).Should(And(
			HaveField("Reason", string(diagnose.VolumeClaimMissing)),
			HaveField("Message", ContainSubstring("PersistentVolumeClaim `data`, ServiceAccount `mpi`"))))
	})

	// A TrainJob of upstream's API has no time to live; the JobSet of a runtime may have one.
	It("finds it complete still when the time of its JobSet is over", func(ctx SpecContext) {
		sandboxRuntime(ctx, "short-lived", func(r *trainer.ClusterTrainingRuntime) {
			r.Spec.Template.Spec.TTLSecondsAfterFinished = ptr.To[int32](1)
		})
		j := inLife("remembered", "short-lived")
		object := submit(ctx, admin, j.TrainJob())
		Eventually(completes(ctx, admin, object)).Should(BeTrue())
		gone := func() types.UID { return jobSetOf(ctx, j).UID }
		Eventually(gone).Should(BeEmpty())
		Eventually(func() []corev1.Pod { return podsOf(ctx, object) }).Should(BeEmpty())
		Consistently(gone).WithTimeout(time.Second).Should(BeEmpty(), "it is not made again")
		Expect(condition(ctx, admin, object, trainer.TrainJobComplete)()).To(BeTrue())
	})
})

var _ = Describe("With two replicas of the controller", Ordered, Serial, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(cluster.ScaleController(ctx, 2)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.ScaleController(ctx, 1)).To(Succeed()) })
	})

	// One job runs, one starts, and one comes when there is no leader. Kill returns what the lease is like once somebody leads again.
	survive := func(ctx SpecContext, end string, kill func(leader *corev1.Pod) gomegatypes.GomegaMatcher) {
		pods := map[string]sets.Set[string]{}
		watching := seePods(ctx, pods)
		jobs := []*trainer.TrainJob{start(ctx, editor, ofThree(end+"-running", "8")), submit(ctx, editor, ofThree(end+"-starting", "1").TrainJob())}
		leader := &corev1.Pod{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: platform.Namespace, Name: ptr.Deref(leaseOf(ctx).HolderIdentity, "")}, leader)).To(Succeed())
		led := kill(leader)
		killed := time.Now()
		jobs = append(jobs, submit(ctx, editor, ofThree(end+"-coming", "1").TrainJob()))
		Eventually(leaseOf).WithContext(ctx).WithPolling(20 * time.Millisecond).Should(led)
		AddReportEntry("led again", fmt.Sprintf("by %s, %.1f s after the end of %s", ptr.Deref(leaseOf(ctx).HolderIdentity, ""), time.Since(killed).Seconds(), leader.Name))
		for _, object := range jobs {
			Eventually(completes(ctx, editor, object)).Should(BeTrue(), object.Name)
		}
		watching()
		for _, object := range jobs {
			Expect(pods[object.Name].Len()).To(Equal(2), "pods of %s: %v", object.Name, pods[object.Name])
		}
	}

	another := func(leader *corev1.Pod) gomegatypes.GomegaMatcher {
		return HaveField("HolderIdentity", HaveValue(Not(Or(BeEmpty(), Equal(leader.Name)))))
	}

	It("jobs complete, each pod made once, when the leader is deleted", func(ctx SpecContext) {
		survive(ctx, "deleted", func(leader *corev1.Pod) gomegatypes.GomegaMatcher {
			Expect(admin.Client.Delete(ctx, leader, client.GracePeriodSeconds(0))).To(Succeed())
			return another(leader) // its container lives on for a moment
		})
	})

	It("jobs complete, each pod made once, when the leader is killed", ofReleases, func(ctx SpecContext) {
		survive(ctx, "killed", func(leader *corev1.Pod) gomegatypes.GomegaMatcher {
			killFirst(*leader)
			return HaveField("RenewTime.Time", BeTemporally(">", time.Now())) // by the other, or by its next container
		})
	})

	It("jobs complete, each pod made once, when the leader is killed again before another leads", ofReleases, func(ctx SpecContext) {
		survive(ctx, "again", func(leader *corev1.Pod) gomegatypes.GomegaMatcher {
			killFirst(*leader)
			Eventually(leaseOf).WithContext(ctx).WithPolling(20 * time.Millisecond).Should(HaveField("RenewTime.Time", BeTemporally(">", time.Now())))
			if ptr.Deref(leaseOf(ctx).HolderIdentity, "") == leader.Name {
				killFirst(*leader) // its next container has to wait ten seconds now
			}
			return another(leader)
		})
	})
})

var _ = Describe("While etcd does not answer for 10 seconds", Serial, func() {
	It("a job goes on, and completes afterwards", func(ctx SpecContext) {
		j := job("patient", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "5")
		object := start(ctx, editor, j)
		waiting := submit(ctx, editor, job("later", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello").TrainJob())
		thaw, err := cluster.Freeze(ctx, "etcd")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(thaw)
		time.Sleep(10 * time.Second)
		Expect(thaw()).To(Succeed())
		for _, o := range []*trainer.TrainJob{object, waiting} {
			Eventually(completes(ctx, editor, o)).WithTimeout(2*time.Minute).Should(BeTrue(), o.Name)
		}
	})
})

// inLife is a job of the sandbox.
func inLife(name, runtime string) testjob.Job {
	j := job(name, runtime, "mpirun", "-n", "4", "mpi-hello")
	j.Namespace = lifeNamespace
	return j
}

// ofThree is one of three jobs that run at a time. Ranks spin while they wait, so they have two each.
func ofThree(name, seconds string) testjob.Job {
	j := job("led-"+name, "openmpi4-cpu", "mpirun", "-n", "2", "mpi-hello", "--sleep", seconds)
	j.Slots = 1
	return j
}

// leaseOf says which pod leads, and when it last said so.
func leaseOf(ctx context.Context) coordinationv1.LeaseSpec {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: platform.Namespace, Name: mpi.ControllerName}, lease)).To(Succeed())
	return lease.Spec
}

// seePods collects the names of all pods of the tenant's jobs from now on, by job, until it is ended.
func seePods(ctx context.Context, seen map[string]sets.Set[string]) (end func()) {
	GinkgoHelper()
	pods, err := admin.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(tenant), client.HasLabels{mpi.JobSetNameLabel})
	Expect(err).NotTo(HaveOccurred())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range pods.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				name := pod.Labels[mpi.JobSetNameLabel]
				if seen[name] == nil {
					seen[name] = sets.New[string]()
				}
				seen[name].Insert(pod.Name)
			}
		}
	}()
	return func() { pods.Stop(); <-done }
}

// saving is a command whose ranks take 8 s to save their work when they are asked to end, rank 0 a little longer. Nobody asked, they end after 20 s.
var saving = []string{"mpirun", "-n", "4", "bash", "-c", `rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
	trap '[ $rank = 0 ] && sleep 2; sleep 8; echo "saved $rank"; exit 0' TERM
	echo "ready $rank"
	for _ in $(seq 100); do sleep 0.2; done
	exec mpi-hello`}

// follow copies the log of a job's launcher while it runs.
func follow(ctx context.Context, object *trainer.TrainJob) func() string {
	GinkgoHelper()
	pods := podsOf(ctx, object)
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob })
	Expect(i).To(BeNumerically(">=", 0))
	request := admin.Logs.CoreV1().Pods(object.Namespace).GetLogs(pods[i].Name, &corev1.PodLogOptions{Container: mpi.Container, Follow: true})
	stream, err := request.Stream(ctx)
	Expect(err).NotTo(HaveOccurred())
	buffer := gbytes.BufferReader(stream)
	return func() string { return string(buffer.Contents()) }
}

// ofEach is that there is a line of each of four ranks.
func ofEach(word string) gomegatypes.GomegaMatcher {
	return And(ContainSubstring(word+" 0"), ContainSubstring(word+" 1"), ContainSubstring(word+" 2"), ContainSubstring(word+" 3"))
}

func suspend(ctx SpecContext, user testjob.User, object *trainer.TrainJob, wanted bool) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, wanted)
	Expect(user.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

func namesOf(pods []corev1.Pod) []string {
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return names
}
