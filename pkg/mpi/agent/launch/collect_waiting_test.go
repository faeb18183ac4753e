package launch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// leaveWaiting leaves what the library counts of a rank that ran for ten seconds, and waited for some of them.
func leaveWaiting(t *testing.T, stateDir string, rank int, waited uint64) {
	t.Helper()
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock); err != nil {
		t.Fatal(err)
	}
	now := uint64(clock.Nano())
	const second = uint64(time.Second)
	text := bytes.NewBufferString("WAITING1")
	words := [18]uint64{1 << 22, now - 10*second, now, now, 0, 0, 1, 0, 3, waited * second}
	if err := binary.Write(text, binary.LittleEndian, words); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stateDir, fmt.Sprintf("waiting.%d", rank)), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheLauncherTellsWhoKeepsTheOthersWaiting(t *testing.T) {
	g := newGateTest(t, 2) // and the second does not answer
	own, of := t.TempDir(), t.TempDir()
	leaveWaiting(t, own, 0, 8)
	leaveWaiting(t, of, 1, 1)
	launcher, told := g.traced(own, of)
	launcher.command.Environment = []string{mpi.WaitingVariable + "=" + mpi.WaitingPath}
	launcher.logWaiting(t.Context())
	for _, want := range []string{
		"waiting: counted of 2 ranks: inside of MPI for 10 % to 80 % of their run",
		"rank 0  10.0 s    80 %    0.00 s       8.00 s      4  demo-launcher-0-0\n", "rank 1  10.0 s    10 %    0.00 s       1.00 s      4  " + hosts.FirstLabel(g.hostnames[0]) + "\n",
		"waiting: rank 1 (" + hosts.FirstLabel(g.hostnames[0]) + ") keeps the others waiting",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, told.String())
		}
	}
}

// Nobody asks the nodes of a job that does not want to know, at its end or while it runs.
func TestNobodyIsAskedHowLongUncountedRanksWait(t *testing.T) {
	g := newGateTest(t, 1)
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) {
		t.Error("a node is asked")
		return nil, net.ErrClosed
	})
	for _, environment := range [][]string{nil, {mpi.WaitingVariable + "=/work/mine"}} {
		launcher.command.Environment = environment
		launcher.logWaiting(t.Context())
		launcher.logStragglers(t.Context())
	}
}
