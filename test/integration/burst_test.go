package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
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

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

const (
	burst        = 100
	nodesPerJob  = 8
	launcherRuns = 3 * time.Second
	// mostWrites is the 8 of the target, and room for the jobs whose steps a slow machine spreads over more time; bench-scale measures.
	mostWrites = 10
	mostPasses = 16
)

// A burst of jobs on simulated machines, as in bench-scale: pods run, nobody answers at their addresses, launchers end well
// after some seconds.
var _ = Describe("A burst of jobs", func() {
	It("costs the API server little", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		runController(reconciler.Options{LeaderElection: true, Identity: "burst-0"})
		namespace, runtime := newNamespace(ctx), newRuntime(ctx, func(*trainer.ClusterTrainingRuntime) {})
		passesBefore := passes()
		from := len(auditEntries())
		group, groupCtx := errgroup.WithContext(ctx)
		for i := range burst {
			group.Go(func() error { return simulate(groupCtx, namespace, fmt.Sprintf("burst-%03d", i), runtime.Name) })
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

		writes, events, total := map[string]int{}, 0, 0
		for _, entry := range auditEntries()[from:] {
			switch {
			case !entry.Write() || entry.ObjectRef.Namespace != namespace:
			case entry.ObjectRef.Resource == "events":
				events++
			default:
				writes[entry.Right()]++
				total++
			}
		}
		made := passes() - passesBefore
		GinkgoWriter.Printf("%d jobs of %d nodes: %.2f writes, %.2f events and %.2f passes per job\n", burst, nodesPerJob,
			float64(total)/burst, float64(events)/burst, made/burst)
		for _, right := range slices.Sorted(maps.Keys(writes)) {
			GinkgoWriter.Printf("  %-50s %.2f\n", right, float64(writes[right])/burst)
		}
		Expect(float64(total)/burst).To(BeNumerically("<=", mostWrites), "%v", writes)
		Expect(made / burst).To(BeNumerically("<=", mostPasses))
	})
})

// simulate lives the life of one job.
func simulate(ctx context.Context, namespace, name, runtime string) error {
	trainJob := trainJobNamed(namespace, name)
	trainJob.Spec.RuntimeRef.Name = runtime
	trainJob.Spec.Trainer.NumNodes = ptr.To[int32](nodesPerJob)
	if err := admin.Create(ctx, trainJob); err != nil {
		return err
	}
	js := &jobset.JobSet{}
	for admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js) != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	pods := []corev1.Pod{podFor(js, mpi.LauncherJob, 0)}
	for i := range nodesPerJob {
		pods = append(pods, podFor(js, mpi.NodeJob, i))
	}
	if err := runPods(ctx, js, pods); err != nil {
		return err
	}
	time.Sleep(launcherRuns)
	return finish(ctx, js, pods)
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
