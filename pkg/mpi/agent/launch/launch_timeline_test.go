package launch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestTimelineKeepsTheEarliest(t *testing.T) {
	now := time.Unix(100, 0)
	times := newTimeline(func() time.Time { return now })
	now = now.Add(3 * time.Second)
	times.noteGate(mpi.GateResult{Passed: true, Seconds: 2, TableSeconds: 0.5, TableFrom: mpi.TableFromController})
	now = now.Add(time.Second)
	times.noteCommandStart()
	now = now.Add(10 * time.Second)
	age := func(seconds float64) *float64 { return &seconds }
	times.noteProgress(mpi.Progress{})
	times.noteProgress(mpi.Progress{DaemonAge: age(9), RankAge: age(8)})
	times.noteProgress(mpi.Progress{DaemonAge: age(9.5), RankAge: age(7)})
	want := mpi.LaunchTimings{
		Started: time.Unix(100, 0), TableFrom: mpi.TableFromController, TableSeconds: age(1.5), GateSeconds: age(3),
		CommandSeconds: age(4), DaemonSeconds: age(4.5), RankSeconds: age(6),
	}
	if diff := cmp.Diff(want, times.snapshot(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	before := newTimeline(time.Now)
	before.noteInitGate(initGate{Started: time.Unix(50, 0), Result: mpi.GateResult{Passed: true, Seconds: 2, TableSeconds: 0.5, TableFrom: mpi.TableFromDNS}})
	want = mpi.LaunchTimings{Started: time.Unix(50, 0), TableFrom: mpi.TableFromDNS, TableSeconds: age(0.5), GateSeconds: age(2)}
	if diff := cmp.Diff(want, before.snapshot(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("after an init container: %s", diff)
	}
	failed := newTimeline(time.Now)
	failed.noteGate(mpi.GateResult{})
	if got := failed.snapshot(); got.GateSeconds != nil || got.TableSeconds != nil {
		t.Errorf("a gate that did not pass: %+v", got)
	}
}
