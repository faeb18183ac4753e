package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// jobTimeout is generous: a job takes seconds, a busy machine some more.
var jobTimeout = platform.ScaleTimeout(2 * time.Minute)

// job is a job of the tenant: two nodes with two slots each. A spec that runs beside others in another process may have the same name for it,
// but none of those that the guides use: first, script, large.
func job(name, runtime string, command ...string) testjob.Job {
	if process := GinkgoParallelProcess(); process > 1 {
		name = fmt.Sprintf("%s-%d", name, process)
	}
	return testjob.Job{Name: name, Namespace: tenant, Runtime: runtime, Nodes: 2, Slots: 2, Command: command, Resources: little()}
}

// ofCatalog is a job for each runtime of the catalog that runs here.
func ofCatalog(prefix string, command ...string) []testjob.Job {
	var jobs []testjob.Job
	for _, runtime := range runtimes {
		jobs = append(jobs, job(prefix+runtime, runtime, command...))
	}
	return jobs
}

// little is what a node asks for, so that a dozen jobs fit two machines with two processors: jobs of which only some pods had room would wait for each other.
func little() *corev1.ResourceRequirements {
	memory := resource.MustParse("512Mi")
	return &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
}

// run runs a job as the tenant's editor to its end, and removes it after the test.
func run(ctx SpecContext, j testjob.Job) testjob.Result {
	GinkgoHelper()
	removeAfterwards(ctx, j)
	limited, cancel := context.WithTimeoutCause(ctx, jobTimeout, fmt.Errorf("no end within %s", jobTimeout))
	defer cancel()
	result, err := testjob.Run(limited, editor, j, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// start creates a job and returns when its command runs; its ranks may come a moment later, see ranks.
func start(ctx SpecContext, user testjob.User, j testjob.Job) *trainer.TrainJob {
	GinkgoHelper()
	removeAfterwards(ctx, j)
	object := j.TrainJob()
	Expect(user.Client.Create(ctx, object)).To(Succeed())
	Eventually(condition(ctx, user, object, "Running")).Should(BeTrue())
	return object
}

// ranks counts the lines of mpi-hello in the log of a job's launcher.
func ranks(ctx context.Context, object *trainer.TrainJob) func() (int, error) {
	return func() (int, error) {
		count := 0
		for _, pod := range podsOf(ctx, object) {
			if pod.Labels[mpi.ReplicatedJobLabel] != mpi.LauncherJob {
				continue
			}
			text, err := admin.Logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: mpi.Container}).DoRaw(ctx)
			if err != nil {
				return 0, err
			}
			for line := range strings.SplitSeq(string(text), "\n") {
				if _, ok := testjob.ParseRank(line); ok {
					count++
				}
			}
		}
		return count, nil
	}
}

// condition reports whether a TrainJob has a condition that is true.
func condition(ctx context.Context, user testjob.User, object *trainer.TrainJob, name string) func() bool {
	return func() bool {
		current := &trainer.TrainJob{}
		if err := user.Client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return false
		}
		return meta.IsStatusConditionTrue(status.AllConditions(current), name)
	}
}

// completes is that a TrainJob is Complete. Who waits for it waits no longer for one that has failed, and is told why.
func completes(ctx context.Context, user testjob.User, object *trainer.TrainJob) func() (bool, error) {
	return func() (bool, error) {
		current := &trainer.TrainJob{}
		if err := user.Client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return false, err
		}
		all := status.AllConditions(current)
		if failed := meta.FindStatusCondition(all, trainer.TrainJobFailed); failed != nil && failed.Status == metav1.ConditionTrue {
			return false, StopTrying(fmt.Sprintf("%s has failed: %s: %s", object.Name, failed.Reason, failed.Message))
		}
		return meta.IsStatusConditionTrue(all, trainer.TrainJobComplete), nil
	}
}

// said is what a condition of a TrainJob says, nothing without it.
func said(ctx context.Context, object *trainer.TrainJob, name string) func() string {
	return func() string {
		current := &trainer.TrainJob{}
		if err := admin.Client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return ""
		}
		if c := meta.FindStatusCondition(status.AllConditions(current), name); c != nil {
			return c.Message
		}
		return ""
	}
}

// removed are jobs of this process that were deleted after a test, and of which something may still be there.
var removed = map[client.ObjectKey]testjob.Job{}

// removeAfterwards deletes a job after the test. That nothing is left of it is looked at when a job of its name comes again, or else when
// the suite ends: no spec waits for that.
func removeAfterwards(ctx context.Context, j testjob.Job) {
	GinkgoHelper()
	name := keyOf(j.TrainJob())
	if earlier, is := removed[name]; is {
		expectNothingLeft(ctx, earlier)
		delete(removed, name)
	}
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, j.TrainJob()))).To(Succeed())
		removed[name] = j
	})
}

func expectNothingLeft(ctx context.Context, j testjob.Job) {
	GinkgoHelper()
	Eventually(leftovers(ctx, j)).WithPolling(platform.ScaleTimeout(250*time.Millisecond)).Should(BeEmpty(), "of %s in %s", j.Name, j.Namespace)
}

// expectNoneLeft looks at all jobs of this process.
func expectNoneLeft(ctx SpecContext) {
	for _, j := range removed {
		expectNothingLeft(ctx, j)
	}
}

// leftovers names every object in the job's namespace that belongs to the job.
func leftovers(ctx context.Context, j testjob.Job) func() ([]string, error) {
	return func() ([]string, error) { return testjob.Leftovers(ctx, admin.Client, j.Namespace, j.Name) }
}

func exists(ctx context.Context, object client.Object, namespace, name string) func() (bool, error) {
	return func() (bool, error) {
		err := admin.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
}

func owned(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
