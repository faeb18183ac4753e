package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// Handlers are what sessions may ask for.
type Handlers struct {
	// Exec runs a command. Nil refuses commands.
	Exec func(ctx context.Context, command Command) Exit
	// Subsystems answer by name.
	Subsystems map[string]Subsystem
}

// Command is a command as the peer sent it, with its streams. Stdin ends when the peer closes its side.
type Command struct {
	// Line is the command line.
	Line string
	// Peer is the IP address of the other side.
	Peer   string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code from 0 to 255; 128+n after signal n.
	Code int
	// Signal is the name of the signal without SIG when one ended the command and RFC 4254 section 6.10 has a name for
	// it, otherwise empty.
	Signal string
	// CoreDumped reports whether the signal left a core dump.
	CoreDumped bool
}

// Subsystem answers one request, the bytes that the peer wrote before it closed its side. The answer is sent as JSON; an
// error becomes text on the peer's standard error and exit status 1.
type Subsystem func(ctx context.Context, request []byte) (any, error)

// maxRequest is the size of the longest request of a subsystem, in bytes: a table of ten thousand hosts is smaller.
const maxRequest = 4 << 20

// farewell is how long a session waits for the peer to confirm its end, so that the last bytes are not lost with the
// connection.
const farewell = 250 * time.Millisecond

// sessionTask is what a session does once the peer has said what it wants.
type sessionTask func(ctx context.Context, channel ssh.Channel) Exit

func (s *Server) serveSession(ctx context.Context, peer ssh.ConnMetadata, offer ssh.NewChannel) {
	channel, requests, err := offer.Accept()
	if err != nil {
		return // the connection is gone
	}
	defer channel.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks, gone := make(chan sessionTask, 1), make(chan struct{})
	go func() {
		defer close(gone)
		defer cancel()
		s.dispatchRequests(peer, requests, tasks)
	}()
	select {
	case <-ctx.Done():
		return
	case run := <-tasks:
		sendExit(channel, run(ctx, channel))
	}
	channel.Close()
	select {
	case <-gone:
	case <-time.After(farewell):
	}
}

// dispatchRequests answers the requests of a session until the peer closes it. The first command or subsystem is the task;
// whatever else is asked is refused.
func (s *Server) dispatchRequests(peer ssh.ConnMetadata, requests <-chan *ssh.Request, tasks chan<- sessionTask) {
	started := false
	for request := range requests {
		run := s.taskOf(peer, request)
		accepted := run != nil && !started
		if request.WantReply {
			_ = request.Reply(accepted, nil) // a lost connection ends the loop
		}
		if accepted {
			started = true
			tasks <- run
		}
	}
}

// taskOf returns what a request asks for, nil when it is not offered.
func (s *Server) taskOf(peer ssh.ConnMetadata, request *ssh.Request) sessionTask {
	var payload struct{ Value string }
	if ssh.Unmarshal(request.Payload, &payload) != nil {
		return nil
	}
	switch request.Type {
	case "exec":
		if s.Handlers.Exec != nil {
			return s.commandTask(peer, payload.Value)
		}
	case "subsystem":
		if subsystem := s.Handlers.Subsystems[payload.Value]; subsystem != nil {
			return subsystem.task
		}
	}
	return nil
}

func (s *Server) commandTask(peer ssh.ConnMetadata, line string) sessionTask {
	address, _, err := net.SplitHostPort(peer.RemoteAddr().String())
	if err != nil {
		address = peer.RemoteAddr().String()
	}
	return func(ctx context.Context, channel ssh.Channel) Exit {
		return s.Handlers.Exec(ctx, Command{
			Line: line, Peer: address, Stdin: channel, Stdout: channel, Stderr: channel.Stderr(),
		})
	}
}

func (subsystem Subsystem) task(ctx context.Context, channel ssh.Channel) Exit {
	answer, err := subsystem.answerRequest(ctx, channel)
	if err == nil {
		_, err = channel.Write(answer)
	}
	if err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return Exit{Code: 1}
	}
	return Exit{}
}

func (subsystem Subsystem) answerRequest(ctx context.Context, peer io.Reader) ([]byte, error) {
	request, err := readRequest(ctx, peer)
	if err != nil {
		return nil, err
	}
	answer, err := subsystem(ctx, request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// readRequest reads until the peer closes its side. A reader that is left behind when the context is done ends with the
// connection.
func readRequest(ctx context.Context, peer io.Reader) ([]byte, error) {
	var request []byte
	done := make(chan error, 1)
	go func() {
		var err error
		request, err = io.ReadAll(io.LimitReader(peer, maxRequest+1))
		done <- err
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("read the request: %w", ctx.Err())
	case err := <-done:
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the request: %w", err)
		case len(request) > maxRequest:
			return nil, fmt.Errorf("the request is longer than %d bytes", maxRequest)
		}
		return request, nil
	}
}

// sendExit tells the peer how the command ended (RFC 4254 section 6.10). A peer that has gone does not hear it.
func sendExit(channel ssh.Channel, exit Exit) {
	if exit.Signal == "" {
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(exit.Code)}))
		return
	}
	_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
		Signal     string
		CoreDumped bool
		Message    string
		Language   string
	}{exit.Signal, exit.CoreDumped, "", ""}))
}
