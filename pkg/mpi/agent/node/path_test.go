package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodesFindTheAgentByNameBehindTheirOwnPrograms(t *testing.T) {
	cases := map[string]struct {
		reason      string
		environment []string
		want        []string
	}{
		"path":    {"an ssh of the image stays what it is", []string{"PATH=/image", "A=b"}, []string{"PATH=/image:/opt/lockstep/bin", "A=b"}},
		"empty":   {"it would put the current folder there", []string{"PATH=", "A=b"}, []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/lockstep/bin", "A=b"}},
		"without": {"what a shell would take", []string{"A=b"}, []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/lockstep/bin", "A=b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, withAgentLast(tc.environment)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}
