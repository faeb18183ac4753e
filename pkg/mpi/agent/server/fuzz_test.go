package server

import (
	"context"
	"io"
	"log"
	"net"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
)

// FuzzFront lets strangers say anything: the connection must end, and no session begin.
func FuzzFront(f *testing.F) {
	f.Add([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
	f.Add([]byte("SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("SSH-2.0-x\r\n\xff\xff\xff\xff"))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01"))
	key := agenttest.NewKey(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		s := Server{Key: key, Limits: DefaultLimits, Log: log.New(io.Discard, "", 0), Handlers: Handlers{
			Exec: func(context.Context, Command) Exit { t.Error("a command ran"); return Exit{} },
		}}
		s.Limits.Handshake = 10 * time.Second
		here, there := net.Pipe()
		limiter, done := newPreAuthLimiter(s.Limits), make(chan struct{})
		go func() { defer close(done); s.serveConnection(t.Context(), there, limiter) }()
		go func() { _, _ = io.Copy(io.Discard, here) }()
		_, _ = here.Write(text)
		here.Close()
		<-done
		if limiter.handshakes.taken > 0 {
			t.Error("the place was not given up")
		}
	})
}

// FuzzTaskOf gives a session requests of any type and payload: only commands and the subsystem may become tasks.
func FuzzTaskOf(f *testing.F) {
	f.Add("exec", ssh.Marshal(struct{ S string }{"hostname"}))
	f.Add("subsystem", ssh.Marshal(struct{ S string }{"known"}))
	f.Add("exec", []byte{0, 0, 0, 9, 'x'})
	f.Add("env", ssh.Marshal(struct{ Name, Value string }{"LD_PRELOAD", "x"}))
	f.Add("shell", []byte(nil))
	s := Server{Handlers: Handlers{
		Exec:       func(context.Context, Command) Exit { return Exit{} },
		Subsystems: map[string]Subsystem{"known": func(context.Context, []byte) (any, error) { return nil, nil }},
	}}
	f.Fuzz(func(t *testing.T, kind string, payload []byte) {
		task := s.taskOf(nobody{}, &ssh.Request{Type: kind, Payload: payload})
		var asked struct{ Value string }
		well := ssh.Unmarshal(payload, &asked) == nil
		want := well && (kind == "exec" || kind == "subsystem" && asked.Value == "known")
		if (task != nil) != want {
			t.Errorf("%s %q: a task %v, want %v", kind, payload, task != nil, want)
		}
	})
}

// nobody is a peer.
type nobody struct{ ssh.ConnMetadata }

func (nobody) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1} }
