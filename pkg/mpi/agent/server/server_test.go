package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
)

// start serves on the loopback interface until the test ends. drain ends it earlier and waits.
func start(t *testing.T, s *server.Server) (address string, drain func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	drain = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(drain)
	return listener.Addr().String(), drain
}

func newServer(key identity.Key, handlers server.Handlers) *server.Server {
	return &server.Server{Key: key, Handlers: handlers, Limits: server.DefaultLimits, Log: log.New(io.Discard, "", 0)}
}

func dial(t *testing.T, key identity.Key, address string) *ssh.Client {
	t.Helper()
	conn, err := client.Connect(t.Context(), (&net.Dialer{}).DialContext, key, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.Client
}

// echo answers with the command line, and with standard input.
func echo(_ context.Context, c server.Command) server.Exit {
	fmt.Fprint(c.Stdout, c.Line)
	_, _ = io.Copy(c.Stdout, c.Stdin)
	return server.Exit{Code: 7}
}

func TestExecReportsStreamsAndExitCode(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	session.Stdin = strings.NewReader(" and more")
	out, err := session.Output("line")
	var exit *ssh.ExitError
	if string(out) != "line and more" || !errors.As(err, &exit) || exit.ExitStatus() != 7 {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestExecReportsSignals(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: func(context.Context, server.Command) server.Exit {
		return server.Exit{Code: 139, Signal: "SEGV", CoreDumped: true}
	}}))
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := session.Run("x"); !errors.As(err, &exit) || exit.Signal() != "SEGV" || exit.ExitStatus() != 139 {
		t.Errorf("got %v", err)
	}
}

func TestHundredSessionsOnOneConnectionEachGetTheirOwnOutput(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	conn := dial(t, key, address)
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			session, err := conn.NewSession()
			if err != nil {
				t.Error(err)
				return
			}
			input := bytes.Repeat([]byte{byte(i)}, 300_000)
			session.Stdin = bytes.NewReader(input)
			if out, _ := session.Output(""); !bytes.Equal(out, input) {
				t.Errorf("session %d got %d bytes, or another's", i, len(out))
			}
		})
	}
	group.Wait()
}

func TestSessionRefusesAllButCommandsAndKnownSubsystems(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	conn := dial(t, key, address)
	text := func(s string) []byte { return ssh.Marshal(struct{ S string }{s}) }
	requests := map[string][]byte{
		"pty-req": ssh.Marshal(struct {
			Term         string
			W, H, PW, PH uint32
			Modes        string
		}{"xterm", 80, 24, 0, 0, ""}),
		"env":       ssh.Marshal(struct{ Name, Value string }{"LD_PRELOAD", "/tmp/evil.so"}),
		"shell":     nil,
		"subsystem": text("sftp"),
		"x11-req": ssh.Marshal(struct {
			Single bool
			P, C   string
			N      uint32
		}{false, "", "", 0}),
		"auth-agent-req@openssh.com": nil,
		"signal":                     text("TERM"),
		"window-change":              ssh.Marshal(struct{ W, H, PW, PH uint32 }{80, 24, 0, 0}),
		"made-up":                    text("x"),
		"exec":                       {0, 0},
	}
	for name, payload := range requests {
		t.Run(name, func(t *testing.T) {
			channel, _, err := conn.OpenChannel("session", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer channel.Close()
			if accepted, err := channel.SendRequest(name, true, payload); accepted || err != nil {
				t.Errorf("accepted %v, %v", accepted, err)
			}
		})
	}
}

func TestConnectionRefusesForwarding(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	conn := dial(t, key, address)
	for _, kind := range []string{"direct-tcpip", "forwarded-tcpip", "direct-streamlocal@openssh.com", "tun@openssh.com", "x11"} {
		var refusal *ssh.OpenChannelError
		if _, _, err := conn.OpenChannel(kind, nil); !errors.As(err, &refusal) || refusal.Reason != ssh.UnknownChannelType {
			t.Errorf("channel %s: %v", kind, err)
		}
	}
	for _, kind := range []string{"tcpip-forward", "cancel-tcpip-forward", "streamlocal-forward@openssh.com"} {
		if accepted, _, err := conn.SendRequest(kind, true, nil); accepted || err != nil {
			t.Errorf("request %s: accepted %v, %v", kind, accepted, err)
		}
	}
	if accepted, _, err := conn.SendRequest(liveness.Request, true, nil); !accepted || err != nil {
		t.Errorf("keepalive: accepted %v, %v", accepted, err)
	}
}

func TestSessionRunsOneCommandOnly(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	channel, _, err := dial(t, key, address).OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	line := ssh.Marshal(struct{ S string }{"x"})
	for i, want := range []bool{true, false} {
		if accepted, err := channel.SendRequest("exec", true, line); accepted != want || err != nil {
			t.Errorf("command %d: accepted %v, %v", i+1, accepted, err)
		}
	}
}

func TestServerWithoutExecRefusesCommands(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{}))
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start("id"); err == nil {
		t.Error("the launcher's server ran a command")
	}
}

func TestCommandHearsThatThePeerHasGone(t *testing.T) {
	leave := map[string]func(*ssh.Client, *ssh.Session){
		"closes the session":  func(_ *ssh.Client, s *ssh.Session) { s.Close() },
		"cuts the connection": func(c *ssh.Client, _ *ssh.Session) { c.Close() },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			key, started, gone := agenttest.NewKey(t), make(chan struct{}), make(chan struct{})
			address, _ := start(t, newServer(key, server.Handlers{Exec: func(ctx context.Context, _ server.Command) server.Exit {
				close(started)
				<-ctx.Done()
				close(gone)
				return server.Exit{}
			}}))
			conn := dial(t, key, address)
			session, err := conn.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			if err := session.Start("wait"); err != nil {
				t.Fatal(err)
			}
			<-started
			leave(conn, session)
			<-gone
		})
	}
}

func TestSilentPeerIsGivenUp(t *testing.T) {
	key, gone := agenttest.NewKey(t), make(chan struct{})
	s := newServer(key, server.Handlers{Exec: func(ctx context.Context, _ server.Command) server.Exit {
		<-ctx.Done()
		close(gone)
		return server.Exit{}
	}})
	s.Limits.Keepalive = liveness.Keepalive{Interval: 20 * time.Millisecond, Misses: 100}
	address, _ := start(t, s)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c, _, requests, err := ssh.NewClientConn(conn, "", key.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	channel, _, err := c.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.SendRequest("exec", false, ssh.Marshal(struct{ S string }{"x"})); err != nil {
		t.Fatal(err)
	}
	<-gone // nobody answers the server's keepalives
	_ = requests
}

func TestHalfOpenConnectionsAreClosedAndDoNotKeepOthersOut(t *testing.T) {
	key := agenttest.NewKey(t)
	s := newServer(key, server.Handlers{Exec: echo})
	s.Limits.Unauthenticated, s.Limits.PerPeer, s.Limits.Handshake = 2, 1, 2*time.Second
	address, _ := start(t, s)
	var mute []net.Conn
	for range 4 {
		mute = append(mute, from(t, "127.0.0.2", address)) // one has a place, the others wait
	}
	dial(t, key, address)
	for _, conn := range mute {
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("a mute connection ended with %v", err)
		}
	}
}

func TestServerLogsStrangersButNotProbes(t *testing.T) {
	key, other := agenttest.NewKey(t), agenttest.NewKey(t)
	var lines bytes.Buffer
	s := newServer(key, server.Handlers{})
	s.Log = log.New(&lines, "", 0)
	address, drain := start(t, s)
	probe, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	probe.Close()
	config := other.ClientConfig()
	config.HostKeyCallback = ssh.InsecureIgnoreHostKey() //nolint:gosec // an intruder's client
	if _, err := ssh.Dial("tcp", address, config); err == nil {
		t.Fatal("a stranger got in")
	}
	drain()
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "does not hold the key of this job") {
		t.Errorf("got log %q", got)
	}
}

func TestDrainEndsRunningCommandsAndTellsTheirCallers(t *testing.T) {
	key, started := agenttest.NewKey(t), make(chan struct{})
	address, drain := start(t, newServer(key, server.Handlers{Exec: func(ctx context.Context, _ server.Command) server.Exit {
		close(started)
		<-ctx.Done()
		return server.Exit{Code: 143, Signal: "TERM"}
	}}))
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start("x"); err != nil {
		t.Fatal(err)
	}
	<-started
	drain()
	var exit *ssh.ExitError
	if err := session.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 143 {
		t.Errorf("the caller heard %v", err)
	}
}

func TestDrainDoesNotWaitForMutePeers(t *testing.T) {
	key := agenttest.NewKey(t)
	never := func(context.Context, []byte) (any, error) { return nil, nil }
	address, drain := start(t, newServer(key, server.Handlers{Subsystems: map[string]server.Subsystem{"s": never}}))
	conn := dial(t, key, address)
	idle, _, err := conn.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	open, _, err := conn.OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := open.SendRequest("subsystem", true, ssh.Marshal(struct{ S string }{"s"})); !ok || err != nil {
		t.Fatal(ok, err)
	}
	drain() // a request that is never finished
}

// A peer that has stopped keeps its connection, and takes no output any more.
func TestDrainDoesNotWaitForPeersThatReadNothing(t *testing.T) {
	key, full := agenttest.NewKey(t), make(chan struct{})
	s := newServer(key, server.Handlers{Exec: func(_ context.Context, c server.Command) server.Exit {
		close(full)
		// More than a window and the buffers of the kernel hold.
		if _, err := c.Stdout.Write(make([]byte, 64<<20)); err == nil {
			t.Error("somebody read it")
		}
		return server.Exit{Code: 1}
	}})
	s.Limits.Drain = 50 * time.Millisecond
	address, drain := start(t, s)
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := session.Start("x"); err != nil {
		t.Fatal(err)
	}
	<-full
	drain()
}

func TestSubsystemRefusesLongRequests(t *testing.T) {
	key := agenttest.NewKey(t)
	count := func(_ context.Context, request []byte) (any, error) { return len(request), nil }
	address, _ := start(t, newServer(key, server.Handlers{Subsystems: map[string]server.Subsystem{"count": count}}))
	for size, want := range map[int]string{4 << 20: "4194304", 4<<20 + 1: "longer than 4194304 bytes"} {
		channel, requests, err := dial(t, key, address).OpenChannel("session", nil)
		if err != nil {
			t.Fatal(err)
		}
		go ssh.DiscardRequests(requests)
		if ok, err := channel.SendRequest("subsystem", true, ssh.Marshal(struct{ S string }{"count"})); !ok || err != nil {
			t.Fatal(ok, err)
		}
		_, _ = channel.Write(make([]byte, size))
		_ = channel.CloseWrite()
		out, _ := io.ReadAll(channel)
		complaint, _ := io.ReadAll(channel.Stderr())
		if got := string(out) + string(complaint); !strings.Contains(got, want) {
			t.Errorf("%d bytes: got %q", size, got)
		}
	}
}

// While a server lingers, who is there goes on, and nobody new is let in.
func TestALingeringServerLetsNobodyIn(t *testing.T) {
	key, started, ended := agenttest.NewKey(t), make(chan struct{}), make(chan struct{})
	lingering, enough := make(chan struct{}), make(chan struct{})
	s := newServer(key, server.Handlers{Exec: func(ctx context.Context, _ server.Command) server.Exit {
		defer close(ended)
		close(started)
		select {
		case <-ctx.Done():
			return server.Exit{Code: 143}
		case <-enough:
			return server.Exit{Code: 3}
		}
	}})
	s.Linger = func() { close(lingering); <-enough; <-ended }
	address, drain := start(t, s)
	session, err := dial(t, key, address).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start("x"); err != nil {
		t.Fatal(err)
	}
	<-started
	go drain()
	<-lingering
	if _, err := client.Connect(t.Context(), (&net.Dialer{}).DialContext, key, address); err == nil {
		t.Error("somebody was let in")
	}
	close(enough)
	var exit *ssh.ExitError
	if err := session.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 3 {
		t.Errorf("the command did not end by itself: %v", err)
	}
}
