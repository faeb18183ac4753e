package watch

import (
	"io"
	"log"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestSilentWorkersAreNamedWhileTheyAreSilent(t *testing.T) {
	first, second := Silence{Host: "j-node-0-0", Address: "10.0.0.2", PID: 7}, Silence{Host: "j-node-0-1", PID: 8}
	over := func(s Silence) Silence { s.Over = true; return s }
	killed := func(pid int) bool { return pid != 9 }
	const frozen = "Worker 0 does not answer, although its machine takes what it is sent: frozen, or without processor time"
	for name, c := range map[string]struct {
		records []Silence
		want    string
	}{
		"none":        {nil, ""},
		"one":         {[]Silence{first}, frozen + " (j-node-0-0 (10.0.0.2))"},
		"two":         {[]Silence{first, second}, frozen + " (j-node-0-0 (10.0.0.2) and 1 more)"},
		"over":        {[]Silence{first, over(first)}, ""},
		"one is over": {[]Silence{first, second, over(first)}, "Worker 1 does not answer"},
		"again":       {[]Silence{first, over(first), first}, "Worker 0 does not answer"},
		"shell ended": {[]Silence{{Host: "j-node-0-2", PID: 9}}, ""},
	} {
		warning := NewStallWatch(log.New(io.Discard, "", 0)).ObserveSilences(c.records, killed)
		if got := words(warning); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
		if warning != nil && warning.Reason != mpi.ReasonWorkerSilent {
			t.Errorf("%s: %s", name, warning.Reason)
		}
	}
}
