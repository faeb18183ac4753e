package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const proxyLine = "/usr/bin/hydra_pmi_proxy --control-port l:1"

func TestHydraMercy(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		result  Result
		after   time.Duration
		end     bool
	}{
		"success":          {proxyLine, Result{}, 0, false},
		"lost":             {proxyLine, Result{Code: 255, Lost: true}, 0, true},
		"killed":           {proxyLine, Result{Code: 137}, 0, true},
		"told to end":      {proxyLine, Result{Code: 143}, ownEnd, true},
		"not in the image": {proxyLine, Result{Code: 127}, 0, true},
		"a rank failed":    {proxyLine, Result{Code: 7}, ownEnd, true},
		"Open MPI, lost":   {"orted -mca x", Result{Code: 255, Lost: true}, 0, false},
	} {
		if after, end := HydraMercy(c.command, c.result); after != c.after || end != c.end {
			t.Errorf("%s: got %v, %v", name, after, end)
		}
	}
}

// TestHiddenFailureEndsHydra: mpiexec hears what it would have heard, and ends in time.
func TestHiddenFailureEndsHydra(t *testing.T) {
	result := resultOf(proxyLine, codeHidden)
	if after, end := HydraMercy(proxyLine, result); result.Code != 0 || after != ownEnd || !end {
		t.Errorf("%+v: %v, %v", result, after, end)
	}
	if got := resultOf("train", codeHidden); got.Code != codeHidden || got.Hidden {
		t.Errorf("a command that exits so: %+v", got)
	}
}

// withProxies are proxies of which each is a command of a node.
func withProxies(pids ...int) *proxies {
	x := newProxies()
	for _, pid := range pids {
		x.byPID[pid] = &proxy{pid: pid, command: pid, ranks: map[int]place{}}
	}
	return x
}

// Two launches may run on a node at the same time, and a number may be given away again.
func TestAProxyThatHidesAFailureIsNotBelieved(t *testing.T) {
	const command, other = 20, 30
	watch := func(x *proxies, line string, pid int) *proxyWatch {
		_, w := watchProxy(t.Context(), x, line)
		w.started(pid)
		return w
	}
	x := withProxies(command, other)
	if got := watch(x, proxyLine, command).truth(0); got != 0 {
		t.Errorf("nothing failed: %d", got)
	}
	for range 2 * mostRanks {
		x.rankFailed(x.byPID[command])
	}
	failed := watch(x, proxyLine, command)
	for name, c := range map[string]struct {
		w          *proxyWatch
		code, want int
	}{
		"failed":       {failed, 0, codeHidden},
		"admitted":     {failed, 7, 7},
		"other launch": {watch(x, proxyLine, other), 0, 0},
		"other daemon": {watch(x, "orted", command), 0, 0},
	} {
		if got := c.w.truth(c.code); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	failed.release()
	if got := watch(x, proxyLine, command).truth(0); got != 0 {
		t.Errorf("an earlier command of this number: %d", got)
	}
}

// Failures of earlier launches must not fill up what is known of the newest one.
func TestALaterFailureOfHydraIsKnownToo(t *testing.T) {
	r := newRanks()
	r.proxies = withProxies(20, 30)
	for range 2 * mostRanks {
		r.ended(3, r.proxies.byPID[20], exited(1))
	}
	if r.ended(3, r.proxies.byPID[30], exited(1)); !r.proxies.lostRank(30) {
		t.Error("the other launch lost a rank, too")
	}
	if got := r.report(); !got[0].Hydra {
		t.Errorf("%+v", got[0])
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
				ctx, w := watchProxy(t.Context(), x, tc.line)
				defer w.release()
				w.started(tc.command)
				time.Sleep(time.Hour)
				if ctx.Err() != nil {
					t.Fatal("ended without a reason")
				}
				x.mu.Lock()
				x.byPID[20].waiting, x.byPID[20].looked = time.Now().Add(-hungAfter), time.Now()
				x.mu.Unlock()
				time.Sleep(time.Second)
				if got := errors.Is(context.Cause(ctx), errRanksWait); got != tc.ends {
					t.Errorf("ended: %t", got)
				}
			})
		})
	}
}

func TestTheLogSaysWhyACommandEnded(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	pod, release := withCause(stopping, errPodStops)
	defer release()
	session, leave := context.WithCancel(pod)
	if got := after(session); got != "" {
		t.Error(got)
	}
	hung, end := context.WithCancelCause(session)
	end(errRanksWait)
	if got := after(hung); !strings.Contains(got, "a rank had ended") {
		t.Error(got)
	}
	other, cancel := context.WithCancel(pod)
	defer cancel()
	leave()
	if got := after(session); got != " after the launcher closed the session" {
		t.Error(got)
	}
	stop()
	<-other.Done()
	if got := after(other); got != " after the pod was asked to stop" {
		t.Error(got)
	}
}
