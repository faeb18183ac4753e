package generate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsKeys(t *testing.T) {
	keys := map[string]string{"Secret": "secret", "RunsRanks": "runsRanks", "CPU": "cpu", "Default": "default", "GID": "gid"}
	cases := map[string]struct{ reason, comment, want string }{
		"beginning":  {"a comment names what it is about", "RunsRanks makes the launcher a node.", "`runsRanks` makes the launcher a node."},
		"acronym":    {"also where that is an acronym", "CPU is in cores.", "`cpu` is in cores."},
		"inside":     {"another field inside a sentence is a key too", "CPU counts when RunsRanks is true.", "`cpu` counts when `runsRanks` is true."},
		"itself":     {"the same word later is a word", "Secret names a Secret.", "`secret` names a Secret."},
		"a word":     {"an acronym inside a sentence is a word", "Default is 0 with GID 0.", "`default` is 0 with GID 0."},
		"a sentence": {"the beginning of a later sentence is a word", "CPU is in cores. Default is none.", "`cpu` is in cores. Default is none."},
		"unknown":    {"other words stay", "Kubernetes decides.", "Kubernetes decides."},
		"empty":      {"nothing stays nothing", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fieldNamesAsKeys(c.comment, keys)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
