package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestWaits(t *testing.T) {
	o := started(trainJobOf()).with(podOf(mpi.LauncherJob, 0, ready, on("a")), podOf(mpi.NodeJob, 0, ready, on("a")), podOf(mpi.NodeJob, 1, ready, on("b")))
	if o.Waits() != nil {
		t.Error("a job that this process did not see from the beginning has no times")
	}
	uid := o.JobSet.UID
	o = o.saw(factRuns, uid, t0).saw(factPlaced, uid, t0.Add(2*time.Second)).saw(factReady, uid, t0.Add(5*time.Second))
	if diff := cmp.Diff(&Waits{Queued: time.Minute, Gang: 2 * time.Second, Start: 3 * time.Second}, o.Waits()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	o.Remember(o.Seen)
	for _, kind := range []factKind{factRuns, factPlaced, factReady} {
		if _, holds := o.Seen[Fact{kind, uid}]; !holds {
			t.Errorf("%s holds of a job whose pods are all ready", kind)
		}
	}
	over := o.with(podOf(mpi.LauncherJob, 0, on("a"), exited(0, mpi.Verdict{})), podOf(mpi.NodeJob, 0, ready, on("a")), podOf(mpi.NodeJob, 1, ready, on("b")))
	over.Remember(nil)
	if _, holds := over.Seen[Fact{factReady, uid}]; !holds {
		t.Error("a launcher that is over was ready, however late we look")
	}
	half := o.with(podOf(mpi.LauncherJob, 0, ready, on("a")), podOf(mpi.NodeJob, 0))
	half.Remember(nil)
	if _, holds := half.Seen[Fact{factPlaced, uid}]; holds {
		t.Error("a pod without a machine keeps the gang waiting")
	}
}
