package preflight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	needs := []Need{
		{Package: "ipset", Programs: []string{"ipset"}},
		{Package: "mount", Programs: []string{"mount", "umount"}},
		{Package: "libseccomp-dev", Files: []string{"/a/libseccomp.a", "/b/libseccomp.a"}},
	}
	cases := map[string]struct {
		reason string
		there  []string
		want   []string
	}{
		"everything": {reason: "one of several files is enough", there: []string{"ipset", "mount", "umount", "/b/libseccomp.a"}},
		"nothing":    {reason: "all are named at once", want: []string{"ipset", "mount", "libseccomp-dev"}},
		"half":       {reason: "every program of a package counts", there: []string{"ipset", "mount", "/a/libseccomp.a"}, want: []string{"mount"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			has := func(thing string) bool { return strings.Contains(" "+strings.Join(tc.there, " ")+" ", " "+thing+" ") }
			if diff := cmp.Diff(tc.want, Missing(needs, has, has)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissingErrorIsOneCommand(t *testing.T) {
	msg := MissingError{Packages: []string{"ipset", "gcc"}}.Error()
	if !strings.Contains(msg, "apt-get install ipset gcc") {
		t.Errorf("%q does not say what to do", msg)
	}
}
