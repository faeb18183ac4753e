package sandbox

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// TestSilentProcess: a process that gives no answer, or ends without one, is a finding that says so.
func TestSilentProcess(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		longest time.Duration
		want    string
	}{
		"sleeps":       {[]string{"sleep", "1000"}, time.Second, "the rendering was ended: it gave no answer for 1s (it may take"},
		"ends at once": {[]string{"true"}, 0, "the rendering was ended: it gave no result: "},
	} {
		program, err := exec.LookPath(c.args[0])
		if err != nil {
			t.Fatal(err)
		}
		l, total := processLimits{seconds: 1, memory: 1 << 30, longest: c.longest}, newCPUTimeBudget(60, "charts")
		r := chart.SubprocessRenderer{Start: func() (subprocess.Process, error) { return startWorker(program, c.args, l, total) }, Limits: l.String()}
		if got := r.Render([]chart.Chart{chartOf("", nil)})[0].Failed; !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
