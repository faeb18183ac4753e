package main

import (
	"net/netip"
	"testing"
	"time"
)

func TestWitness(t *testing.T) {
	start := time.Unix(1000, 0)
	a1, a2, b1 := netip.MustParseAddr("10.244.0.1"), netip.MustParseAddr("10.244.1.2"), netip.MustParseAddr("10.244.0.3")
	atA, atB, uplink := port{"node0", 7}, port{"node0", 8}, port{"node0", 2}
	sees := func(packets ...packet) judgement {
		w := newWitness(netip.MustParsePrefix("10.244.0.0/16"))
		w.seePod(a1, pod{"a", "a1", start})
		w.seePod(a2, pod{"a", "a2", start})
		w.seePod(b1, pod{"b", "b1", start})
		w.see(packet{start, atA, false, a1, a2})
		w.see(packet{start, atB, false, b1, netip.MustParseAddr("10.96.0.10")})
		w.see(packet{start, uplink, false, a2, a1})
		w.see(packet{start, uplink, false, netip.MustParseAddr("10.244.1.9"), a1})
		for _, p := range packets {
			w.see(p)
		}
		return w.judge()
	}
	later := start.Add(time.Minute)
	cases := map[string]struct {
		packet                            packet
		within, tried, reached, overheard int
	}{
		"OfItsOwn":      {packet{later, atA, true, a2, a1}, 1, 0, 0, 0},
		"Tried":         {packet{later, atA, false, a1, b1}, 0, 1, 0, 0},
		"Reached":       {packet{later, atB, true, a1, b1}, 0, 0, 1, 0},
		"Overheard":     {packet{later, atB, true, a1, a2}, 0, 0, 0, 1},
		"OnItsWay":      {packet{later, uplink, true, a1, a2}, 0, 0, 0, 0},
		"BeforeThePods": {packet{start.Add(-time.Minute), atB, true, a1, b1}, 0, 0, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := sees(tc.packet)
			if j.Within != tc.within || j.Tried != tc.tried || len(j.Reached) != tc.reached || len(j.Overheard) != tc.overheard {
				t.Errorf("got %+v", j)
			}
		})
	}
}
