package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// target is whom a fault hits. The zero value is nobody in particular.
type target struct {
	// hosts are the host names of the pods that are hit alike: a message must name one of them.
	hosts []string
	// rank is the number of the rank, nil for none.
	rank *int
	// machine is its name, or empty.
	machine string
}

// lacks returns what a message does not name of it, empty when it names all. Users know a pod as `Worker 1`; where a
// message tells of ranks, it may be `rank 3 … on <host name>`.
func (t target) lacks(message string) string {
	if len(t.hosts) > 0 && !slices.ContainsFunc(t.hosts, func(host string) bool { return mentions(message, titleOf(host), "on "+host) }) {
		return titleOf(t.hosts[0])
	}
	if t.rank != nil && !mentions(message, rankTitle(*t.rank)) {
		return rankTitle(*t.rank)
	}
	if t.machine != "" && !mentions(message, "machine "+t.machine) {
		return "machine " + t.machine
	}
	return ""
}

// mentions reports whether a message holds one of several words as a whole, so that `rank 1` is not seen in `rank 12`.
func mentions(message string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `\b`).MatchString(message)
	})
}

func rankTitle(rank int) string { return "rank " + strconv.Itoa(rank) }

// titleOf is what users call the pod with a host name: `Launcher` or `Worker 1`.
func titleOf(host string) string {
	if strings.HasSuffix(host, "-"+mpi.LauncherJob+"-0-0") {
		return "Launcher"
	}
	return "Worker " + host[strings.LastIndex(host, "-")+1:]
}

// hostOf is the host name of a pod: its name without the five characters that its Job appends.
func hostOf(pod corev1.Pod) string { return pod.Name[:max(0, strings.LastIndex(pod.Name, "-"))] }

// hit returns the launcher's pod, or a worker's, if possible on the machine that is to come to harm. From now on messages
// must name it.
func (t *attempt) hit(ctx context.Context, role string) (corev1.Pod, error) {
	pods, err := t.podsOf(ctx, role)
	if err != nil {
		return corev1.Pod{}, err
	}
	pod := pods[0]
	if i := slices.IndexFunc(pods, onVictim); i >= 0 {
		pod = pods[i]
	}
	t.target.hosts = []string{hostOf(pod)}
	return pod, nil
}

// hitMachine says that all workers on the machine are hit that comes to harm. One at least must be there.
func (t *attempt) hitMachine(ctx context.Context) error {
	pods, err := t.podsOf(ctx, mpi.NodeJob)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if onVictim(pod) {
			t.target.hosts = append(t.target.hosts, hostOf(pod))
		}
	}
	if len(t.target.hosts) == 0 {
		return fmt.Errorf("the job has no worker on %s", victim)
	}
	t.target.machine = victim
	return nil
}

func onVictim(pod corev1.Pod) bool { return pod.Spec.NodeName == victim }

// rankOf says that the command breaks a rank by itself. It is where a full world has it: ranks fill the slots of one node
// after another.
func rankOf(number int) func(job string) target {
	return func(job string) target {
		node := number / slots
		if node == 0 {
			return target{rank: &number, hosts: launcherOf(job).hosts}
		}
		return target{rank: &number, hosts: workerOf(node - 1)(job).hosts}
	}
}

// workerOf says that the command breaks a worker. The launcher is the first node, worker 0 the second.
func workerOf(index int) func(job string) target {
	return func(job string) target {
		return target{hosts: []string{mpi.PodHostname(job, mpi.NodeJob, int32(index))}}
	}
}

// launcherOf says that the command breaks the launcher.
func launcherOf(job string) target {
	return target{hosts: []string{mpi.PodHostname(job, mpi.LauncherJob, 0)}}
}

// podsOf returns the pods of a role, at least one.
func (t *attempt) podsOf(ctx context.Context, role string) ([]corev1.Pod, error) {
	pods, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[mpi.ReplicatedJobLabel] != role })
	if len(pods) == 0 {
		return nil, fmt.Errorf("the job has no pod of the kind %s", role)
	}
	return pods, nil
}
