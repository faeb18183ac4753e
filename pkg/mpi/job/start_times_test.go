package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func TestWaits(t *testing.T) {
	o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready, on("a")), podOf(mpi.NodeJob, 0, ready, on("a")), podOf(mpi.NodeJob, 1, ready, on("b")))
	if phase.DeriveFacts(o).Start.Times() != nil {
		t.Error("a job that this process did not see from the beginning has no times")
	}
	uid := o.JobSet.UID
	o = sawFact(sawFact(sawFact(o, observe.FactRuns, uid, t0), observe.FactPlaced, uid, t0.Add(2*time.Second)), observe.FactReady, uid, t0.Add(5*time.Second))
	if diff := cmp.Diff(&phase.StartTimes{Queued: time.Minute, Gang: 2 * time.Second, Start: 3 * time.Second}, phase.DeriveFacts(o).Start.Times()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	o.RememberSince(o.History)
	for _, kind := range []observe.FactKind{observe.FactRuns, observe.FactPlaced, observe.FactReady} {
		if _, holds := o.History[observe.ObservedFact{Kind: kind, UID: uid}]; !holds {
			t.Errorf("%s holds of a job whose pods are all ready", kind)
		}
	}
	over := withPods(o, podOf(mpi.LauncherJob, 0, on("a"), exited(0, mpi.Verdict{})), podOf(mpi.NodeJob, 0, ready, on("a")), podOf(mpi.NodeJob, 1, ready, on("b")))
	over.RememberSince(nil)
	if _, holds := over.History[observe.ObservedFact{Kind: observe.FactReady, UID: uid}]; !holds {
		t.Error("a launcher that is over was ready, however late we look")
	}
	half := withPods(o, podOf(mpi.LauncherJob, 0, ready, on("a")), podOf(mpi.NodeJob, 0))
	half.RememberSince(nil)
	if _, holds := half.History[observe.ObservedFact{Kind: observe.FactPlaced, UID: uid}]; holds {
		t.Error("a pod without a machine keeps the gang waiting")
	}
}
