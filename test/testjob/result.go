package testjob

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Result is what the user saw.
type Result struct {
	Job   Job
	Ranks []Rank
	// Machines are the cluster nodes that ran pods with ranks.
	Machines []string
	// FirstRank and End are the times from the creation of the TrainJob to the first line of a rank, by the log's own
	// time stamps, and to a terminal condition. FirstRank is 0 if no rank ever reported.
	FirstRank, End time.Duration
	// Timings are what happened before the first rank.
	Timings Timings
	// LauncherRestarts counts launcher pods after the first and restarts of their containers.
	LauncherRestarts int
	// Condition is the type of the terminal condition, Complete or Failed; Reason and Message are its.
	Condition, Reason, Message string
}

// Hosts are the host names of the pods that ran ranks, sorted.
func (r Result) Hosts() []string { return hostsOf(r.Ranks) }

// Check says why the job did not do what was asked, or nil. Machines counts how many cluster nodes the ranks must have
// run on.
func (r Result) Check(machines int) error {
	var errs []error
	if r.Condition != "Complete" {
		errs = append(errs, fmt.Errorf("the job ended as %s (%s): %s", r.Condition, r.Reason, r.Message))
	}
	errs = append(errs, checkRanks(r.Ranks, int(r.Job.Nodes), int(r.Job.Slots)))
	if len(r.Machines) != machines {
		errs = append(errs, fmt.Errorf("ranks ran on the machines %v, want %d", r.Machines, machines))
	}
	if r.LauncherRestarts > 0 {
		errs = append(errs, fmt.Errorf("the launcher restarted %d times", r.LauncherRestarts))
	}
	return errors.Join(errs...)
}

// addPods takes machines and restarts from the pods as they were seen last.
func (r *Result) addPods(pods map[string]*corev1.Pod) {
	launchers := 0
	hosts := r.Hosts()
	for _, pod := range pods {
		if pod.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob {
			launchers++
			for _, status := range pod.Status.ContainerStatuses {
				r.LauncherRestarts += int(status.RestartCount)
			}
		}
		if slices.Contains(hosts, pod.Spec.Hostname) && !slices.Contains(r.Machines, pod.Spec.NodeName) {
			r.Machines = append(r.Machines, pod.Spec.NodeName)
		}
	}
	slices.Sort(r.Machines)
	r.LauncherRestarts += max(0, launchers-1)
}
