package launch

import (
	"errors"
	"io"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
)

func TestTroubles(t *testing.T) {
	failed := func(cause client.Cause) error { return &client.Failure{Cause: cause, Err: io.EOF} }
	cut := func(cause client.Cause) error { return &cutOffError{mpi.NodeFailure{Error: string(cause)}} }
	cases := map[string]struct {
		reason string
		err    error
		up     bool
		want   nodeTrouble
	}{
		"lost":              {"a pod that starts does not swallow packets", failed(client.TimedOut), false, unreachable},
		"no route":          {"", failed(client.Unreachable), false, unreachable},
		"refused, starting": {"an image may take minutes", failed(client.Refused), false, none},
		"refused, up":       {"", failed(client.Refused), true, rejected},
		"refused, peer":     {"both nodes have answered the launcher, so both listen", cut(client.Refused), false, rejected},
		"lost, peer":        {"", cut(client.TimedOut), false, unreachable},
		"mute":              {"a busy node is not a blocked one", failed(client.NoHandshake), true, noHandshake},
		"key":               {"", failed(client.Authentication), false, wrongKey},
		"another pod":       {"", &client.Failure{Cause: client.OtherPod, Err: errors.New("demo-node-0-1")}, false, misplaced},
		"other":             {"", failed(client.Lost), true, none},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := troubleOf(c.err, c.up); got != c.want {
				t.Errorf("%s: got %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

func TestTheGateGivesUpOnTroubles(t *testing.T) {
	g := Gate{UnreachableTimeout: time.Minute, WrongKeyTimeout: time.Second}
	for in, want := range map[nodeTrouble]time.Duration{unreachable: time.Minute, rejected: time.Minute, noHandshake: time.Minute, wrongKey: time.Second} {
		if limit, ends := g.limitOfTrouble(in); !ends || limit != want {
			t.Errorf("trouble %d ends after %v (%v), want %v", in, limit, ends, want)
		}
	}
	if _, ends := g.limitOfTrouble(misplaced); ends {
		t.Error("a newer table may know better")
	}
	for _, in := range []nodeTrouble{wrongKey, unreachable, rejected, noHandshake, misplaced} {
		if after, found := doubtAfter[in]; !found || after > 10*time.Second {
			t.Errorf("users read of trouble %d after %v", in, after)
		}
	}
	if _, ends := (Gate{}).limitOfTrouble(rejected); ends {
		t.Error("without a limit the deadline decides")
	}
}

func TestATroubleLastsAsLongAsItIsTheSame(t *testing.T) {
	begin, l := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), lastingTrouble{}
	for i, now := range []nodeTrouble{none, unreachable, unreachable, rejected, unreachable} {
		l.noteTrouble(now, begin.Add(time.Duration(i)*time.Second))
		want := begin.Add(time.Duration([]int{0, 1, 1, 3, 4}[i]) * time.Second)
		if l.trouble != now || !l.since.Equal(want) {
			t.Errorf("%d: %+v", i, l)
		}
	}
}
