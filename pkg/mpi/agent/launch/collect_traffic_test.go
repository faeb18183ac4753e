package launch

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/node"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
)

// leaveCount leaves what a rank has sent to another in the state folder of its pod.
func leaveCount(t *testing.T, stateDir string, rank, to, bytes int) {
	t.Helper()
	text := fmt.Sprintf("# POINT TO POINT\nE\t%d\t%d\t%d bytes\t1 msgs sent\t0,1\n# OSC\n", rank, to, bytes)
	if err := os.WriteFile(filepath.Join(stateDir, fmt.Sprintf("traffic.%d.prof", rank)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// traced is a launcher whose ranks have left files in a state folder, and the ranks of the first node in another, with its log.
func (g *gateTest) traced(own, of string) (*runningJob, *strings.Builder) {
	g.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(g.table.Hosts[0].Address, strconv.Itoa(g.gate.Port)))
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	n := node.Node{Settings: state.Settings{StateDir: of, Port: g.gate.Port}, Hostname: g.hostnames[0], Key: g.gate.Key, Dial: g.gate.Dial, Log: quiet}
	go func() { done <- n.Serve(ctx, listener) }()
	g.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			g.t.Error(err)
		}
	})
	told := &strings.Builder{}
	launcher := g.asking(g.gate.Dial)
	launcher.Log = log.New(told, "", 0)
	launcher.Settings.StateDir = own
	launcher.ranks = watch.NewRankWatcher(watch.NewProcessTracker(nil), false)
	return launcher, told
}

func TestTheLauncherTellsWhatRanksHaveSent(t *testing.T) {
	g := newGateTest(t, 2) // and the second does not answer
	own, of := t.TempDir(), t.TempDir()
	leaveCount(t, own, 0, 1, 700)
	leaveCount(t, of, 1, 0, 2048)
	launcher, told := g.traced(own, of)
	launcher.command.Environment = []string{mpi.TrafficVariable + "=" + mpi.TrafficPath}
	launcher.logTraffic(t.Context())
	for _, want := range []string{
		"traffic: counted by 2 of 2 ranks: 2.68 KiB in 2 messages, 100 % of it between nodes, 0 % inside of collectives\n",
		"rank 0       -   700 B  demo-launcher-0-0\n", "rank 1   2 KiB       -  " + hosts.FirstLabel(g.hostnames[0]) + "\n",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, told.String())
		}
	}
}

// A job that asks for nothing, or that has the counts go somewhere else, is asked nothing.
func TestNothingIsAskedOfAJobThatIsNotTraced(t *testing.T) {
	g := newGateTest(t, 1)
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) {
		t.Error("a node is asked")
		return nil, net.ErrClosed
	})
	for _, environment := range [][]string{nil, {mpi.TrafficVariable + "=/work/all"}} {
		launcher.command.Environment = environment
		launcher.logTraffic(t.Context())
	}
}
