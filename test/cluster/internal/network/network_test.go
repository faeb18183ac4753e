package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflicts(t *testing.T) {
	claims := func(prefixes ...string) []Claim {
		var c []Claim
		for _, p := range prefixes {
			c = append(c, Claim{Prefix: netip.MustParsePrefix(p), By: "test"})
		}
		return c
	}
	cases := map[string]struct {
		reason string
		in     []Claim
		want   []Claim
	}{
		"free":            {reason: "other networks do not matter", in: claims("192.168.1.0/24", "10.0.0.0/24", "127.0.0.0/8")},
		"default route":   {reason: "every machine has one", in: claims("0.0.0.0/0")},
		"same network":    {reason: "a pod network of another cluster", in: claims("10.244.0.0/16"), want: claims("10.244.0.0/16")},
		"inside":          {reason: "a single address is enough", in: claims("10.96.7.1/32"), want: claims("10.96.7.1/32")},
		"around":          {reason: "a VPN's route swallows all", in: claims("10.0.0.0/8"), want: claims("10.0.0.0/8")},
		"named only once": {reason: "one claim, one line", in: claims("10.0.0.0/8", "10.1.0.0/16"), want: claims("10.0.0.0/8")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			byString := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
			if diff := cmp.Diff(tc.want, conflicts(tc.in), byString); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConflictErrorNamesWhoAndWhat(t *testing.T) {
	msg := ConflictError{Claims: []Claim{{Prefix: netip.MustParsePrefix("10.244.0.0/16"), By: "route via tun0"}}}.Error()
	for _, part := range []string{"10.244.0.0/16 (route via tun0)", Nodes.String(), Services.String(), Pods.String()} {
		if !strings.Contains(msg, part) {
			t.Errorf("%q does not say %q", msg, part)
		}
	}
}

func TestPlanFits(t *testing.T) {
	last := MaxNodes - 1
	if !Nodes.Contains(NodeAddr(last)) || NodeAddr(0) == Host {
		t.Errorf("node addresses %s to %s do not fit %s beside %s", NodeAddr(0), NodeAddr(last), Nodes, Host)
	}
	if !Pods.Overlaps(PodCIDR(last)) || PodCIDR(0).Overlaps(PodCIDR(1)) {
		t.Errorf("pod networks do not fit %s or overlap", Pods)
	}
	if !Services.Contains(DNS) || APIService != Services.Addr().Next() {
		t.Errorf("service addresses %s, %s do not fit %s", DNS, APIService, Services)
	}
	if len(portName(last)) > 15 || len(Bridge) > 15 {
		t.Error("a link name is longer than the kernel allows")
	}
}
