package job

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// An hour's difference between clocks decides nothing.
func TestAgesAreOurOwn(t *testing.T) {
	o := started(trainJobOf()).with(podOf(mpi.LauncherJob, 0, ready))
	o.JobSet = o.JobSet.DeepCopy()
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	o.Seen = nil
	o.Remember(nil)
	if o.MissingPods() {
		t.Error("this process has seen the JobSet for the first time: its pods are not late")
	}
	later := o
	later.Now = t0.Add(podsExpected + time.Second)
	later.Remember(o.Seen)
	if !later.MissingPods() {
		t.Error("now they are")
	}
	if gone := (Memory{{factImage, "another-pod"}: t0}); true {
		later.Remember(gone)
		if _, kept := later.Seen[Fact{factImage, "another-pod"}]; kept {
			t.Error("what does not hold any more is forgotten")
		}
	}
}

// A pod that waits for its volumes has a machine, and nothing in its status says what is missing.
func TestUnmountedPodsAreAskedAbout(t *testing.T) {
	o := started(trainJobOf()).with(podOf(mpi.LauncherJob, 0, on("a")), podOf(mpi.NodeJob, 0, on("a"), address("10.0.0.1")), podOf(mpi.NodeJob, 1, on("b"), address("10.0.0.2")))
	o.Seen = nil
	o.Remember(nil)
	if o.Unmounted() || o.nextLook() > mountExpected+time.Second || o.nextLook() == 0 {
		t.Errorf("volumes take a moment, and are looked at after that; next look in %s", o.nextLook())
	}
	later := o
	later.Now = o.Now.Add(mountExpected + time.Second)
	later.Remember(o.Seen)
	if !later.Unmounted() || later.nextLook() != podsMissing {
		t.Error("now they are late, until they are there")
	}
	address("10.0.0.3")(&later.Pods[0])
	if later.Unmounted() {
		t.Error("pods with addresses have their volumes")
	}
}
