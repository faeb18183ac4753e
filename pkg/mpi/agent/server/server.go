package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
)

// Limits bound what a peer may cost before and after it has proved who it is.
type Limits struct {
	// Unauthenticated is the number of connections that may be in their handshake, and PerPeer how many of them one IP address may
	// have where nobody else has any: of what is left, others get fewer.
	Unauthenticated, PerPeer int
	// Waiting and WaitingPerPeer are the same for those that wait for their handshake; further ones are closed at once.
	Waiting, WaitingPerPeer int
	// Handshake is the time in which a connection must have authenticated, and how long it may wait before.
	Handshake time.Duration
	// Keepalive is how long an authenticated peer may be silent. It is longer than the client's: a client that is
	// slow must not lose its job.
	Keepalive liveness.Keepalive
	// Drain is how long sessions may go on when the server ends: longer than a command needs that is told to end.
	Drain time.Duration
}

// DefaultLimits hold thousands of nodes. Beside a flood from 64 addresses 22 places are left at least.
var DefaultLimits = Limits{
	Unauthenticated: 256,
	PerPeer:         8,
	Waiting:         1024,
	WaitingPerPeer:  64,
	Handshake:       10 * time.Second,
	Keepalive:       liveness.Keepalive{Interval: 5 * time.Second, Misses: 5, Patience: 2 * time.Minute},
	Drain:           3 * time.Second,
}

// Server answers on one or more listeners. Handlers must not change while it serves.
type Server struct {
	Key      identity.Key
	Handlers Handlers
	Limits   Limits
	Log      *log.Logger
	// Linger is called once nobody new is let in, and returns when sessions may end that still run; nil is at once.
	Linger func()

	refused refusalLog
}

// Serve accepts connections until the context is done or the listener fails. Then it closes the listener, lingers, ends the
// context of all sessions, and returns when their functions have returned and all connections are closed. The end of
// the context is not an error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	sessions, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var connections sync.WaitGroup
	defer func() { connections.Wait(); s.refused.close(s.Log) }()
	defer func() { cancel(context.Cause(ctx)) }()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()

	limiter := newPreAuthLimiter(s.Limits)
	for {
		conn, err := acceptNext(listener)
		switch {
		case ctx.Err() != nil:
			if s.Linger != nil {
				s.Linger()
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept connections: %w", err)
		}
		connections.Go(func() { s.serveConnection(sessions, conn, limiter) })
	}
}

// acceptNext returns the next connection. An error that concerns one connection, or that passes, such as a lack of file
// descriptors, is not the listener's end.
func acceptNext(listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		var temporary interface{ Temporary() bool }
		if err != nil && errors.As(err, &temporary) && temporary.Temporary() {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		return conn, err
	}
}

func (s *Server) serveConnection(ctx context.Context, conn net.Conn, limiter *preAuthLimiter) {
	defer conn.Close()
	leave, admitted := limiter.awaitPlace(ctx, conn)
	if !admitted {
		return
	}
	peer, channels, requests, err := s.handshake(ctx, conn)
	leave()
	if err != nil {
		s.logRefusal(conn, err)
		return
	}
	defer peer.Close()
	// A peer that reads nothing any more must not keep the server from ending.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.Limits.Drain, func() { conn.Close() }) })()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go answerGlobalRequests(requests)
	go func() {
		if err := s.Limits.Keepalive.Watch(ctx, peer, conn); err != nil {
			peer.Close()
		}
	}()
	s.serveSessions(ctx, peer, channels)
}

func (s *Server) handshake(ctx context.Context, conn net.Conn) (
	*ssh.ServerConn, <-chan ssh.NewChannel, <-chan *ssh.Request, error,
) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(s.Limits.Handshake)); err != nil {
		return nil, nil, nil, fmt.Errorf("set the deadline of a handshake: %w", err)
	}
	config := s.Key.ServerConfig()
	attempts := 0
	config.AuthLogCallback = func(peer ssh.ConnMetadata, method string, err error) {
		// Every client first asks which methods there are, by trying none; that is not an attempt.
		if err == nil || method == "none" {
			return
		}
		s.logAttempt(peer, method)
		// The library begins to count keys that a client only asks about when there were as many already.
		if attempts++; attempts == config.MaxAuthTries {
			conn.Close()
		}
	}
	peer, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, nil, fmt.Errorf("clear the deadline of a handshake: %w", err)
	}
	return peer, channels, requests, nil
}

// logAttempt names peers that tried to get in without the key.
func (s *Server) logAttempt(peer ssh.ConnMetadata, method string) {
	s.refused.print(s.Log, time.Now(), "refused %s (%s): it does not hold the key of this job", peer.RemoteAddr(), quoteMethod(method))
}

// logRefusal names peers whose key is not even on the same curve. It is silent about probes and port scanners, which
// connect and say nothing.
func (s *Server) logRefusal(conn net.Conn, err error) {
	var negotiation *ssh.AlgorithmNegotiationError
	if errors.As(err, &negotiation) {
		s.refused.print(s.Log, time.Now(), "refused %s: it shares no algorithm with us, so it does not hold the key of this job", conn.RemoteAddr())
	}
}

// answerGlobalRequests answers keepalives and refuses everything else, port forwarding in particular.
func answerGlobalRequests(requests <-chan *ssh.Request) {
	for request := range requests {
		if request.WantReply {
			_ = request.Reply(request.Type == liveness.Request, nil) // a lost connection ends the loop
		}
	}
}

// serveSessions serves the sessions of a connection until the peer has gone or the server drains.
func (s *Server) serveSessions(ctx context.Context, peer *ssh.ServerConn, channels <-chan ssh.NewChannel) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case channel, open := <-channels:
			if !open {
				return
			}
			if channel.ChannelType() != "session" {
				_ = channel.Reject(ssh.UnknownChannelType, "only sessions are offered")
				continue
			}
			running.Go(func() { s.serveSession(ctx, peer, channel) })
		}
	}
}
