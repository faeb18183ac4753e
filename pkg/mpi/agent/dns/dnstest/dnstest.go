// Package dnstest is a small DNS server that behaves as a cluster's does: records of pods come and go, and a cache in
// front of them keeps every answer, also that a name is missing, apart by name, type and the flags DO and CD, as the
// plugin cache of CoreDNS does.
package dnstest

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Query is a question that the server has heard.
type Query struct {
	// Name is absolute and in lower case.
	Name    string
	Type    dnsmessage.Type
	DO, CD  bool
	Network string
}

// Server answers on the loopback interface.
type Server struct {
	// Address is where it listens, as `address:port`, by UDP and TCP.
	Address string

	mu       sync.Mutex
	now      func() time.Time
	keep     time.Duration
	records  map[string]netip.Addr
	cache    map[Query]cachedAnswer
	heard    []Query
	code     dnsmessage.RCode
	truncate bool
	mute     bool
}

type cachedAnswer struct {
	until time.Time
	code  dnsmessage.RCode
	addr  netip.Addr
}

// Start starts a server at an `address:port` that ends with the test. Answers are kept for a time.
func Start(t testing.TB, address string, keep time.Duration) *Server {
	t.Helper()
	udp, tcp := listenOnUDPAndTCP(t, address)
	s := &Server{
		Address: udp.LocalAddr().String(), now: time.Now, keep: keep,
		records: map[string]netip.Addr{}, cache: map[Query]cachedAnswer{},
	}
	var running sync.WaitGroup
	running.Go(func() { s.serveUDP(udp) })
	running.Go(func() { s.serveTCP(tcp) })
	t.Cleanup(func() { udp.Close(); tcp.Close(); running.Wait() })
	return s
}

// listenOnUDPAndTCP takes the same port for UDP and TCP. When any port will do, one that only UDP could have is given back.
func listenOnUDPAndTCP(t testing.TB, address string) (net.PacketConn, net.Listener) {
	t.Helper()
	for tries := 1; ; tries++ {
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		tcp, err := net.Listen("tcp", udp.LocalAddr().String())
		if err == nil {
			return udp, tcp
		}
		udp.Close()
		if tries == 100 {
			t.Fatal(err)
		}
	}
}

// SetClock replaces the clock of the cache.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// SetAddress gives a name an address; the zero address removes it. The cache does not hear of it.
func (s *Server) SetAddress(name string, address netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name] = address
	if !address.IsValid() {
		delete(s.records, name)
	}
}

// FailWith makes the server answer everything with a code.
func (s *Server) FailWith(code dnsmessage.RCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

// TruncateUDP makes answers by UDP too long.
func (s *Server) TruncateUDP() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truncate = true
}

// StopAnswering makes the server answer nothing.
func (s *Server) StopAnswering() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = true
}

// Queries returns all queries so far.
func (s *Server) Queries() []Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *Server) serveUDP(conn net.PacketConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if answer := s.answerQuery(buffer[:n], "udp"); answer != nil {
			_, _ = conn.WriteTo(answer, from) // the client may have gone
		}
	}
}

func (s *Server) serveTCP(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err == nil {
			query := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(conn, query); err == nil {
				answer := s.answerQuery(query, "tcp")
				_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			}
		}
		conn.Close()
	}
}

func (s *Server) answerQuery(text []byte, network string) []byte {
	var query dnsmessage.Message
	if query.Unpack(text) != nil || len(query.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := query.Questions[0]
	key := Query{Name: strings.ToLower(asked.Name.String()), Type: asked.Type, CD: query.CheckingDisabled, Network: network}
	for _, record := range query.Additionals {
		key.DO = key.DO || record.Header.Type == dnsmessage.TypeOPT && record.Header.DNSSECAllowed()
	}
	s.heard = append(s.heard, key)
	if s.mute {
		return nil
	}
	key.Network = ""
	found := s.lookUp(key)
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, RCode: found.code, Truncated: s.truncate && network == "udp"},
		Questions: query.Questions,
	}
	s.fillAnswer(&answer, asked, found)
	packed, err := answer.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// lookUp answers from the cache, or from the records and leaves the answer there.
func (s *Server) lookUp(key Query) cachedAnswer {
	now := s.now()
	if s.code != 0 {
		return cachedAnswer{code: s.code, until: now}
	}
	if found, cached := s.cache[key]; cached && now.Before(found.until) {
		return found
	}
	fresh := cachedAnswer{until: now.Add(s.keep)}
	address, exists := s.records[key.Name]
	switch {
	case !exists:
		fresh.code = dnsmessage.RCodeNameError
	case key.Type == dnsmessage.TypeA && address.Is4(), key.Type == dnsmessage.TypeAAAA && address.Is6():
		fresh.addr = address
	}
	s.cache[key] = fresh
	return fresh
}

func (s *Server) fillAnswer(answer *dnsmessage.Message, asked dnsmessage.Question, found cachedAnswer) {
	header := dnsmessage.ResourceHeader{
		Name: asked.Name, Class: dnsmessage.ClassINET, TTL: uint32(max(0, found.until.Sub(s.now()).Round(time.Second).Seconds())),
	}
	switch {
	case answer.Truncated:
	case found.addr.Is4():
		answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: found.addr.As4()}}}
	case found.addr.Is6():
		answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: found.addr.As16()}}}
	default:
		answer.Authorities = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.SOAResource{
			NS: asked.Name, MBox: asked.Name, MinTTL: uint32(s.keep.Seconds()),
		}}}
	}
}
