package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
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

// Whoever holds the key is let in at once, however many addresses open as many connections as they get and say nothing.
func TestAFloodKeepsNobodyWaiting(t *testing.T) {
	for _, peers := range []int{1, 2, 8, 64} {
		t.Run(fmt.Sprint(peers), func(t *testing.T) {
			key := agenttest.NewKey(t)
			address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
			flood(t, address, peers)
			for range 3 {
				begin := time.Now()
				dial(t, key, address)
				if took := time.Since(begin); took > time.Second {
					t.Errorf("a flood from %d addresses keeps others waiting for %s", peers, took)
				}
			}
		})
	}
}

// flood opens 256 connections, and one anew for each that is closed, until the test ends. It returns when all were opened once.
func flood(t *testing.T, address string, peers int) {
	t.Helper()
	var group, opened sync.WaitGroup
	for i := range 256 {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%peers))}}
		opened.Add(1)
		once := sync.OnceFunc(opened.Done)
		group.Go(func() {
			for t.Context().Err() == nil {
				if conn, err := dialer.DialContext(t.Context(), "tcp", address); err == nil {
					once()
					stop := context.AfterFunc(t.Context(), func() { conn.Close() })
					_, _ = io.Copy(io.Discard, conn)
					stop()
					conn.Close()
				}
				time.Sleep(100 * time.Millisecond)
			}
			once()
		})
	}
	t.Cleanup(group.Wait)
	opened.Wait()
}

// As many that mean well may come at once from one address, as the ranks of a probe do, and be slow.
func TestACrowdIsLetIn(t *testing.T) {
	key := agenttest.NewKey(t)
	address, _ := start(t, newServer(key, server.Handlers{Exec: echo}))
	slow := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return slowly{conn}, err
	}
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			conn, err := client.Connect(t.Context(), slow, key, address)
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	group.Wait()
}

// slowly is a connection on which whatever is said comes late.
type slowly struct{ net.Conn }

func (s slowly) Write(text []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Conn.Write(text)
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
			s := newServer(agenttest.NewKey(t), server.Handlers{Subsystems: map[string]server.Subsystem{}})
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
