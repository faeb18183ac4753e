package probe

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Participant is one rank of a probe.
type Participant struct {
	Rank, Size int
	// Session is the same for all ranks of one mpirun.
	Session string
	// Host is the host name of the pod, Address the IP address on which the rank listens.
	Host, Address string
	// Duration is how long all measurements together should take, Deadline when the rank gives up.
	Duration time.Duration
	Deadline time.Time
	Limits   Limits
	// Exchange brings a request to the exchange and waits for the others.
	Exchange func(ctx context.Context, request mpi.ProbeRequest) (mpi.ProbeReply, error)
}

const (
	// maxPair is the time of a pair when there is time in abundance: more does not make the result better.
	maxPair = time.Second
	// pairTimeout is how long a rank waits for its opponent of a round, and for a connection.
	pairTimeout = 5 * time.Second
	// maxTelling is kept from measuring, so that ranks whose time is up can still tell each other what they have measured.
	maxTelling = 10 * time.Second
)

// endpoint is what ranks tell each other.
type endpoint struct {
	Rank
	Port int `json:"port"`
	// Token is what callers must show.
	Token []byte `json:"token"`
}

// Run takes part. The report is for rank 0; the others get nil.
func (p Participant) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, p.Deadline)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(p.Address, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for other ranks: %w", err)
	}
	defer listener.Close()
	peers, err := p.exchangeEndpoints(ctx, listener)
	if err != nil {
		return nil, err
	}
	playing, stop := context.WithDeadline(ctx, p.Deadline.Add(-min(maxTelling, time.Until(p.Deadline)/2)))
	defer stop()
	results, err := p.exchangeTexts(ctx, "results", p.measurePairs(playing, listener, peers), p.Rank == 0)
	if err != nil || p.Rank != 0 {
		return nil, err
	}
	var pairs []Pair
	for i, text := range results {
		var some []Pair
		if err := json.Unmarshal(text, &some); err != nil {
			return nil, fmt.Errorf("decode the results of rank %d: %w", i, err)
		}
		pairs = append(pairs, some...)
	}
	ranks := make([]Rank, len(peers))
	for i, peer := range peers {
		ranks[i] = peer.Rank
	}
	report := buildReport(ranks, pairs, p.Limits, time.Since(began))
	return &report, nil
}

// exchangeEndpoints tells all ranks where this one is and returns where they are.
func (p Participant) exchangeEndpoints(ctx context.Context, listener net.Listener) ([]endpoint, error) {
	self := endpoint{Rank: p.describeSelf(), Port: listener.Addr().(*net.TCPAddr).Port, Token: make([]byte, 16)}
	_, _ = rand.Read(self.Token) // never fails (crypto/rand)
	texts, err := p.exchangeTexts(ctx, "addresses", self, true)
	if err != nil {
		return nil, err
	}
	peers := make([]endpoint, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &peers[i]); err != nil {
			return nil, fmt.Errorf("decode the address of rank %d: %w", i, err)
		}
	}
	return peers, nil
}

func (p Participant) describeSelf() Rank {
	gpus, _ := filepath.Glob("/dev/nvidia[0-9]*") // the pattern is right
	return Rank{
		Rank: p.Rank, Host: p.Host, Address: p.Address, PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(),
		CPUs: runtime.GOMAXPROCS(0), GPUs: len(gpus),
	}
}

func (p Participant) exchangeTexts(ctx context.Context, name string, value any, deliver bool) ([]json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode what rank %d brings: %w", p.Rank, err)
	}
	if p.Size == 1 {
		return []json.RawMessage{text}, nil
	}
	reply, err := p.Exchange(ctx, mpi.ProbeRequest{
		Session: p.Session, Round: name, Rank: p.Rank, Size: p.Size, Deliver: deliver, Text: text,
		Seconds: max(0, time.Until(p.Deadline).Seconds()-1), // so that the answer who is missing comes in time
	})
	if err != nil {
		return nil, fmt.Errorf("meet the other ranks: %w", err)
	}
	if deliver && len(reply.Texts) != p.Size {
		return nil, fmt.Errorf("meet the other ranks: %d of %d answered", len(reply.Texts), p.Size)
	}
	return reply.Texts, nil
}

// measurePairs meets all opponents, and returns the pairs in which this rank called.
func (p Participant) measurePairs(ctx context.Context, listener net.Listener, peers []endpoint) []Pair {
	inbox := p.acceptPeers(ctx, listener, peers)
	pairs := []Pair{}
	share := min(p.Duration/time.Duration(max(1, countRounds(p.Size))), maxPair)
	for round := range countRounds(p.Size) {
		other, plays := opponentOf(p.Rank, round, p.Size)
		switch {
		case !plays:
		case other > p.Rank:
			pairs = append(pairs, p.measurePair(ctx, peers, other, share))
		default:
			answerOpponent(ctx, inbox[other], share)
		}
	}
	return pairs
}

// acceptPeers sorts incoming connections by caller.
func (p Participant) acceptPeers(ctx context.Context, listener net.Listener, peers []endpoint) []chan net.Conn {
	inbox := make([]chan net.Conn, len(peers))
	for i := range inbox {
		inbox[i] = make(chan net.Conn, 1)
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.sortByCaller(conn, peers[p.Rank].Token, inbox)
		}
	}()
	return inbox
}

// sortByCaller reads who calls. A connection without the token is closed.
func (p Participant) sortByCaller(conn net.Conn, token []byte, inbox []chan net.Conn) {
	greeting := make([]byte, len(token)+1)
	err := conn.SetDeadline(time.Now().Add(pairTimeout))
	if err == nil {
		_, err = io.ReadFull(conn, greeting)
	}
	caller := int(greeting[len(token)])
	if err != nil || subtle.ConstantTimeCompare(greeting[:len(token)], token) != 1 || caller >= len(inbox) {
		conn.Close()
		return
	}
	select {
	case inbox[caller] <- conn:
	default:
		conn.Close()
	}
}

func (p Participant) measurePair(ctx context.Context, peers []endpoint, other int, share time.Duration) Pair {
	pair, err := p.measureAsClient(ctx, peers[other], share)
	if err != nil {
		pair = Pair{Error: measurementFailure(ctx, err)}
	}
	pair.From, pair.To = p.Rank, other
	return pair
}

func measurementFailure(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "the time was up before it was measured"
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer; check that a NetworkPolicy admits all ports between the pods of the job"
	}
	return err.Error()
}

func (p Participant) measureAsClient(ctx context.Context, peer endpoint, share time.Duration) (Pair, error) {
	dialer := net.Dialer{Timeout: pairTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(peer.Address, strconv.Itoa(peer.Port)))
	if err != nil {
		return Pair{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(pairDeadline(ctx, share)); err != nil {
		return Pair{}, err
	}
	if _, err := conn.Write(append(append([]byte{}, peer.Token...), byte(p.Rank))); err != nil {
		return Pair{}, err
	}
	return measureConnection(conn, share)
}

// answerOpponent waits for an opponent's call and answers it. What went wrong is the caller's to say.
func answerOpponent(ctx context.Context, calls <-chan net.Conn, share time.Duration) {
	select {
	case conn := <-calls:
		defer conn.Close()
		if conn.SetDeadline(pairDeadline(ctx, share)) == nil {
			_ = serveMeasurements(conn) // the caller reports it
		}
	case <-time.After(pairTimeout + share):
	case <-ctx.Done():
	}
}

// pairDeadline is when a pair must be over: it waits for its opponent, who may be late by a round.
func pairDeadline(ctx context.Context, share time.Duration) time.Time {
	limit := time.Now().Add(2*pairTimeout + 4*share)
	if end, bounded := ctx.Deadline(); bounded && end.Before(limit) {
		return end
	}
	return limit
}
