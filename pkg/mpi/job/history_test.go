package job_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// An hour's difference between clocks decides nothing.
func TestAgesAreOurOwn(t *testing.T) {
	o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready))
	o.JobSet = o.JobSet.DeepCopy()
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	o.History = nil
	o.RememberSince(nil)
	if phase.DeriveFacts(o).HasMissingPods() {
		t.Error("this process has seen the JobSet for the first time: its pods are not late")
	}
	later := o
	later.Now = t0.Add(podsAskedAfter + time.Second)
	later.RememberSince(o.History)
	if !phase.DeriveFacts(later).HasMissingPods() {
		t.Error("now they are")
	}
	if gone := (observe.History{{Kind: observe.FactImage, UID: "another-pod"}: t0}); true {
		later.RememberSince(gone)
		if _, kept := later.History[observe.ObservedFact{Kind: observe.FactImage, UID: "another-pod"}]; kept {
			t.Error("what does not hold any more is forgotten")
		}
	}
}

// A pod that waits for its volumes has a machine, and nothing in its status says what is missing.
func TestUnmountedPodsAreAskedAbout(t *testing.T) {
	o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, on("a")), podOf(mpi.NodeJob, 0, on("a"), address("10.0.0.1")), podOf(mpi.NodeJob, 1, on("b"), address("10.0.0.2")))
	o.History = nil
	o.RememberSince(nil)
	f := phase.DeriveFacts(o)
	if f.HasUnmountedVolumes() || f.Waits.NextCheck() > mountsAskedAfter+time.Second || f.Waits.NextCheck() == 0 {
		t.Errorf("volumes take a moment, and are looked at after that; next look in %s", f.Waits.NextCheck())
	}
	later := o
	later.Now = o.Now.Add(mountsAskedAfter + time.Second)
	later.RememberSince(o.History)
	if !phase.DeriveFacts(later).HasUnmountedVolumes() || phase.DeriveFacts(later).Waits.NextCheck() != podsAskedAgain {
		t.Error("now they are late, until they are there")
	}
	address("10.0.0.3")(&later.Pods[0])
	if phase.DeriveFacts(later).HasUnmountedVolumes() {
		t.Error("pods with addresses have their volumes")
	}
}
