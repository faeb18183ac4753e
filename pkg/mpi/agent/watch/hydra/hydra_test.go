package hydra

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

const proxyLine = "/usr/bin/hydra_pmi_proxy --control-port l:1"

func TestLauncherKillDelay(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		code    int
		after   time.Duration
		end     bool
	}{
		"success":          {proxyLine, 0, 0, false},
		"lost":             {proxyLine, 255, 0, true},
		"killed":           {proxyLine, 137, 0, true},
		"told to end":      {proxyLine, 143, ownEnd, true},
		"not in the image": {proxyLine, 127, 0, true},
		"a rank failed":    {proxyLine, 7, ownEnd, true},
		"Open MPI, lost":   {"orted -mca x", 255, 0, false},
	} {
		if after, end := LauncherKillDelay(c.command, c.code); after != c.after || end != c.end {
			t.Errorf("%s: got %v, %v", name, after, end)
		}
	}
}

// TestHiddenFailureEndsHydra: mpiexec hears what it would have heard, and ends in time.
func TestHiddenFailureEndsHydra(t *testing.T) {
	if after, end := LauncherKillDelay(proxyLine, CodeHidden); DecodeExitCode(proxyLine, CodeHidden) != 0 || after != ownEnd || !end {
		t.Errorf("%d: %v, %v", DecodeExitCode(proxyLine, CodeHidden), after, end)
	}
	if got := DecodeExitCode("train", CodeHidden); got != CodeHidden {
		t.Errorf("a command that exits so: %d", got)
	}
}

// withProxies are proxies of which each is a command of a node.
func withProxies(pids ...int) *Proxies {
	x := NewProxies()
	for _, pid := range pids {
		x.byPID[pid] = &Proxy{pid: pid, command: pid, ranks: map[int]rankNumbers{}}
	}
	return x
}

// Two launches may run on a node at the same time, and a number may be given away again.
func TestAProxyThatHidesAFailureIsNotBelieved(t *testing.T) {
	const command, other = 20, 30
	watch := func(x *Proxies, line string, pid int) *proxyWatch {
		_, w := WatchProxy(t.Context(), x, line)
		w.StartWatching(pid)
		return w
	}
	x := withProxies(command, other)
	if got := watch(x, proxyLine, command).EncodeExitCode(0); got != 0 {
		t.Errorf("nothing failed: %d", got)
	}
	for range 16 {
		x.NoteRankFailure(x.byPID[command])
	}
	failed := watch(x, proxyLine, command)
	for name, c := range map[string]struct {
		w          *proxyWatch
		code, want int
	}{
		"failed":       {failed, 0, CodeHidden},
		"admitted":     {failed, 7, 7},
		"other launch": {watch(x, proxyLine, other), 0, 0},
		"other daemon": {watch(x, "orted", command), 0, 0},
	} {
		if got := c.w.EncodeExitCode(c.code); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	failed.StopWatching()
	if got := watch(x, proxyLine, command).EncodeExitCode(0); got != 0 {
		t.Errorf("an earlier command of this number: %d", got)
	}
}

func TestAProxyThatHangsIsEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		line    string
		command int
		ends    bool
	}{
		"hangs":        {proxyLine, 20, true},
		"other launch": {proxyLine, 30, false},
		"other daemon": {"orted", 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := withProxies(20, 30)
				ctx, w := WatchProxy(t.Context(), x, tc.line)
				defer w.StopWatching()
				w.StartWatching(tc.command)
				time.Sleep(time.Hour)
				if ctx.Err() != nil {
					t.Fatal("ended without a reason")
				}
				x.mu.Lock()
				x.byPID[20].waiting, x.byPID[20].looked = time.Now().Add(-hungAfter), time.Now()
				x.mu.Unlock()
				time.Sleep(time.Second)
				if got := errors.Is(context.Cause(ctx), ErrRanksWait); got != tc.ends {
					t.Errorf("ended: %t", got)
				}
			})
		})
	}
}

func TestEmptyLaunch(t *testing.T) {
	for name, c := range map[string]struct {
		table []proc.Process
		want  int
	}{
		"nothing below it":    {[]proc.Process{{PID: 2, Parent: 1, Name: "mpiexec.hydra"}}, 2},
		"its own proxy":       {[]proc.Process{{PID: 2, Parent: 1, Name: "mpiexec.hydra"}, {PID: 3, Parent: 2, Name: "hydra_pmi_proxy"}}, 2},
		"ranks here":          {[]proc.Process{{PID: 2, Parent: 1, Name: "mpiexec.hydra"}, {PID: 3, Parent: 2, Name: "hydra_pmi_proxy"}, {PID: 4, Parent: 3, Name: "python"}}, 0},
		"a node that answers": {[]proc.Process{{PID: 2, Parent: 1, Name: "bash"}, {PID: 3, Parent: 2, Name: "mpiexec.hydra"}, {PID: 4, Parent: 3, Name: "rsh"}}, 0},
		"no launch":           {[]proc.Process{{PID: 2, Parent: 1, Name: "python"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := idleLauncher(c.table); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
