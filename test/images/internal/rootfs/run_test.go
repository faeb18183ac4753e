package rootfs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestRunReportsLinesAndQuotesTheLastOnesOnFailure(t *testing.T) {
	var seen []string
	script := "for i in $(seq 40); do echo line $i; done; echo oops >&2; printf unfinished; exit 3"
	err := run(exec.Command("sh", "-c", script), func(line string) { seen = append(seen, line) })
	if err == nil {
		t.Fatal("a failed program is no error")
	}
	for _, want := range []string{"exit status 3", "line 40", "oops", "unfinished"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "line 20\n") {
		t.Errorf("error quotes everything: %v", err)
	}
	if !slices.Contains(seen, "line 1") || !slices.Contains(seen, "line 40") {
		t.Errorf("lines were not reported: %q", seen)
	}
}

func TestSourceLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		source Source
		want   string
	}{
		"OwnKeys": {
			reason: "keyring and trust settings of the machine go along",
			source: Source{URI: "http://m.example/debian", Suite: "trixie", Components: []string{"main", "contrib"}, SignedBy: "/k.gpg", Options: []string{"trusted=yes"}},
			want:   "deb [signed-by=/k.gpg trusted=yes] http://m.example/debian trixie main contrib",
		},
		"NoKeys": {
			reason: "without a key file Debian's keyring decides",
			source: Source{URI: "http://m.example/debian", Suite: "trixie", Components: []string{"main"}},
			want:   "deb [signed-by=" + keyring + "] http://m.example/debian trixie main",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.source.line(keyring); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
