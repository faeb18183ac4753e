package client_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
)

var dialer = (&net.Dialer{}).DialContext

// answering returns the address of a server that treats every connection in one way.
func answering(t *testing.T, treat func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go treat(conn)
		}
	}()
	return listener.Addr().String()
}

func TestConnectNamesTheCause(t *testing.T) {
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing.Close()
	failing := func(err error) client.Dial {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
	cases := map[string]struct {
		dial    client.Dial
		address string
		limit   time.Duration
		want    client.Cause
	}{
		"refused":     {dialer, refusing.Addr().String(), time.Minute, client.Refused},
		"mute":        {dialer, answering(t, func(net.Conn) {}), 2 * time.Second, client.NoHandshake},
		"disconnects": {dialer, answering(t, func(c net.Conn) { c.Close() }), time.Minute, client.Lost},
		"web server":  {dialer, answering(t, func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat("HTTP/1.1 400 Bad Request ", 20)) }), time.Minute, client.NotAnAgent},
		"no route":    {failing(syscall.EHOSTUNREACH), "10.0.0.1:2222", time.Minute, client.Unreachable},
		"timed out":   {failing(syscall.ETIMEDOUT), "10.0.0.1:2222", time.Minute, client.TimedOut},
		"no name":     {failing(&net.DNSError{IsNotFound: true}), "w-0:2222", time.Minute, client.NoAddress},
		"other":       {failing(errors.New("odd")), "10.0.0.1:2222", time.Minute, client.Other},
		"no deadline": {failing(context.DeadlineExceeded), "10.0.0.1:2222", time.Minute, client.TimedOut},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			_, err := client.Connect(ctx, c.dial, agenttest.NewKey(t), c.address)
			var failure *client.Failure
			if !errors.As(err, &failure) || failure.Cause != c.want {
				t.Fatalf("got %v", err)
			}
			if failure.Cause.Remedy() == "" || failure.Err == nil {
				t.Errorf("no remedy or no error behind it: %+v", failure)
			}
		})
	}
}

func TestAt(t *testing.T) {
	for address, want := range map[string]string{"10.0.0.1": "10.0.0.1:2222", "fd00::1": "[fd00::1]:2222", "": "", "w-0.demo": ""} {
		got, err := client.AgentAddress(mpi.HostAddress{Name: "w-0", Address: address}, 2222)
		var failure *client.Failure
		if got != want || want == "" && (!errors.As(err, &failure) || failure.Cause != client.NoAddress) {
			t.Errorf("%q: got %q, %v", address, got, err)
		}
	}
}

func TestPushNeedsALauncher(t *testing.T) {
	for name, table := range map[string]mpi.HostTable{
		"no host":    {},
		"no address": {Hosts: []mpi.HostAddress{{Name: "l"}}},
	} {
		if _, err := client.PushHostTable(t.Context(), dialer, agenttest.NewKey(t), table); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A launcher is a user's: it may accept a connection, or a question, and say nothing.
func TestPushDoesNotWaitForAMuteLauncher(t *testing.T) {
	client.LauncherAnswersWithin(t, 2*time.Second)
	key := agenttest.NewKey(t)
	accepts := answering(t, func(net.Conn) {})
	listens := serving(t, &server.Server{Key: key, Limits: server.DefaultLimits, Log: log.New(io.Discard, "", 0), Handlers: server.Handlers{
		Subsystems: map[string]server.Subsystem{mpi.HostTableSubsystem: func(ctx context.Context, _ []byte) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}})
	for name, address := range map[string]string{"accepts only": accepts, "takes the question": listens} {
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) { return dialer(ctx, network, address) }
		_, err := client.PushHostTable(t.Context(), dial, key, mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "l", Address: "10.0.0.1"}}})
		var failure *client.Failure
		if !errors.As(err, &failure) || failure.Cause != client.NoHandshake {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The report says how long ago things happened. An agent that is slow to answer the second question must not make them look
// younger.
func TestAReportCountsFromWhenItCame(t *testing.T) {
	key, asked, age := agenttest.NewKey(t), make(chan time.Time, 1), 4.5
	address := serving(t, &server.Server{Key: key, Limits: server.DefaultLimits, Log: log.New(io.Discard, "", 0), Handlers: server.Handlers{
		Subsystems: map[string]server.Subsystem{
			mpi.ReportSubsystem: func(context.Context, []byte) (any, error) {
				return client.ReportReply{NodeReport: mpi.NodeReport{Daemons: 3}, LaunchAge: &age}, nil
			},
			mpi.ProgressSubsystem: func(context.Context, []byte) (any, error) {
				asked <- time.Now()
				return mpi.Progress{Processes: 2}, nil
			},
		},
	}})
	answer, err := client.AskReport(t.Context(), dialer, key, address)
	if err != nil || answer.Daemons != 3 || answer.LaunchAge == nil || *answer.LaunchAge != age || answer.Progress.Processes != 2 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if next := <-asked; answer.Received.IsZero() || answer.Received.After(next) {
		t.Errorf("received at %v, the next question came at %v", answer.Received, next)
	}
}

// serving returns the address of an agent.
func serving(t *testing.T, s *server.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
