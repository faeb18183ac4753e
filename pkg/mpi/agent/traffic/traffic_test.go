package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The files are those of real ranks: Open MPI 4.1.4 with three that add up 64 KiB 13 times, 5.0.7 with two that send each other five messages
// and meet at a barrier.
func TestReadPodReadsWhatOpenMPIWrites(t *testing.T) {
	for version, want := range map[string][]mpi.RankTraffic{
		"openmpi4": {
			{Rank: 0, Bytes: 1135992, Messages: 54, CollectiveBytes: 1135992, Sent: []mpi.SentTraffic{{To: 1, Bytes: 1135992, Messages: 53}, {To: 2, Messages: 1}}},
			{Rank: 1, Bytes: 1135992, Messages: 53, CollectiveBytes: 1135992, Sent: []mpi.SentTraffic{{To: 2, Bytes: 1135992, Messages: 52}, {To: 0, Messages: 1}}},
			{Rank: 2, Bytes: 1135888, Messages: 53, CollectiveBytes: 1135888, Sent: []mpi.SentTraffic{{To: 0, Bytes: 1135888, Messages: 53}}},
		},
		"openmpi5": {
			{Rank: 0, Bytes: 5000, Messages: 6, Sent: []mpi.SentTraffic{{To: 1, Bytes: 5000, Messages: 6}}},
			{Rank: 1, Bytes: 5000, Messages: 6, Sent: []mpi.SentTraffic{{To: 0, Bytes: 5000, Messages: 6}}},
		},
	} {
		t.Run(version, func(t *testing.T) {
			pod := ReadPod(filepath.Join("testdata", version), mpi.MaxTrafficPairs, time.Now())
			for i := range pod.Ranks {
				if pod.Ranks[i].Age <= 0 {
					t.Errorf("rank %d has no age", i)
				}
				pod.Ranks[i].Age = 0
			}
			if diff := cmp.Diff(mpi.NodeTraffic{Ranks: want}, pod); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Programs of the user write these files, and may write anything.
func TestReadPodIsNotFooled(t *testing.T) {
	folder := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	head := pointToPoint + "\n"
	put("traffic.0.prof", head+"E\t0\t1\t7 bytes\t1 msgs sent\n# OSC\nrubbish\n")
	put("traffic.1.prof", "an essay\n")
	put("traffic.2.prof", head+"E\t2\t-1\t7 bytes\t1 msgs sent\n")
	put("traffic.3.prof", head+"E\t3\t1\t"+strings.Repeat("9", 2*maxLine))
	put("traffic.4.prof", "")
	put("traffic.05.prof", head)
	put("traffic.-1.prof", head)
	put("traffic.99999999.prof", head)
	put("traffic.x.prof", head)
	put("losses", head)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(head+"E\t6\t1\t7 bytes\t1 msgs sent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(folder, "traffic.6.prof")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "traffic.7.prof"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "traffic.8.prof"), 0o700); err != nil {
		t.Fatal(err)
	}
	pod := ReadPod(folder, mpi.MaxTrafficPairs, time.Now())
	if len(pod.Ranks) != 1 || pod.Ranks[0].Rank != 0 || pod.Ranks[0].Bytes != 7 {
		t.Errorf("read %+v", pod.Ranks)
	}
}

func TestNothingIsReadWhereNothingIs(t *testing.T) {
	if pod := ReadPod(filepath.Join(t.TempDir(), "none"), 10, time.Now()); len(pod.Ranks) != 0 {
		t.Errorf("%+v", pod)
	}
}

// A launcher that asks hundreds of nodes has little memory.
func TestAPodTellsSoManyPairs(t *testing.T) {
	folder := t.TempDir()
	for rank := range 4 {
		var text strings.Builder
		text.WriteString(pointToPoint + "\n")
		for peer := range 100 {
			fmt.Fprintf(&text, "E\t%d\t%d\t%d bytes\t1 msgs sent\t0\n", rank, peer, peer)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("traffic.%d.prof", rank)), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, rank := range ReadPod(folder, 20, time.Now()).Ranks {
		if len(rank.Sent) != 5 || rank.Sent[0].To != 99 || rank.Messages != 100 || rank.Bytes != 4950 {
			t.Errorf("rank %d tells %d of its pairs, and %d bytes in all", rank.Rank, len(rank.Sent), rank.Bytes)
		}
	}
	if pod, err := AnswerTraffic(folder, []byte(`{"pairs": -1}`)); err != nil || len(pod.Ranks) != 4 || len(pod.Ranks[0].Sent) != 1 {
		t.Errorf("%+v, %v", pod, err)
	}
	if _, err := AnswerTraffic(folder, nil); err == nil {
		t.Error("no question was answered")
	}
}

// ranks returns the traffic of a pod: of each rank a list of bytes by peer, in messages of 10 bytes.
func ranks(host string, first int, age float64, sent ...[]uint64) Pod {
	pod := Pod{Host: host}
	for i, bytes := range sent {
		rank := mpi.RankTraffic{Rank: first + i, Age: age}
		for to, n := range bytes {
			if n > 0 {
				rank.Sent = append(rank.Sent, mpi.SentTraffic{To: to, Bytes: n, Messages: n / 10})
				rank.Bytes, rank.Messages = rank.Bytes+n, rank.Messages+n/10
			}
		}
		rank.CollectiveBytes = rank.Bytes / 2
		pod.Ranks = append(pod.Ranks, rank)
	}
	return pod
}

func TestLines(t *testing.T) {
	wide := make([][]uint64, 20)
	for i := range wide {
		wide[i] = make([]uint64, 20)
		wide[i][(i+1)%20] = 1000
	}
	four := []Pod{ranks("demo-node-0-0", 0, 1, []uint64{0, 1000, 2000, 0}, []uint64{500, 0, 0, 3 << 20}), ranks("demo-node-0-1", 2, 1, []uint64{0, 0, 0, 100}, []uint64{0, 0, 100, 0})}
	for name, tc := range map[string]struct {
		reason string
		pods   []Pod
		want   []string
	}{
		"Four": {"people see who sends to whom", four, []string{
			"counted by 4 of 4 ranks: 3.00 MiB in 314942 messages, 100 % of it between nodes, 50 % inside of collectives",
			`  from \ to  rank 0    rank 1    rank 2  rank 3`,
			`     rank 0       -  0.98 KiB  1.95 KiB       -  demo-node-0-0`,
			`     rank 1   500 B         -         -   3 MiB  demo-node-0-0`,
			`     rank 2       -         -         -   100 B  demo-node-0-1`,
			`     rank 3       -         -     100 B       -  demo-node-0-1`,
			"rank 1 (demo-node-0-0) has most of it: sent 3.00 MiB, received 0.98 KiB, 899.2 times the median",
		}},
		"Wide": {"a table of many ranks is one of nodes, and ranks that are alike need no name", []Pod{ranks("a", 0, 1, wide[:10]...), ranks("b", 10, 1, wide[10:]...)}, []string{
			"counted by 20 of 20 ranks: 19.5 KiB in 2000 messages, 10 % of it between nodes, 50 % inside of collectives",
			`  from \ to         a         b`,
			"          a  8.79 KiB  0.98 KiB",
			"          b  0.98 KiB  8.79 KiB",
			"rank 0 (a) to rank 1 (a): 0.98 KiB in 100 messages",
			"rank 1 (a) to rank 2 (a): 0.98 KiB in 100 messages",
			"rank 2 (a) to rank 3 (a): 0.98 KiB in 100 messages",
			"rank 3 (a) to rank 4 (a): 0.98 KiB in 100 messages",
			"rank 4 (a) to rank 5 (a): 0.98 KiB in 100 messages",
		}},
		"Missing": {"a rank that left nothing is not one that sent nothing", []Pod{ranks("a", 0, 1, []uint64{0, 10})}, []string{
			"counted by 1 of 2 ranks: 10 B in 1 messages, 0 % of it between nodes, 50 % inside of collectives",
			`  from \ to  rank 0  rank 1`,
			`     rank 0       -    10 B  a`,
			`     rank 1       -       -  no count`,
		}},
		"Silent": {"nothing is no fault", []Pod{ranks("a", 0, 1, []uint64{0}, []uint64{0})}, []string{
			"counted by 2 of 2 ranks: 0 B in 0 messages, 0 % of it between nodes, 0 % inside of collectives",
			`  from \ to  rank 0  rank 1`,
			`     rank 0       -       -  a`,
			`     rank 1       -       -  a`,
		}},
		"Nothing": {"people are told what may be wrong", []Pod{ranks("a", 0, 1)}, []string{
			"no rank left a count of its messages: programs of Open MPI do in MPI_Finalize, where OMPI_MCA_pml does not leave out `monitoring`",
		}},
		"ManyNodes": {"a log has bounds", manyPods(17), []string{
			"counted by 17 of 17 ranks: 1.33 KiB in 136 messages, 100 % of it between nodes, 50 % inside of collectives",
			"rank 16 (node-16) to rank 0 (node-0): 160 B in 16 messages",
			"rank 15 (node-15) to rank 0 (node-0): 150 B in 15 messages",
			"rank 14 (node-14) to rank 0 (node-0): 140 B in 14 messages",
			"rank 13 (node-13) to rank 0 (node-0): 130 B in 13 messages",
			"rank 12 (node-12) to rank 0 (node-0): 120 B in 12 messages",
			"rank 0 (node-0) has most of it: sent 0 B, received 1.33 KiB, 15.1 times the median",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, MatrixOf(tc.pods, 60).Lines()); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func manyPods(n int) []Pod {
	var pods []Pod
	for i := range n {
		pods = append(pods, ranks(fmt.Sprint("node-", i), i, 1, []uint64{uint64(10 * i)}))
	}
	return pods
}

// A command may launch more than once, and a rank that an earlier launch had more of leaves a file, too.
func TestOnlyTheNewestLaunchCounts(t *testing.T) {
	old, young := ranks("a", 0, 100, []uint64{0, 10}, []uint64{10}, []uint64{10}), ranks("b", 0, 5, []uint64{0, 30})
	if got := MatrixOf([]Pod{old, young}, 50); got.total.bytes != 30 || got.hosts[0] != "b" || len(got.hosts) != 1 {
		t.Errorf("%+v", got)
	}
	if got := MatrixOf([]Pod{old}, 50); got.total.bytes != 30 || len(got.hosts) != 3 {
		t.Errorf("the newest launch was no MPI program: %+v", got)
	}
	if got := MatrixOf([]Pod{old, young}, 500); got.total.bytes != 50 || got.hosts[0] != "b" {
		t.Errorf("of two who tell of a rank the later one counts: %+v", got)
	}
}

func FuzzParseCounts(f *testing.F) {
	for _, path := range []string{"testdata/openmpi4/traffic.0.prof", "testdata/openmpi5/traffic.1.prof"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(pointToPoint + "\nE\t0\t1\t18446744073709551615 bytes\t18446744073709551615 msgs sent\nI\t0\t1\t1 bytes\t1 msgs sent\n")
	f.Fuzz(func(t *testing.T, text string) {
		rank, err := parseCounts(strings.NewReader(text), 8)
		if err != nil {
			return
		}
		if len(rank.Sent) > 8 || rank.CollectiveBytes > rank.Bytes {
			t.Errorf("%+v", rank)
		}
		for _, line := range MatrixOf([]Pod{{Host: "a", NodeTraffic: mpi.NodeTraffic{Ranks: []mpi.RankTraffic{rank}}}}, 1).Lines() {
			if len(line) > 300 || strings.ContainsAny(line, "\n\r\x1b") {
				t.Errorf("the log has %q", line)
			}
		}
	})
}
