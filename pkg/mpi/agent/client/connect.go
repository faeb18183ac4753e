package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

// Dial opens a connection, as (*net.Dialer).DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Connection is a connection to an agent.
type Connection struct {
	*ssh.Client
	// Wire is what carries it.
	Wire net.Conn
}

// Connect connects to the agent at `host:port`, proves that this side holds the key and makes sure that the other side
// does. The context bounds the handshake, not the life of the connection. The error is a *Failure.
func Connect(ctx context.Context, dial Dial, key identity.Key, address string) (*Connection, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, failureOf(err)
	}
	client, err := handshake(ctx, conn, key, address)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Connection{client, conn}, nil
}

func handshake(ctx context.Context, conn net.Conn, key identity.Key, address string) (*ssh.Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, address, key.ClientConfig())
	if !stop() {
		return nil, failureOfEndedContext(fmt.Errorf("handshake: %w", context.Cause(ctx)))
	}
	if err != nil {
		return nil, handshakeFailure(err)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// failureOfEndedContext is the failure of a talk that its context ended. Packets arrive there, so it is another matter than a connection
// that is never made.
func failureOfEndedContext(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Cause: NoHandshake, Err: err}
	}
	return failureOf(err)
}

func handshakeFailure(err error) error {
	if cause := causeOf(err); cause != Other {
		return &Failure{Cause: cause, Err: err}
	}
	return &Failure{Cause: NotAnAgent, Err: err}
}

// AgentAddress returns the address of the agent of a pod, for example `10.244.1.5:2222`. A pod without an IP address is a
// *Failure.
func AgentAddress(host mpi.HostAddress, port int) (string, error) {
	if host.Address == "" {
		return "", &Failure{Cause: NoAddress, Err: errors.New("the pod has no IP address")}
	}
	if _, err := netip.ParseAddr(host.Address); err != nil {
		return "", &Failure{Cause: NoAddress, Err: err}
	}
	return net.JoinHostPort(host.Address, strconv.Itoa(port)), nil
}

// LocalAddress returns our address on the way to a peer. Connecting by UDP sends nothing.
func LocalAddress(peer string) string {
	conn, err := net.Dial("udp", net.JoinHostPort(peer, "9"))
	if err != nil {
		return peer
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return peer
	}
	return local.Addr().WithZone("").String()
}
