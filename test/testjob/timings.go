package testjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Timings are the times from the creation of a TrainJob to the moments when a watcher first saw each state: the JobSet, as
// many pods as there were in the end, all of them on a machine, all of them with an address. A state that was never seen
// has the time 0. Each is as late as the API server's news of it.
type Timings struct {
	JobSet, Pods, Scheduled, Addresses time.Duration
	// Count is the number of pods.
	Count int
}

func (p *Timings) seeJobSet(at time.Duration) {
	if p.JobSet == 0 {
		p.JobSet = at
	}
}

// seePods is told of all pods after each change. More pods than before start the later states anew.
func (p *Timings) seePods(pods map[string]*corev1.Pod, at time.Duration) {
	if len(pods) > p.Count {
		p.Count, p.Pods, p.Scheduled, p.Addresses = len(pods), at, 0, 0
	}
	scheduled, addresses := 0, 0
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			scheduled++
		}
		if pod.Status.PodIP != "" {
			addresses++
		}
	}
	if p.Scheduled == 0 && scheduled == p.Count {
		p.Scheduled = at
	}
	if p.Addresses == 0 && addresses == p.Count {
		p.Addresses = at
	}
}
