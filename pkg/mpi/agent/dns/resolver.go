package dns

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Resolver asks the DNS servers of the pod.
type Resolver struct {
	Config Config
	// Dial opens a connection, as (*net.Dialer).DialContext does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the time.
	Now func() time.Time
}

// queryFlags is one of the entries that a cache has for one question: CoreDNS keeps them apart by these flags.
type queryFlags struct{ dnssecOK, checkingDisabled bool }

var views = [...]queryFlags{{}, {dnssecOK: true}, {checkingDisabled: true}, {dnssecOK: true, checkingDisabled: true}}

// The types that are free for private use (RFC 6895 section 3.1).
const (
	firstPrivate = 65280
	privateTypes = 255
)

// Lookup is the search for one name. It must not be used by two goroutines at a time.
type Lookup struct {
	resolver *Resolver
	name     string
	// next numbers the private types. The first one is random: a gate of an earlier job of the same name may have
	// asked with the others a moment ago.
	next int
	// held says until when a cache keeps what it has in a view.
	held [len(views)]time.Time
	last netip.Addr
}

// Lookup begins to look for a name. Names are completed as resolv.conf says.
func (r *Resolver) Lookup(name string) *Lookup {
	return &Lookup{resolver: r, name: name, next: rand.IntN(privateTypes)} //nolint:gosec // it must differ, not be secret
}

// Address returns the address of the name. It asks past what a cache may have kept since the last call, and returns the
// last address when there is no way past. The error is a *NotFoundError or a *ServerError.
func (l *Lookup) Address(ctx context.Context) (netip.Addr, error) {
	var failure error
	for _, name := range l.resolver.Config.candidateNames(l.name) {
		exists, server, err := l.nameExists(ctx, name)
		switch {
		case err != nil:
			return netip.Addr{}, err
		case exists:
			return l.askPastCaches(ctx, name, server)
		case failure == nil:
			failure = &NotFoundError{Name: name, Server: server}
		}
	}
	if failure == nil {
		failure = &NotFoundError{Name: l.name}
	}
	return netip.Addr{}, failure
}

func (l *Lookup) nameExists(ctx context.Context, name string) (bool, string, error) {
	l.next = (l.next + 1) % privateTypes
	answer, server, err := l.resolver.askServers(ctx, question{name: name, kind: dnsmessage.Type(firstPrivate + l.next)})
	return err == nil && answer.code == dnsmessage.RCodeSuccess, server, err
}

// askPastCaches asks in the first view in which no cache can hold an answer.
func (l *Lookup) askPastCaches(ctx context.Context, name, server string) (netip.Addr, error) {
	for i, v := range views {
		if l.resolver.Now().Before(l.held[i]) {
			continue
		}
		address, keep, err := l.askForRecords(ctx, name, v)
		if err != nil {
			return netip.Addr{}, err
		}
		l.held[i] = l.resolver.Now().Add(keep)
		if address.IsValid() {
			l.last = address
			return address, nil
		}
	}
	if l.last.IsValid() {
		return l.last, nil
	}
	return netip.Addr{}, &NotFoundError{Name: name, Server: server}
}

// askForRecords asks for A and then, in clusters without IPv4, for AAAA. No record is the zero address.
func (l *Lookup) askForRecords(ctx context.Context, name string, v queryFlags) (netip.Addr, time.Duration, error) {
	var keep time.Duration
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
		answer, _, err := l.resolver.askServers(ctx, question{name: name, kind: kind, flags: v})
		if err != nil {
			return netip.Addr{}, 0, err
		}
		keep = max(keep, answer.keep)
		if len(answer.addresses) > 0 {
			address, _ := netip.AddrFromSlice(answer.addresses[0])
			return address.Unmap(), keep, nil
		}
	}
	return netip.Addr{}, keep, nil
}
