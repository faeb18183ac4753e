package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/platform"
)

// A test that fails here and nowhere else is understood only by what was there when it failed.
var _ = JustAfterEach(func(ctx SpecContext) {
	if cluster != nil && CurrentSpecReport().Failed() {
		AddReportEntry(unfinishedJobs, unfinished(ctx))
		AddReportEntry("what was there", scene(ctx, CurrentSpecReport().StartTime))
	}
})

// unfinishedJobs names the entry of a report whose beginning the summary repeats.
const unfinishedJobs = "jobs that were not complete"

// unfinished tells what the jobs say that are not complete.
func unfinished(ctx context.Context) string {
	var b strings.Builder
	jobs := &trainer.TrainJobList{}
	list(ctx, &b, jobs)
	for _, j := range jobs.Items {
		if all := status.AllConditions(&j); !meta.IsStatusConditionTrue(all, trainer.TrainJobComplete) {
			fmt.Fprintf(&b, "TrainJob %s/%s of %s\n", j.Namespace, j.Name, clock(j.CreationTimestamp))
			conditions(&b, all)
		}
	}
	return b.String()
}

// scene tells of all jobs with their JobSets, pods and events, the last lines of pods that still run or failed, and what
// controllers logged since a time.
func scene(ctx context.Context, since time.Time) string {
	var b strings.Builder
	jobs := &trainer.TrainJobList{}
	list(ctx, &b, jobs)
	for _, j := range jobs.Items {
		fmt.Fprintf(&b, "TrainJob %s/%s of %s\n", j.Namespace, j.Name, clock(j.CreationTimestamp))
		conditions(&b, status.AllConditions(&j))
		sets, pods, events := &jobset.JobSetList{}, &corev1.PodList{}, &eventsv1.EventList{}
		list(ctx, &b, sets, client.InNamespace(j.Namespace))
		list(ctx, &b, pods, client.InNamespace(j.Namespace))
		list(ctx, &b, events, client.InNamespace(j.Namespace))
		for _, set := range sets.Items {
			if set.Name == j.Name {
				fmt.Fprintf(&b, "  JobSet of %s, suspended %t\n", clock(set.CreationTimestamp), ptr.Deref(set.Spec.Suspend, false))
				conditions(&b, set.Status.Conditions)
			}
		}
		for _, pod := range pods.Items {
			if strings.HasPrefix(pod.Name, j.Name+"-") {
				fmt.Fprintf(&b, "  Pod %s of %s on %s: %s%s\n", pod.Name, clock(pod.CreationTimestamp), pod.Spec.NodeName, pod.Status.Phase, ends(pod))
				if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodFailed {
					logOf(ctx, &b, pod, &corev1.PodLogOptions{TailLines: ptr.To[int64](30)})
				}
			}
		}
		for _, e := range events.Items {
			if strings.HasPrefix(e.Regarding.Name, j.Name) {
				fmt.Fprintf(&b, "  Event %s %s of %s: %s\n", clock(metav1.Time{Time: latest(e)}), e.Reason, e.Regarding.Name, e.Note)
			}
		}
	}
	controllers := &corev1.PodList{}
	list(ctx, &b, controllers, client.InNamespace(platform.Namespace))
	for _, pod := range controllers.Items {
		logOf(ctx, &b, pod, &corev1.PodLogOptions{SinceTime: ptr.To(metav1.NewTime(since)), TailLines: ptr.To[int64](200)})
	}
	return b.String()
}

// list says so where it cannot: what else there is, is worth telling.
func list(ctx context.Context, b *strings.Builder, objects client.ObjectList, options ...client.ListOption) {
	if err := admin.Client.List(ctx, objects, options...); err != nil {
		fmt.Fprintln(b, err)
	}
}

func logOf(ctx context.Context, b *strings.Builder, pod corev1.Pod, options *corev1.PodLogOptions) {
	text, err := admin.Logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	fmt.Fprintf(b, "log of %s (%v):\n%s\n", pod.Name, err, text)
}

func conditions(b *strings.Builder, all []metav1.Condition) {
	for _, c := range all {
		fmt.Fprintf(b, "    %s %s=%s %s: %s\n", clock(c.LastTransitionTime), c.Type, c.Status, c.Reason, c.Message)
	}
}

// ends says how the containers of a pod ended, and until when it has time to go.
func ends(pod corev1.Pod) string {
	var b strings.Builder
	if pod.DeletionTimestamp != nil {
		fmt.Fprintf(&b, ", to be gone by %s with a grace of %d s", clock(*pod.DeletionTimestamp), ptr.Deref(pod.DeletionGracePeriodSeconds, 0))
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			fmt.Fprintf(&b, ", %s ended at %s with code %d, %s %s", c.Name, clock(t.FinishedAt), t.ExitCode, t.Reason, t.Message)
		}
	}
	return b.String()
}

func latest(e eventsv1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	if e.EventTime.IsZero() {
		return e.DeprecatedLastTimestamp.Time
	}
	return e.EventTime.Time
}

func clock(t metav1.Time) string { return t.UTC().Format(time.TimeOnly) }
