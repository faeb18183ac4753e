package waiting

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// rank is one that took half a second to start, ran for ten after that, and was in collectives for some of them.
func rank(number int, waited float64, edits ...func(*mpi.RankWaiting)) mpi.RankWaiting {
	r := mpi.RankWaiting{Rank: number, Age: 20, Seconds: 10.5, Finalized: true}
	r.Kinds[mpi.MPIStart] = mpi.CallKind{Calls: 1, Seconds: 0.5}
	r.Kinds[mpi.MPICollective] = mpi.CallKind{Calls: 100, Seconds: waited}
	r.Kinds[mpi.MPIEnd] = mpi.CallKind{Calls: 1, Seconds: 0.04}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

func on(host string, ranks ...mpi.RankWaiting) HostPod {
	return HostPod{host, mpi.NodeWaiting{Ranks: ranks}}
}

func many(host string, first, count int, waited float64) HostPod {
	pod := HostPod{Host: host}
	for i := range count {
		pod.Ranks = append(pod.Ranks, rank(first+i, waited))
	}
	return pod
}

func TestLines(t *testing.T) {
	killed := func(inside string) func(*mpi.RankWaiting) {
		return func(r *mpi.RankWaiting) {
			r.Finalized, r.Inside, r.Kinds[mpi.MPIEnd] = false, inside, mpi.CallKind{}
			r.Kinds[mpi.MPIMessage] = mpi.CallKind{Calls: 2, Seconds: 1200}
			r.Seconds = 2000
		}
	}
	slow := many("b", 10, 10, 9)
	slow.Ranks[3] = rank(13, 0.1)
	for name, tc := range map[string]struct {
		reason string
		pods   []HostPod
		want   []string
	}{
		"Straggler": {"people see who waits, and for whom", []HostPod{on("demo-node-0-0", rank(0, 9), rank(1, 0.2)), on("demo-node-0-1", rank(2, 8.5), rank(3, 9))}, []string{
			"counted of 4 ranks: inside of MPI for 2 % to 90 % of their run after MPI_Init, the median for 90 %",
			"             run  in MPI  MPI_Init  collectives  MPI_Finalize  calls",
			"  rank 0  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  demo-node-0-0",
			"  rank 1  10.5 s     2 %    0.50 s       0.20 s        0.04 s    102  demo-node-0-0",
			"  rank 2  10.5 s    85 %    0.50 s       8.50 s        0.04 s    102  demo-node-0-1",
			"  rank 3  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  demo-node-0-1",
			"rank 1 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 2 % of its run, the median of 4 ranks for 90 %; it has more to do than they have, or is slower at it",
		}},
		"Alike": {"where all wait alike, none is to blame", []HostPod{on("a", rank(0, 5), rank(1, 5.5))}, []string{
			"counted of 2 ranks: inside of MPI for 50 % to 55 % of their run after MPI_Init, the median for 55 %",
			"             run  in MPI  MPI_Init  collectives  MPI_Finalize  calls",
			"  rank 0  10.5 s    50 %    0.50 s       5.00 s        0.04 s    102  a",
			"  rank 1  10.5 s    55 %    0.50 s       5.50 s        0.04 s    102  a",
		}},
		"Busy": {"and none where hardly anybody waits", []HostPod{on("a", rank(0, 0), rank(1, 0.3))}, []string{
			"counted of 2 ranks: inside of MPI for 0 % to 3 % of their run after MPI_Init, the median for 3 %",
			"             run  in MPI  MPI_Init  collectives  MPI_Finalize  calls",
			"  rank 0  10.5 s     0 %    0.50 s       0.00 s        0.04 s    102  a",
			"  rank 1  10.5 s     3 %    0.50 s       0.30 s        0.04 s    102  a",
		}},
		"Killed": {"what a rank was at when it ended", []HostPod{on("a", rank(0, 5, killed("messages")), rank(1, 5, killed("")))}, []string{
			"counted of 2 ranks: inside of MPI for 60 % to 60 % of their run after MPI_Init, the median for 60 %",
			"             run  in MPI  MPI_Init  collectives  messages  calls",
			"  rank 0  2000 s    60 %    0.50 s       5.00 s    1200 s    103  a, without MPI_Finalize, at last in messages",
			"  rank 1  2000 s    60 %    0.50 s       5.00 s    1200 s    103  a, without MPI_Finalize, at last outside of MPI",
		}},
		"Starting": {"a rank that is killed in MPI_Init has waited there, and kept nobody waiting", []HostPod{on("a", rank(0, 9), rank(1, 9), rank(2, 0, func(r *mpi.RankWaiting) {
			r.Finalized, r.Inside, r.Kinds = false, "MPI_Init", [mpi.MPICallKinds]mpi.CallKind{mpi.MPIStart: {Calls: 1, Seconds: 10.4}}
		}))}, []string{
			"counted of 3 ranks: inside of MPI for 90 % to 100 % of their run after MPI_Init, the median for 90 %",
			"             run  in MPI  MPI_Init  collectives  MPI_Finalize  calls",
			"  rank 0  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"  rank 1  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"  rank 2  10.5 s   100 %    10.4 s            -             -      1  a, without MPI_Finalize, at last in MPI_Init",
		}},
		"Wide": {"a job of many ranks is told by its nodes, and by those that wait least", []HostPod{many("a", 0, 10, 9), slow}, []string{
			"counted of 20 ranks: inside of MPI for 1 % to 90 % of their run after MPI_Init, the median for 90 %",
			"     ranks  in MPI: least  median  most",
			"  a     10           90 %    90 %  90 %",
			"  b     10            1 %    90 %  90 %",
			"              run  in MPI  MPI_Init  collectives  MPI_Finalize  calls",
			"  rank 13  10.5 s     1 %    0.50 s       0.10 s        0.04 s    102  b",
			"   rank 0  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"   rank 1  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"   rank 2  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"   rank 3  10.5 s    90 %    0.50 s       9.00 s        0.04 s    102  a",
			"rank 13 (b) keeps the others waiting: it was inside of MPI for 1 % of its run, the median of 20 ranks for 90 %; it has more to do than they have, or is slower at it",
		}},
		"Nothing": {"and why nothing may have been counted", []HostPod{on("a")}, []string{"no rank was counted: programs that load MPI as a shared library are, from MPI_Init on, where nothing sets LD_PRELOAD anew"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, LaunchOf(tc.pods, 100).Lines()); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// A log stays short, however wide the job is.
func TestLinesOfAWideJob(t *testing.T) {
	var pods []HostPod
	for node := range 500 {
		pods = append(pods, many(strings.Repeat("n", 1+node), 8*node, 8, 5))
	}
	if lines := LaunchOf(pods, 100).Lines(); len(lines) != 1+1+maxLeast {
		t.Errorf("%d lines", len(lines))
	}
}

// A command may launch more than once: the newest launch counts, of all pods.
func TestLaunchOfIsTheNewest(t *testing.T) {
	early := rank(0, 9, func(r *mpi.RankWaiting) { r.Age = 200 })
	later := rank(0, 1, func(r *mpi.RankWaiting) { r.Age = 90 })
	other := rank(1, 9, func(r *mpi.RankWaiting) { r.Age = 200 })
	got := LaunchOf([]HostPod{on("a", early), on("b", later), on("c", other)}, 100)
	if len(got) != 1 || got[0].host != "b" {
		t.Errorf("%+v", got)
	}
	if got = LaunchOf([]HostPod{on("a", early), on("c", other)}, 100); len(got) != 2 {
		t.Errorf("a launch without MPI hides the one before: %+v", got)
	}
}
