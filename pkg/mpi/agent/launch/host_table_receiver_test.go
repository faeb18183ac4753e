package launch

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHostTableReceiverGivesOneAnswer(t *testing.T) {
	hosts := []mpi.Host{{Name: "a"}}
	request := encode(t, mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a", Address: "10.0.0.1"}}})
	r := newHostTableReceiver(hosts)
	answers := make(chan any, 2)
	for range 2 {
		go func() {
			answer, _ := r.answerPush(context.Background(), request)
			answers <- answer
		}()
	}
	<-r.tables
	want := mpi.GateResult{Passed: true, Seconds: 1}
	r.answerAllPushes(want)
	r.answerAllPushes(mpi.GateResult{})
	for range 2 {
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Error(diff)
		}
	}
	late := encode(t, mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a", Address: "10.0.0.2"}}})
	if answer, err := r.answerPush(context.Background(), late); err != nil || cmp.Diff(want, answer) != "" {
		t.Errorf("a late push got %v, %v", answer, err)
	}
}

func TestHostTableReceiverRefusesTablesThatCannotWork(t *testing.T) {
	r := newHostTableReceiver([]mpi.Host{{Name: "a.demo"}})
	for name, request := range map[string]string{
		"not JSON":     "addresses please",
		"missing host": `{"hosts":[{"name":"b.demo","address":"10.0.0.1"}]}`,
		"a name":       `{"hosts":[{"name":"a.demo","address":"evil.example"}]}`,
		"no address":   `{"hosts":[{"name":"a.demo","address":""}]}`,
	} {
		if answer, err := r.answerPush(context.Background(), []byte(request)); err == nil {
			t.Errorf("%s: accepted, %v", name, answer)
		}
	}
}

// Who pushes a table hears that the launcher is there, however long its gate takes.
func TestHostTableReceiverSaysThatTheGateStillWaits(t *testing.T) {
	r := newHostTableReceiver(nil)
	r.holds = time.Millisecond
	for _, taken := range []bool{false, true} {
		if taken {
			go func() { <-r.tables }()
		}
		answer, err := r.answerPush(context.Background(), []byte(`{}`))
		if diff := cmp.Diff(mpi.GateResult{Waiting: true}, answer); err != nil || diff != "" {
			t.Errorf("table taken: %v: %v\n%s", taken, err, diff)
		}
	}
}

func TestHostTableReceiverForgetsAPusherWhoLeaves(t *testing.T) {
	r := newHostTableReceiver(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.answerPush(ctx, []byte(`{}`)); err == nil {
		t.Error("answered")
	}
}

// A pusher that does not know of Up, such as an older controller, takes every answer for the end.
func TestOnlyWhoSaysUpHearsOfDoubts(t *testing.T) {
	r := newHostTableReceiver(nil)
	answered := make(chan any, 1)
	go func() {
		answer, _ := r.answerPush(t.Context(), encode(t, mpi.HostTable{}))
		answered <- answer
	}()
	<-r.tables
	select {
	case r.doubts <- []mpi.NodeFailure{{Name: "demo-node-0-0"}}:
		t.Error("somebody took the doubts")
	case <-time.After(50 * time.Millisecond):
	}
	r.answerAllPushes(mpi.GateResult{Passed: true})
	if diff := cmp.Diff(mpi.GateResult{Passed: true}, <-answered); diff != "" {
		t.Error(diff)
	}
}
