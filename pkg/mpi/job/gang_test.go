package job_test

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// look is one pass: what has changed when it comes, how long before t0.
type look struct {
	before time.Duration
	change func(*observe.Observed)
}

// live runs passes over a job with a gang timeout of 10 minutes and a budget of restarts, as the API server keeps its status, and
// returns how the job ended or why it was restarted by the last of them. Forgetful is a controller that starts anew before each.
func live(t *testing.T, forgetful bool, looks []look) (end, restarted mpi.Reason) {
	t.Helper()
	const created = time.Hour
	o := started(trainJobOf(func(trainJob *trainer.TrainJob) { trainJob.CreationTimestamp = metav1.NewTime(t0.Add(-created)) }))
	o.JobSet.CreationTimestamp = o.TrainJob.CreationTimestamp
	o.Runtime = restartable("2")
	o.Runtime.Annotations[mpi.GangTimeoutAnnotation] = "10m"
	memory := observe.History{}
	for _, look := range looks {
		o.Now = t0.Add(-look.before)
		look.change(&o)
		if forgetful {
			memory = observe.History{}
		}
		o.RememberSince(memory)
		memory = o.History
		decision, err := decide.Decide(phase.DeriveFacts(o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		if end, _ = finishes(decision); end != "" {
			return end, ""
		}
		restart := phase.DeriveFacts(o).State().Restart
		o.TrainJob = o.TrainJob.DeepCopy()
		o.TrainJob.Status = statusAfter(phase.DeriveFacts(o), decision, nil)
		for i := range o.TrainJob.Status.Conditions {
			at := &o.TrainJob.Status.Conditions[i].LastTransitionTime
			*at = metav1.NewTime(at.Truncate(time.Second))
		}
		if decision.Update != nil {
			o.JobSet = decision.Update
		}
		if restart != nil {
			restarted = restart.Failure.Reason
		}
	}
	return end, restarted
}

// A gang that was once together has started: what happens to it later is told as what it is, however long after the timeout.
// It begins anew when the job is resumed or restarted.
func TestGangTimeoutIsForGangsThatNeverStarted(t *testing.T) {
	launcher, node0, node1 := podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)
	waiting := func(role string, index int) corev1.Pod {
		return podOf(role, index, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending })
	}
	pods := func(before time.Duration, pods ...corev1.Pod) look {
		return look{before, func(o *observe.Observed) { o.Pods = pods }}
	}
	pending := pods(time.Hour, waiting(mpi.LauncherJob, 0), waiting(mpi.NodeJob, 0), waiting(mpi.NodeJob, 1))
	together := pods(59*time.Minute, launcher, node0, node1)
	failed := func(left ...corev1.Pod) look {
		return look{0, func(o *observe.Observed) {
			*o = jobSetHas(*o, jobset.JobSetFailed, t0)
			o.Pods = left
		}}
	}
	told := look{-causeKnownAfter, func(*observe.Observed) {}}
	taken := func(reason string, edits ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(t0.Add(-30 * time.Second)),
			})
			for _, edit := range edits {
				edit(pod)
			}
		}
	}
	lost := func(edits ...func(*corev1.Pod)) corev1.Pod {
		return podOf(mpi.NodeJob, 1, append([]func(*corev1.Pod){ready}, edits...)...)
	}
	oom := podOf(mpi.NodeJob, 0, died(t0.Add(-20*time.Second), 137, "OOMKilled", ""))
	suspension := func(before time.Duration, wanted bool, left ...corev1.Pod) look {
		return look{before, func(o *observe.Observed) {
			o.TrainJob.Spec.Suspend, o.Pods = ptr.To(wanted), left
		}}
	}
	again := func(before time.Duration) []look {
		return []look{
			{before, func(o *observe.Observed) { o.JobSet, o.Pods = nil, nil }},
			{before, func(o *observe.Observed) {
				made, err := job.Resolve(o.TrainJob, *o.Runtime)
				if err != nil {
					t.Fatal(err)
				}
				made.Attempt = o.PublishedRestarts()
				o.JobSet = desired.JobSet(made)
				o.JobSet.UID = "jobset-uid"
			}},
		}
	}
	broken := []look{
		pending, together,
		{50 * time.Minute, func(o *observe.Observed) {
			*o = jobSetHas(*o, jobset.JobSetFailed, o.Now)
			o.Pods = []corev1.Pod{launcher, node0, lost(taken("DeletionByTaintManager"))}
		}},
	}
	cases := map[string]struct {
		reason       string
		looks        []look
		end, restart mpi.Reason
	}{
		"Evicted": {
			"evicted, then deleted, then gone", []look{
				pending, together, pods(30*time.Second, launcher, node0, lost(taken("EvictionByEvictionAPI"))),
				pods(20*time.Second, launcher, node0, lost(taken("EvictionByEvictionAPI"), deleted)), pods(10*time.Second, launcher, node0), failed(launcher, node0), told,
			}, "", "Evicted",
		},
		"Preempted": {
			"", []look{pending, together, pods(30*time.Second, launcher, node0, lost(taken(corev1.PodReasonPreemptionByScheduler, deleted))), pods(10*time.Second, launcher, node0), failed(launcher), told},
			"", "Preempted",
		},
		"MachineLost": {
			"", []look{pending, together, pods(30*time.Second, launcher, node0, lost(taken("DeletionByTaintManager", deleted))), pods(10*time.Second, launcher, node0), failed(launcher), told},
			"", "MachineLost",
		},
		"Memory": {
			"the Job controller deletes the siblings, and tells of the failure only when they are gone", []look{
				pending, together, pods(20*time.Second, launcher, oom, lost(deleted)), pods(10*time.Second, launcher, oom, lost(deleted)), pods(5*time.Second, launcher, oom), failed(launcher, oom), told,
			}, "OOMKilled", "",
		},
		"LauncherDeleted": {
			"", []look{pending, together, pods(30*time.Second, podOf(mpi.LauncherJob, 0, ready, deleted), node0, node1), pods(10*time.Second, node0, node1), failed(node0, node1), told},
			"", "PodDeleted",
		},
		"NothingToldBefore": {
			"it came together and was lost before a status told of it", []look{pending, pods(10*time.Second, launcher, oom, lost(deleted)), failed(launcher, oom), told}, "OOMKilled", "",
		},
		"NeverTogether": {"", []look{pending, pods(50*time.Minute, launcher, node0, waiting(mpi.NodeJob, 1))}, "GangTimeout", ""},
		"NeverTogetherAndLost": {
			"a pod that is lost while others wait does not start a gang", []look{pending, pods(51*time.Minute, launcher, waiting(mpi.NodeJob, 0), lost(deleted)), pods(50*time.Minute, launcher, waiting(mpi.NodeJob, 0))}, "GangTimeout", "",
		},
		"NotTogetherAfterResumption": {
			"", []look{
				pending, together, suspension(30*time.Minute, true, lost(deleted)), suspension(29*time.Minute, true), suspension(20*time.Minute, false),
				pods(19*time.Minute, launcher, waiting(mpi.NodeJob, 0)), pods(10*time.Minute, launcher, waiting(mpi.NodeJob, 0)),
			}, "GangTimeout", "",
		},
		"Resumed": {
			"", []look{pending, together, suspension(30*time.Minute, true), suspension(20*time.Minute, false), pods(11*time.Minute, launcher, waiting(mpi.NodeJob, 0))}, "", "",
		},
		"TogetherAfterResumption": {
			"", []look{
				pending, suspension(30*time.Minute, true), suspension(20*time.Minute, false), pods(19*time.Minute, launcher, node0, node1),
				pods(20*time.Second, launcher, oom, lost(deleted)), pods(5*time.Second, launcher, oom), failed(launcher, oom), told,
			}, "OOMKilled", "",
		},
		"NotTogetherAfterRestart": {
			"", append(append(append([]look{}, broken...), again(49*time.Minute)...), pods(48*time.Minute, launcher, waiting(mpi.NodeJob, 0)), pods(38*time.Minute, launcher, waiting(mpi.NodeJob, 0))), "GangTimeout", "MachineLost",
		},
		"TogetherAfterRestart": {
			"", append(append(append([]look{}, broken...), again(49*time.Minute)...),
				pods(48*time.Minute, launcher, node0, node1), pods(20*time.Second, launcher, oom, lost(deleted)), pods(5*time.Second, launcher, oom), failed(launcher, oom), told), "OOMKilled", "",
		},
	}
	for name, tc := range cases {
		for kind, forgetful := range map[string]bool{"": false, "AndRestartsOfTheController": true} {
			t.Run(name+kind, func(t *testing.T) {
				end, restart := live(t, forgetful, tc.looks)
				if end != tc.end || tc.end == "" && restart != tc.restart {
					t.Errorf("%s: want end %q, restart for %q; got %q, %q", tc.reason, tc.end, tc.restart, end, restart)
				}
			})
		}
	}
}
