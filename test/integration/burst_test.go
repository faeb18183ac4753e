package integration

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

const (
	burst        = 100
	nodesPerJob  = 8
	launcherRuns = 3 * time.Second
	maxPasses    = 16
	// maxStatuses are the writes of a TrainJob: it is made, it runs, in the status and in its record, and it is over. A step that waits longer
	// than status.DebounceReady for the next one is written, so a job that starts more slowly than that may have more.
	maxStatuses = 4
)

// madeOnce is what each job costs beside its status.
var madeOnce = []string{
	"create configmaps.", "create networkpolicies.networking.k8s.io", "create secrets.", "create jobsets.jobset.x-k8s.io", "delete secrets.",
}

// A burst of jobs on simulated machines, as in bench-scale: pods run, nobody answers at their addresses, launchers end well
// after some seconds.
var _ = Describe("A burst of jobs", func() {
	It("costs the API server little", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		// Without a lease, which a controller may lose on a busy machine: its next term does once more what was under way.
		runController(reconciler.Options{Identity: "burst-0"})
		namespace, runtime := newNamespace(ctx), newRuntime(ctx, func(*trainer.ClusterTrainingRuntime) {})
		passesBefore := passes()
		from := len(auditEntries())
		starts := make([]time.Duration, burst)
		group, groupCtx := errgroup.WithContext(ctx)
		for i := range burst {
			group.Go(func() (err error) {
				starts[i], err = simulate(groupCtx, namespace, burstJob(i), runtime.Name)
				return err
			})
		}
		Expect(group.Wait()).To(Succeed())
		Eventually(func(g Gomega) {
			var list trainer.TrainJobList
			g.Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			for i := range list.Items {
				conditions := list.Items[i].Status.Conditions
				g.Expect(conditions).NotTo(BeEmpty())
				g.Expect(conditions[len(conditions)-1].Type).To(Equal(trainer.TrainJobComplete))
			}
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())

		var writes, statuses map[string]int
		Eventually(func() int {
			writes, statuses = writesIn(namespace, from)
			return writes["delete secrets."]
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Equal(burst), "keys are given back after the end")
		made := passes() - passesBefore
		total := 0
		for i := range burst {
			written, slow := statuses[burstJob(i)], int(starts[i]/status.DebounceReady)
			Expect(written).To(BeNumerically("<=", maxStatuses+slow), "job %d started within %s", i, starts[i])
			total += written
		}
		GinkgoWriter.Printf("%d jobs of %d nodes, started within %s: %.2f writes and %.2f passes per job\n", burst, nodesPerJob,
			slices.Max(starts).Round(time.Second), float64(len(madeOnce))+float64(total)/burst, made/burst)
		Expect(writes).To(HaveLen(len(madeOnce)))
		for _, right := range madeOnce {
			Expect(writes).To(HaveKeyWithValue(right, burst), "once per job")
		}
		Expect(made / burst).To(BeNumerically("<=", maxPasses))
	})
})

// writesIn are what the controller has written in a namespace: by right, and statuses by job. Events are not a part of the target.
func writesIn(namespace string, from int) (writes, statuses map[string]int) {
	GinkgoHelper()
	writes, statuses = map[string]int{}, map[string]int{}
	for _, entry := range auditEntries()[from:] {
		switch {
		case !entry.Write() || entry.ObjectRef.Namespace != namespace || entry.ObjectRef.Resource == "events":
		case entry.ObjectRef.Resource == "trainjobs": // the status, and what it has no place for
			statuses[entry.ObjectRef.Name]++
		default:
			writes[entry.Right()]++
		}
	}
	return writes, statuses
}

func burstJob(number int) string { return fmt.Sprintf("burst-%03d", number) }

// simulate lives the life of one job, and returns how long it took until all its pods ran.
func simulate(ctx context.Context, namespace, name, runtime string) (started time.Duration, err error) {
	begin := time.Now()
	trainJob := trainJobNamed(namespace, name)
	trainJob.Spec.RuntimeRef.Name = runtime
	trainJob.Spec.Trainer.NumNodes = ptr.To[int32](nodesPerJob)
	if err := admin.Create(ctx, trainJob); err != nil {
		return 0, err
	}
	js := &jobset.JobSet{}
	for admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js) != nil {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	pods := []corev1.Pod{podFor(js, mpi.LauncherJob, 0)}
	for i := range nodesPerJob {
		pods = append(pods, podFor(js, mpi.NodeJob, i))
	}
	if err := runPods(ctx, js, pods); err != nil {
		return 0, err
	}
	started = time.Since(begin)
	time.Sleep(launcherRuns)
	return started, finish(ctx, js, pods)
}

// runPods makes, places and starts pods one by one, with the counts of the JobSet in between.
func runPods(ctx context.Context, js *jobset.JobSet, pods []corev1.Pod) error {
	for i := range pods {
		if err := admin.Create(ctx, &pods[i]); err != nil {
			return err
		}
	}
	if err := count(ctx, js, 1, 0, 0); err != nil {
		return err
	}
	for i := range pods {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pods[i].Namespace, Name: pods[i].Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "simulated-0"}}
		if err := admin.SubResource("binding").Create(ctx, &pods[i], binding); err != nil {
			return err
		}
	}
	for i := range pods {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(&pods[i]), &pods[i]); err != nil {
			return err
		}
		ip := fmt.Sprintf("127.0.9.%d", i+1)
		pods[i].Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: mpi.Container, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			}},
		}
		if err := admin.Status().Update(ctx, &pods[i]); err != nil {
			return err
		}
	}
	return count(ctx, js, 1, 1, 0)
}

// finish ends a launcher well, and with it the JobSet, which takes the nodes away.
func finish(ctx context.Context, js *jobset.JobSet, pods []corev1.Pod) error {
	pods[0].Status.Phase = corev1.PodSucceeded
	pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()}}
	if err := admin.Status().Update(ctx, &pods[0]); err != nil {
		return err
	}
	if err := count(ctx, js, 0, 0, 1); err != nil {
		return err
	}
	js.Status.TerminalState = string(jobset.JobSetCompleted)
	js.Status.Conditions = []metav1.Condition{{
		Type: string(jobset.JobSetCompleted), Status: metav1.ConditionTrue, Reason: "AllJobsCompleted", Message: "jobset completed successfully", LastTransitionTime: metav1.Now(),
	}}
	if err := admin.Status().Update(ctx, js); err != nil {
		return err
	}
	for i := range pods[1:] {
		if err := admin.Delete(ctx, &pods[1+i], client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	return nil
}

// count sets the counts of a JobSet.
func count(ctx context.Context, js *jobset.JobSet, active, ready, succeeded int32) error {
	if err := admin.Get(ctx, client.ObjectKeyFromObject(js), js); err != nil {
		return err
	}
	js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{
		{Name: mpi.LauncherJob, Active: active, Ready: ready, Succeeded: succeeded}, {Name: mpi.NodeJob, Active: active, Ready: ready},
	}
	return admin.Status().Update(ctx, js)
}

// passes is how often the controller has looked at a TrainJob.
func passes() float64 {
	GinkgoHelper()
	families, err := controllermetrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == "trainjob" }) {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}
