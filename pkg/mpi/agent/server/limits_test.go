package server

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
)

// TestTheThreatModelHasOurNumbers: the tests below show that the numbers hold, and this one that the page has no others.
func TestTheThreatModelHasOurNumbers(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/agent-threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	l := DefaultLimits
	for _, want := range []string{
		fmt.Sprintf("| %d places for connections without authentication, %d s each, and %d to wait for one, as long.", l.Unauthenticated, int(l.Handshake.Seconds()), l.Waiting),
		fmt.Sprintf("An address alone gets %d and %d of them;", l.PerPeer, l.WaitingPerPeer),
		fmt.Sprintf("beside a flood from up to %d addresses", enough-1),
		fmt.Sprintf("| %d bytes of version, %d KiB of packet, then it is cut off |", versionBytes, packetBytes>>10),
		fmt.Sprintf("| %s attempts for a connection;", map[int]string{3: "three"}[attempts]),
		fmt.Sprintf("is quoted and cut to %d bytes; %s lines in a second", maxMethod, map[int]string{10: "ten"}[refusalsPerSecond]),
		fmt.Sprintf("| %d MiB for a request of a subsystem |", maxRequest>>20),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/agent-threat-model.md does not say %q", want)
		}
	}
}

// What golang.org/x/crypto/ssh and package identity hold by themselves.
const (
	versionBytes = 255
	packetBytes  = 256 << 10
	attempts     = 3
)

// enough is from how many addresses a flood takes all places.
const enough = 86

// However they come, those who take as much as they get leave a place to the next.
func TestPlacesAreThoseOfTheDefaultLimits(t *testing.T) {
	for peers, want := range map[int]struct{ handshakes, waiting int }{
		1: {8, 64}, 2: {16, 124}, 8: {60, 416}, 64: {234, 1014}, enough - 1: {255, 1024}, enough: {256, 1024},
	} {
		h := newPreAuthLimiter(DefaultLimits)
		for peer := range peers {
			for h.in(peer) {
			}
		}
		if h.handshakes.taken != want.handshakes || h.waiting.taken != want.waiting {
			t.Errorf("%d addresses that come one after the other take %d and %d places, want %+v", peers, h.handshakes.taken, h.waiting.taken, want)
		}
		turns := newPreAuthLimiter(DefaultLimits)
		for entered := true; entered; {
			entered = false
			for peer := range peers {
				entered = turns.in(peer) || entered
			}
		}
		if turns.handshakes.taken > want.handshakes || turns.waiting.taken > want.waiting {
			t.Errorf("%d addresses that come in turns take %d and %d places, want no more than %+v", peers, turns.handshakes.taken, turns.waiting.taken, want)
		}
	}
}

// in opens a connection of an address, and reports whether that was let in.
func (l *preAuthLimiter) in(peer int) bool {
	w, admitted := l.takePlaceOrQueue(fmt.Sprint(peer))
	return admitted || w != nil
}

// caller is a connection of which only the address matters.
type caller struct {
	net.Conn
	ip net.IP
}

func (c caller) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.ip, Port: 40000} }

func TestWhoWaitsGetsThePlaceThatIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits
		limits.Unauthenticated, limits.PerPeer = 1, 1
		h := newPreAuthLimiter(limits)
		type outcome struct {
			waited   time.Duration
			admitted bool
		}
		// come tells how long a peer waited, and whether it was let in, when that is known.
		come := func(ctx context.Context, peer byte) (func(), *outcome) {
			var got outcome
			var leave func()
			begin := time.Now()
			go func() {
				leave, got.admitted = h.awaitPlace(ctx, caller{ip: net.IPv4(10, 0, 0, peer)})
				got.waited = time.Since(begin)
			}()
			synctest.Wait()
			return func() { leave() }, &got
		}
		ended, end := context.WithCancel(t.Context())
		leave, first := come(t.Context(), 1)
		_, given := come(ended, 2)
		leaveSecond, second := come(t.Context(), 3)
		_, late := come(t.Context(), 4)
		time.Sleep(3 * time.Second)
		end()
		synctest.Wait()
		leave()
		synctest.Wait()
		time.Sleep(limits.Handshake)
		leaveSecond()
		synctest.Wait()
		for _, c := range []struct {
			why  string
			got  *outcome
			want outcome
		}{
			{"it came first", first, outcome{0, true}},
			{"the server ends", given, outcome{3 * time.Second, false}},
			{"it was the first of those that still waited", second, outcome{3 * time.Second, true}},
			{"it waited as long as it may", late, outcome{limits.Handshake, false}},
		} {
			if *c.got != c.want {
				t.Errorf("%s: got %+v, want %+v", c.why, *c.got, c.want)
			}
		}
		if h.handshakes.taken+h.waiting.taken+len(h.queue) > 0 {
			t.Errorf("places are kept for nobody: %+v", h)
		}
	})
}

func TestAMutePeerIsCutOffAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		heard(t, agentOf(t, io.Discard), nil)
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("it was cut off after %s", took)
		}
	})
}

func TestAVersionIsReadTo255Bytes(t *testing.T) {
	if n := heard(t, agentOf(t, io.Discard), bytes.Repeat([]byte("x"), 1000)); n != versionBytes {
		t.Errorf("%d bytes of a version were read", n)
	}
}

func TestAPacketIsReadTo256KiB(t *testing.T) {
	say := func(length int) int {
		const version = "SSH-2.0-x\r\n"
		packet := append(binary.BigEndian.AppendUint32([]byte(version), uint32(length)), make([]byte, length)...)
		return heard(t, agentOf(t, io.Discard), packet) - len(version)
	}
	if n := say(packetBytes); n < packetBytes {
		t.Errorf("a packet of 256 KiB was read to %d bytes", n)
	}
	// What is read is what lies in one buffer: the length is not believed.
	if n := say(packetBytes + 1); n > 8<<10 {
		t.Errorf("a longer one was read to %d bytes", n)
	}
}

func TestAPeerHasThreeAttempts(t *testing.T) {
	var lines bytes.Buffer
	s := agentOf(t, &lines)
	var strangers []ssh.Signer
	for range attempts + 2 {
		signer, err := ssh.ParsePrivateKey(agenttest.NewKeyPEM(t, elliptic.P256()))
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, signer)
	}
	// Both sides speak first, so that the wire must hold something.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving, listener) }()
	_, err = ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{
		User: "anybody", Auth: []ssh.AuthMethod{ssh.PublicKeys(strangers...)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // a stranger believes everything
	})
	if err == nil {
		t.Error("a stranger got in")
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := strings.Count(lines.String(), "it does not hold the key of this job"); n != attempts {
		t.Errorf("%d attempts were heard:\n%s", n, &lines)
	}
}

// agentOf is a server with the limits that all agents have.
func agentOf(t *testing.T, to io.Writer) *Server {
	t.Helper()
	return &Server{Key: agenttest.NewKey(t), Limits: DefaultLimits, Log: log.New(to, "", 0)}
}

// heard says to a server what a peer has to say, and returns how many bytes of it were read before the server hung up.
func heard(t *testing.T, s *Server, says []byte) int {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); s.serveConnection(t.Context(), ours, newPreAuthLimiter(s.Limits)) }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	n, _ := theirs.Write(says)
	<-served
	theirs.Close()
	return n
}
