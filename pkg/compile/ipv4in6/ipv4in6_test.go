package ipv4in6_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/ipv4in6"
)

func TestForms(t *testing.T) {
	for name, test := range map[string]struct {
		reason, of string
		want       []string
	}{
		"Address":    {"the metadata service of clouds", "169.254.169.254/32", []string{"::ffff:169.254.169.254/128", "64:ff9b::a9fe:a9fe/128", "2002:a9fe:a9fe::/48"}},
		"Range":      {"bits after the prefix do not count", "10.1.2.3/8", []string{"::ffff:10.0.0.0/104", "64:ff9b::a00:0/104", "2002:a00::/24"}},
		"Everything": {"each prefix as a whole", "0.0.0.0/0", []string{"::ffff:0.0.0.0/96", "64:ff9b::/96", "2002::/16"}},
		"IPv6":       {"it stands for itself", "fd00::/8", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, form := range ipv4in6.IPv6Forms(netip.MustParsePrefix(test.of)) {
				got = append(got, fmt.Sprint(form))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
