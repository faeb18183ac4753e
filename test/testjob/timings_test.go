package testjob

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestPhasesEndWithTheLastPod(t *testing.T) {
	var p Timings
	pods := map[string]*corev1.Pod{"a": {}}
	p.seePods(pods, 1*time.Second)
	pods["a"].Spec.NodeName = "m"
	p.seePods(pods, 2*time.Second)
	pods["b"] = &corev1.Pod{}
	p.seePods(pods, 3*time.Second)
	pods["b"].Spec.NodeName, pods["a"].Status.PodIP = "m", "10.0.0.1"
	p.seePods(pods, 4*time.Second)
	pods["b"].Status.PodIP = "10.0.0.2"
	p.seePods(pods, 5*time.Second)
	p.seePods(pods, 6*time.Second)
	want := Timings{Pods: 3 * time.Second, Scheduled: 4 * time.Second, Addresses: 5 * time.Second, Count: 2}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}
