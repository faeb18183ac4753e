package dns

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// ServerTimeout is how long one server may take; it then is the next one's turn.
	ServerTimeout = time.Second
	// maxUDP is the size of the answers that we take by UDP: what fits every network (https://www.dnsflagday.net/2020/).
	maxUDP = 1232
	// maxMessage is the size of any DNS message.
	maxMessage = 1<<16 - 1
)

// question is one query.
type question struct {
	// name is absolute, with the dot at its end.
	name  string
	kind  dnsmessage.Type
	flags queryFlags
}

// reply is what matters of an answer.
type reply struct {
	code dnsmessage.RCode
	// addresses of A and AAAA records, in order.
	addresses [][]byte
	// keep is how long a cache may keep the answer.
	keep time.Duration
	// truncated answers have to be asked for by TCP.
	truncated bool
}

var errOther = errors.New("the answer belongs to another question")

// pack makes the message of a question.
func (q question) pack(id uint16) ([]byte, error) {
	name, err := dnsmessage.NewName(q.name)
	if err != nil {
		return nil, fmt.Errorf("`%s` is not a name in DNS: %w", q.name, err)
	}
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true, CheckingDisabled: q.flags.checkingDisabled},
		Questions: []dnsmessage.Question{{Name: name, Type: q.kind, Class: dnsmessage.ClassINET}},
	}
	if q.flags.dnssecOK {
		var header dnsmessage.ResourceHeader
		if err := header.SetEDNS0(maxUDP, dnsmessage.RCodeSuccess, true); err != nil {
			return nil, fmt.Errorf("pack a query: %w", err)
		}
		message.Additionals = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.OPTResource{}}}
	}
	return message.Pack()
}

// unpack reads an answer. An answer to another question, such as a late one, is errOther.
func (q question) unpack(id uint16, text []byte) (reply, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(text)
	if err != nil {
		return reply{}, fmt.Errorf("read an answer: %w", err)
	}
	asked, err := parser.Question()
	if err != nil || !header.Response || header.ID != id || asked.Type != q.kind || !isSameName(asked.Name.String(), q.name) {
		return reply{}, errOther
	}
	if err := parser.SkipAllQuestions(); err != nil {
		return reply{}, fmt.Errorf("read an answer: %w", err)
	}
	result := reply{code: header.RCode, truncated: header.Truncated}
	if err := result.readAnswers(&parser); err != nil {
		return reply{}, fmt.Errorf("read an answer: %w", err)
	}
	if len(result.addresses) == 0 {
		result.keep = negativeTTL(&parser)
	}
	return result, nil
}

func (r *reply) readAnswers(parser *dnsmessage.Parser) error {
	records, err := parser.AllAnswers()
	for _, record := range records {
		ttl := time.Duration(record.Header.TTL) * time.Second
		switch body := record.Body.(type) {
		case *dnsmessage.AResource:
			r.addresses = append(r.addresses, body.A[:])
		case *dnsmessage.AAAAResource:
			r.addresses = append(r.addresses, body.AAAA[:])
		}
		r.keep = max(r.keep, ttl)
	}
	return err
}

// defaultKeep is how long the usual server keeps that a name is missing, when it does not say so.
const defaultKeep = 5 * time.Second

// negativeTTL returns how long a cache may keep that there is nothing (RFC 2308 section 5).
func negativeTTL(parser *dnsmessage.Parser) time.Duration {
	records, err := parser.AllAuthorities()
	if err != nil {
		return defaultKeep
	}
	for _, record := range records {
		if soa, found := record.Body.(*dnsmessage.SOAResource); found {
			return time.Duration(min(soa.MinTTL, record.Header.TTL)) * time.Second
		}
	}
	return defaultKeep
}

// isSameName compares names without regard to case.
func isSameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// askServers sends a question to one server after the other until one answers with what can be used: an answer or that there
// is none.
func (r *Resolver) askServers(ctx context.Context, q question) (reply, string, error) {
	var failure error = &ServerError{Err: errors.New("there is no DNS server")}
	for _, server := range r.Config.Servers {
		address, _, _ := net.SplitHostPort(server)
		answer, err := r.askServer(ctx, server, q)
		switch {
		case err == nil && (answer.code == dnsmessage.RCodeSuccess || answer.code == dnsmessage.RCodeNameError):
			return answer, address, nil
		case err == nil:
			err = fmt.Errorf("answers %s", answer.code)
		}
		failure = &ServerError{Server: address, Err: err}
	}
	return reply{}, "", failure
}

func (r *Resolver) askServer(ctx context.Context, server string, q question) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, ServerTimeout)
	defer cancel()
	answer, err := r.exchangeWithServer(ctx, "udp", server, q)
	if err == nil && answer.truncated {
		return r.exchangeWithServer(ctx, "tcp", server, q)
	}
	return answer, err
}

func (r *Resolver) exchangeWithServer(ctx context.Context, network, server string, q question) (reply, error) {
	var id [2]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	number := binary.BigEndian.Uint16(id[:])
	query, err := q.pack(number)
	if err != nil {
		return reply{}, err
	}
	conn, err := r.Dial(ctx, network, server)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	if deadline, found := ctx.Deadline(); found {
		if err := conn.SetDeadline(deadline); err != nil {
			return reply{}, err
		}
	}
	if network == "tcp" {
		return exchangeOverTCP(conn, q, number, query)
	}
	return exchangeOverUDP(conn, q, number, query)
}

func exchangeOverUDP(conn net.Conn, q question, id uint16, query []byte) (reply, error) {
	if _, err := conn.Write(query); err != nil {
		return reply{}, err
	}
	buffer := make([]byte, maxMessage)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return reply{}, err
		}
		if answer, err := q.unpack(id, buffer[:n]); !errors.Is(err, errOther) {
			return answer, err
		}
	}
}

// exchangeOverTCP puts the length before each message (RFC 1035 section 4.2.2).
func exchangeOverTCP(conn net.Conn, q question, id uint16, query []byte) (reply, error) {
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)); err != nil {
		return reply{}, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return reply{}, err
	}
	answer := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return reply{}, err
	}
	return q.unpack(id, answer)
}
