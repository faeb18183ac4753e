package integration

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// queueJobs is how many jobs wait.
const queueJobs = 30

// saysWhyItWaits: there is no Kueue here, so Workloads are made by hand, and nobody tells the order of a queue, which is as on a cluster
// without the visibility server. The real one does in the tests on a real cluster.
func saysWhyItWaits(ctx context.Context, namespace string) {
	const noRoom = "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor any, 200m more needed"
	for i := range 3 {
		// The API server says when a Workload was made; it gets its quota in the future.
		workload(ctx, namespace, fmt.Sprint("started-", i), "True", "admitted", time.Now().Add(time.Hour))
	}
	jobs := make([]*trainer.TrainJob, 0, queueJobs)
	for i := range queueJobs {
		trainJob := trainJobNamed(namespace, fmt.Sprintf("queued-%02d", i))
		trainJob.Labels = map[string]string{kueue.QueueLabel: "jobs"}
		trainJob.Spec.RuntimeRef.Name = "queued"
		trainJob.Spec.Suspend = ptr.To(true)
		create(ctx, trainJob)
		workload(ctx, namespace, string(trainJob.UID), "False", noRoom, time.Now())
		jobs = append(jobs, trainJob)
	}
	const waits = "TrainJob is suspended; waits in queue `jobs`"
	const head = waits + ": " + noRoom + "; estimated wait: about 1 h in all, the median of the last 3 jobs of this queue"
	said := func() map[string]int {
		count := map[string]int{}
		for _, trainJob := range jobs {
			reason(ctx, trainJob, trainer.TrainJobSuspended)()
			count[message(trainJob, trainer.TrainJobSuspended)]++
		}
		return count
	}
	Eventually(said).WithTimeout(25*time.Second).Should(Equal(map[string]int{head: 20, waits: queueJobs - 20}),
		"what is short changes with every job that starts: only the head of a queue is told")

	By("asking once for all of them, and writing nothing while nothing changes")
	asked := func(right string) int { return requests(namespace, right) }
	const read, order = "list workloads.kueue.x-k8s.io", "get localqueues/pendingworkloads.visibility.kueue.x-k8s.io"
	const status, record, look = "patch trainjobs/status.trainer.kubeflow.org", "patch trainjobs.trainer.kubeflow.org", "get jobsets.jobset.x-k8s.io"
	written := func() int { return asked(status) + asked(record) }
	// What was written last is seen by its own controller, which then looks at the job once more.
	Eventually(func(g Gomega) {
		reads, orders, writes, looks := asked(read), asked(order), written(), asked(look)
		g.Eventually(func() int { return asked(read) }).WithTimeout(25 * time.Second).Should(Equal(reads + 1))
		g.Expect(asked(order)).To(BeNumerically("<=", orders+1), "one that is not found is asked for less and less")
		g.Consistently(written).WithTimeout(silence).Should(Equal(writes))
		g.Expect(asked(look)).To(Equal(looks), "no job is looked at")
	}).WithTimeout(time.Minute).Should(Succeed())
	Expect(written()).To(BeNumerically("<=", 4*queueJobs+10), "status and record, when a job is made and when its wait is known")
}

// requests counts what the controller asked for in a namespace.
func requests(namespace, right string) int {
	count := 0
	for _, entry := range auditEntries() {
		if entry.ObjectRef.Namespace == namespace && entry.Right() == right {
			count++
		}
	}
	return count
}

// workload is what Kueue makes of a job, shortened.
func workload(ctx context.Context, namespace, uid, reserved, why string, at time.Time) {
	GinkgoHelper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": map[string]any{"queueName": "jobs", "priority": int64(0)},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "QuotaReserved", "status": reserved, "reason": "Pending", "message": why, "lastTransitionTime": at.UTC().Format(time.RFC3339),
		}}},
	}}
	object.SetNamespace(namespace)
	object.SetName("trainjob-" + uid)
	object.SetLabels(map[string]string{kueue.WorkloadOfLabel: uid})
	Expect(admin.Create(ctx, object)).To(Succeed())
}
