package main

import (
	"fmt"
	"net/netip"
	"sync"
	"time"
)

// pod is what a witness knows of a pod.
type pod struct {
	tenant, name string
	since        time.Time
}

// flow is what one interface has carried between two addresses in one second. Addresses are judged at the end, when all pods are known.
type flow struct {
	port
	toPod    bool
	from, to netip.Addr
	second   int64
}

// witness keeps what was seen until it is judged.
type witness struct {
	mu    sync.Mutex
	pods  map[netip.Addr][]pod
	flows map[flow]int
	// owners are the addresses that send by an interface: those of the pod at its other end.
	owners map[port]netip.Addr
	podIs  func(netip.Addr) bool
}

func newWitness(pods netip.Prefix) *witness {
	return &witness{pods: map[netip.Addr][]pod{}, flows: map[flow]int{}, owners: map[port]netip.Addr{}, podIs: pods.Contains}
}

func (w *witness) see(p packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flows[flow{p.port, p.toPod, p.from, p.to, p.at.Unix()}]++
}

// seePod notes a pod that has got its address.
func (w *witness) seePod(address netip.Addr, p pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.pods[address]
	if n := len(known); n == 0 || known[n-1].name != p.name {
		w.pods[address] = append(known, p)
	}
}

// owner is the pod that had an address at a time: the last that was created by then. Addresses are given out again only after all others.
func (w *witness) owner(address netip.Addr, second int64) (owner pod) {
	for _, p := range w.pods[address] {
		if p.since.Unix() <= second {
			owner = p
		}
	}
	return owner
}

// judgement is what was seen of packets that have to do with pods of tenants.
type judgement struct {
	// Within are packets handed to pods by pods of the same tenant, Tried those that pods have sent to another tenant's.
	Within int `json:"within"`
	Tried  int `json:"tried"`
	// Reached are those of another tenant that were handed to the pod that they are for, Overheard those that were handed to a pod that they are
	// not for, as a bridge does with all that is for an address that it does not know.
	Reached   []string `json:"reached,omitempty"`
	Overheard []string `json:"overheard,omitempty"`
}

// judge looks at the machine's ends of pods' interfaces only: by the first address that sends from there.
func (w *witness) judge() (j judgement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	senders := map[port]map[netip.Addr]bool{}
	for f := range w.flows {
		if !f.toPod && w.podIs(f.from) {
			if senders[f.port] == nil {
				senders[f.port] = map[netip.Addr]bool{}
			}
			senders[f.port][f.from] = true
		}
	}
	for f, count := range w.flows {
		if len(senders[f.port]) != 1 { // a bridge, or the way to other machines
			continue
		}
		var here netip.Addr
		for here = range senders[f.port] {
		}
		listener, from, to := w.owner(here, f.second), w.owner(f.from, f.second), w.owner(f.to, f.second)
		if listener.tenant == "" {
			continue
		}
		switch {
		case !f.toPod && to.tenant != "" && to.tenant != listener.tenant:
			j.Tried += count
		case f.toPod && f.to == here && foreign(from, listener):
			j.Reached = append(j.Reached, f.describe(count, from, to, listener))
		case f.toPod && f.to != here && (foreign(from, listener) || foreign(to, listener)):
			j.Overheard = append(j.Overheard, f.describe(count, from, to, listener))
		case f.toPod && from.tenant == listener.tenant:
			j.Within += count
		}
	}
	return j
}

func (f flow) describe(count int, from, to, listener pod) string {
	return fmt.Sprintf("%d packets from %s (%s, %d s old) to %s (%s) at %s of %s, %d s old", count,
		f.from, from.tenant, f.second-from.since.Unix(), f.to, to.tenant, listener.name, listener.tenant, f.second-listener.since.Unix())
}

func foreign(one, listener pod) bool { return one.tenant != "" && one.tenant != listener.tenant }
