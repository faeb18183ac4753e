package waiting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

const second = 1_000_000_000

// gone is a process that there is not.
const gone = maxPID

// leave leaves the page of a rank.
func leave(t *testing.T, dir, name string, p page) {
	t.Helper()
	var text bytes.Buffer
	if err := binary.Write(&text, binary.LittleEndian, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pageOf is one that began so many seconds ago.
func pageOf(ago uint64, edit func(*page)) page {
	now := monotonicNow()
	p := page{Magic: magic, PID: gone, Began: now - ago*second, Last: now - ago*second}
	edit(&p)
	return p
}

func near(got, want float64) bool { return math.Abs(got-want) < 3 }

func TestReadTellsHowLongARankHasRun(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, "waiting.0", pageOf(100, func(p *page) {
		p.Ended, p.Last = p.Began+60*second, p.Began+60*second
		p.Kinds[mpi.MPICollective].Calls, p.Kinds[mpi.MPICollective].Time = 5, 30*second
	}))
	leave(t, dir, "waiting.1", pageOf(100, func(p *page) { p.PID = uint64(os.Getpid()) }))
	leave(t, dir, "waiting.2", pageOf(100, func(p *page) {
		p.Since, p.Inside = p.Began+20*second, mpi.MPIMessage
	}))
	leave(t, dir, "waiting.3", pageOf(100, func(p *page) {
		p.Since, p.Inside = p.Began+20*second, mpi.MPIMessage
		p.Kinds[mpi.MPIMessage].Calls, p.Kinds[mpi.MPIMessage].Time = 1, 10*second
	}))
	pod := Pod{StateDir: dir, EndOf: func(rank int) (time.Time, bool) { return time.Now().Add(-30 * time.Second), rank == 3 }}
	ranks := pod.Read(tracefile.MaxFiles).Ranks
	if len(ranks) != 4 {
		t.Fatalf("%+v", ranks)
	}
	for _, tc := range []struct {
		reason    string
		rank      int
		seconds   float64
		finalized bool
		inside    string
		kind      int
		calls     uint64
		waited    float64
	}{
		{"one that is over has run until MPI_Finalize", 0, 60, true, "", mpi.MPICollective, 5, 30},
		{"one that lives runs until now", 1, 100, false, "", mpi.MPICollective, 0, 0},
		{"one whose end nobody saw ended when it was heard of last", 2, 20, false, "messages", mpi.MPIMessage, 1, 0},
		{"one that was killed while it waited, waited until then", 3, 70, false, "messages", mpi.MPIMessage, 2, 60},
	} {
		r := ranks[tc.rank]
		if r.Rank != tc.rank || !near(r.Age, 100) || !near(r.Seconds, tc.seconds) || r.Finalized != tc.finalized || r.Inside != tc.inside ||
			r.Kinds[tc.kind].Calls != tc.calls || !near(r.Kinds[tc.kind].Seconds, tc.waited) {
			t.Errorf("%s: %+v", tc.reason, r)
		}
	}
}

// Programs of the user write these files, and may write anything.
func TestReadIsNotFooled(t *testing.T) {
	dir := t.TempDir()
	good := pageOf(10, func(p *page) { p.Ended = p.Began + second })
	leave(t, dir, "waiting.0", good)
	for name, edit := range map[string]func(*page){
		"waiting.1": func(p *page) { p.Magic[0] = 'w' },
		"waiting.2": func(p *page) { p.Began = math.MaxUint64 },
		"waiting.3": func(p *page) { p.Began = 0 },
		"waiting.4": func(p *page) { p.Ended, p.Last = 1, 0 },
	} {
		p := good
		edit(&p)
		leave(t, dir, name, p)
	}
	for _, name := range []string{"waiting.05", "waiting.-1", "waiting.99999999", "waiting.x", "waiting", "waiting.7.12"} {
		leave(t, dir, name, good)
	}
	if err := os.WriteFile(filepath.Join(dir, "waiting.8"), []byte("WAITING1"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := t.TempDir()
	leave(t, secret, "secret", good)
	if err := os.Symlink(filepath.Join(secret, "secret"), filepath.Join(dir, "waiting.9")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "waiting.10"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "waiting.11"), 0o700); err != nil {
		t.Fatal(err)
	}
	if ranks := (Pod{StateDir: dir, EndOf: never}).Read(tracefile.MaxFiles).Ranks; len(ranks) != 1 || ranks[0].Rank != 0 {
		t.Errorf("read %+v", ranks)
	}
	if ranks := (Pod{StateDir: filepath.Join(dir, "none"), EndOf: never}).Read(tracefile.MaxFiles).Ranks; len(ranks) != 0 {
		t.Errorf("read %+v", ranks)
	}
}

// Whatever the numbers are, none is more than the rank has run.
func TestReadBoundsNumbers(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, "waiting.0", pageOf(10, func(p *page) {
		p.PID, p.Ended, p.Last, p.Since, p.Inside = math.MaxUint64, math.MaxUint64, math.MaxUint64, 1, mpi.MPIFile
		for i := range p.Kinds {
			p.Kinds[i].Calls, p.Kinds[i].Time = math.MaxUint64, math.MaxUint64
		}
	}))
	leave(t, dir, "waiting.1", pageOf(10, func(p *page) { p.Since, p.Inside = p.Began+second, math.MaxUint64 }))
	ranks := (Pod{StateDir: dir, EndOf: never}).Read(tracefile.MaxFiles).Ranks
	if len(ranks) != 2 || ranks[1].Inside != "" {
		t.Fatalf("%+v", ranks)
	}
	for _, kind := range ranks[0].Kinds {
		if kind.Calls != math.MaxUint64 || !near(kind.Seconds, 10) {
			t.Errorf("%+v", kind)
		}
	}
	launch := LaunchOf([]HostPod{{Host: "a", NodeWaiting: mpi.NodeWaiting{Ranks: ranks}}}, 100)
	if share := launch[0].share(); share < 0 || share > 1 || launch[0].calls() != math.MaxUint64 {
		t.Errorf("%v, %v", share, launch[0].calls())
	}
}

func TestReadTakesSoManyRanks(t *testing.T) {
	dir := t.TempDir()
	page := pageOf(10, func(p *page) { p.Ended = p.Began + second })
	for rank := range tracefile.MaxFiles + 10 {
		leave(t, dir, fmt.Sprintf("waiting.%d", rank), page)
	}
	if ranks := (Pod{StateDir: dir, EndOf: never}).Read(tracefile.MaxFiles).Ranks; len(ranks) != tracefile.MaxFiles || ranks[tracefile.MaxFiles-1].Rank != tracefile.MaxFiles-1 {
		t.Errorf("%d ranks", len(ranks))
	}
	pod := Pod{StateDir: dir, EndOf: never}
	for request, want := range map[string]int{`{"ranks": 3}`: 3, `{"ranks": -1}`: 1, `{"ranks": 100000}`: tracefile.MaxFiles} {
		answer, err := pod.Answer(t.Context(), []byte(request))
		if told, is := answer.(mpi.NodeWaiting); err != nil || !is || len(told.Ranks) != want {
			t.Errorf("%s: %v, %v", request, answer, err)
		}
	}
	if _, err := pod.Answer(t.Context(), nil); err == nil {
		t.Error("no question was answered")
	}
}
