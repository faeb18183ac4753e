package server_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
)

// from dials from an address of our own choice, as another pod would.
func from(t *testing.T, local, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestOnePeerCannotTakeAllPlaces(t *testing.T) {
	key := agenttest.Key(t)
	s := newServer(key, server.Handlers{Exec: echo})
	s.Limits.Unauthenticated, s.Limits.PerPeer, s.Limits.Handshake = 3, 2, time.Minute
	address, _ := start(t, s)
	for range 2 {
		mute := from(t, "127.0.0.2", address)
		if _, err := mute.Read(make([]byte, 4)); err != nil { // it has its place: the server has said its version
			t.Fatal(err)
		}
	}
	third := from(t, "127.0.0.2", address)
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("the third connection of a peer was answered")
	}
	dial(t, key, address) // who holds the key gets in from elsewhere, long before the mute ones time out
}

// What a stranger can make us read or keep before he has shown a key.
func TestStrangersAreCutOffBeforeTheyCostMuch(t *testing.T) {
	cases := map[string]struct {
		reason string
		say    func(net.Conn)
	}{
		"endless version": {"RFC 4253 allows 255 bytes", func(c net.Conn) {
			_, _ = io.Copy(c, io.LimitReader(endless('x'), 64<<20)) // until it is cut off
		}},
		"huge packet": {"its length is not believed", func(c net.Conn) {
			_, _ = c.Write(append([]byte("SSH-2.0-x\r\n"), binary.BigEndian.AppendUint32(nil, 1<<30)...))
			_, _ = io.Copy(c, io.LimitReader(endless(0), 64<<20))
		}},
		"empty packet": {"no packet is that short", func(c net.Conn) {
			_, _ = c.Write([]byte("SSH-2.0-x\r\n\x00\x00\x00\x01\x00"))
		}},
		"old protocol": {"version 1 is broken", func(c net.Conn) { _, _ = c.Write([]byte("SSH-1.5-x\r\n")) }},
		"a browser":    {"not even SSH", func(c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n" + strings.Repeat("\r\n", 500))) }},
		"nothing":      {"the handshake has a limit", func(net.Conn) {}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(agenttest.Key(t), server.Handlers{Subsystems: map[string]server.Subsystem{}})
			s.Limits.Handshake = 500 * time.Millisecond
			address, drain := start(t, s)
			conn := from(t, "127.0.0.3", address)
			counted := &counter{Conn: conn}
			c.say(counted)
			if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: ended with %v", c.reason, err)
			}
			// What was written beyond this lay in the buffers of the two sockets.
			if counted.written > 16<<20 {
				t.Errorf("%s: took %d bytes", c.reason, counted.written)
			}
			drain()
		})
	}
}

// counter counts what was written.
type counter struct {
	net.Conn
	written int
}

func (c *counter) Write(text []byte) (int, error) {
	n, err := c.Conn.Write(text)
	c.written += n
	return n, err
}

type endless byte

func (e endless) Read(buffer []byte) (int, error) {
	return copy(buffer, bytes.Repeat([]byte{byte(e)}, len(buffer))), nil
}
