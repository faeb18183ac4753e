package server

import (
	"bytes"
	"context"
	"log"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
)

// offer returns what the server logs of a stranger who says that he authenticates by a method.
func offer(t *testing.T, method string) string {
	t.Helper()
	var lines bytes.Buffer
	s := Server{Log: log.New(&lines, "", 0)}
	s.logAttempt(metadata{}, method)
	return lines.String()
}

// metadata is of a stranger.
type metadata struct{ ssh.ConnMetadata }

func (metadata) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 40000} }

func TestAStrangerWritesNothingOfHisOwnIntoTheLog(t *testing.T) {
	cases := map[string]struct{ reason, method, want string }{
		"password": {"a real method", "password", `refused 10.0.0.9:40000 ("password"): it does not hold the key of this job`},
		"lines":    {"a line that looks like ours", "x)\nmpi-agent: all 3 nodes answered\x1b[2J", `refused 10.0.0.9:40000 ("x)\nmpi-agent: all 3 nodes answer"…): it does not hold the key of this job`},
		"long":     {"a packet may have 256 KiB", strings.Repeat("x", 1<<18), `refused 10.0.0.9:40000 ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…): it does not hold the key of this job`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := offer(t, c.method); got != c.want+"\n" {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}

func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	var lines bytes.Buffer
	to, now := log.New(&lines, "", 0), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var r refusalLog
	for i := range 1000 {
		r.print(to, now.Add(time.Duration(i)*time.Millisecond/2), "refused %d", i)
	}
	if got := strings.Count(lines.String(), "\n"); got != refusalsPerSecond {
		t.Errorf("%d lines in half a second", got)
	}
	lines.Reset()
	r.print(to, now.Add(time.Second), "refused again")
	if want := "refused peers 990 times more, without a line for each\nrefused again\n"; lines.String() != want {
		t.Errorf("got %q", &lines)
	}
	lines.Reset()
	r.close(to)
	if lines.Len() != 0 {
		t.Errorf("nothing was left out: %q", &lines)
	}
}

// Strangers of both kinds share the limit: those with another key, and those whose key is on another curve. What is left out
// at the end is said too.
func TestAFloodOfStrangersIsCounted(t *testing.T) {
	var lines bytes.Buffer
	s := Server{Key: agenttest.NewKey(t), Limits: DefaultLimits, Log: log.New(&lines, "", 0)}
	s.refused = refusalLog{since: time.Now().Add(time.Hour), written: refusalsPerSecond} // a second that does not end
	s.logAttempt(metadata{}, "publickey")
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	s.logRefusal(there, &ssh.AlgorithmNegotiationError{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ended, listener); err != nil {
		t.Fatal(err)
	}
	if want := "refused peers 2 times more, without a line for each\n"; lines.String() != want {
		t.Errorf("got %q", &lines)
	}
}
