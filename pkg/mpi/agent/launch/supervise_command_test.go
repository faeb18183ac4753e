package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// A node that is too busy to answer once is asked again: what its ranks do is all that tells of a hang.
func TestDescribeHang(t *testing.T) {
	pods := func(names ...string) map[string]mpi.Progress {
		found := map[string]mpi.Progress{}
		for _, name := range names {
			found[name] = mpi.Progress{Processes: 2, Evidence: []mpi.StuckProcess{{Rank: 3}}}
		}
		return found
	}
	last := map[string]mpi.Progress{"launcher": {Processes: 2}, "node-0": {Processes: 2}, "node-1": {Processes: 2}}
	silent := pods("launcher", "node-0")
	silent["node-1"] = last["node-1"]
	cases := map[string]struct {
		answers []map[string]mpi.Progress
		want    map[string]mpi.Progress
		asked   int
	}{
		"All":        {[]map[string]mpi.Progress{pods("launcher", "node-0", "node-1")}, pods("launcher", "node-0", "node-1"), 1},
		"OneByOne":   {[]map[string]mpi.Progress{pods("launcher", "node-0"), pods("launcher", "node-1")}, pods("launcher", "node-0", "node-1"), 2},
		"NeverAgain": {[]map[string]mpi.Progress{pods("launcher"), pods("launcher", "node-0"), pods("launcher")}, silent, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got := describeHang(last, func() map[string]mpi.Progress { asked++; return tc.answers[asked-1] })
			if diff := cmp.Diff(tc.want, got); diff != "" || asked != tc.asked {
				t.Errorf("asked %d times: -want, +got:\n%s", asked, diff)
			}
		})
	}
}
