package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

func chartOf(template string, values chart.Values) chart.Chart {
	return chart.Chart{
		Files: []chart.File{
			{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: app\nversion: 0.1.0\n")}, {Name: "templates/a.yaml", Data: []byte(template)},
		},
		Release: "app", Namespace: "apps", Kubernetes: "1.36", Values: values,
	}
}

// TestHostileCharts: templates that would end or occupy the process end only their own, are named, and the others are rendered.
func TestHostileCharts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits all resources")
	}
	l := processLimits{seconds: 2, memory: 256 << 20, longest: 5 * time.Minute} // on a busy machine 2 s of a processor take long
	r := chart.SubprocessRenderer{Start: func() (subprocess.Process, error) {
		return startCharts(l, chart.BuildID(), newCPUTimeBudget(60, "charts"))
	}, Limits: l.String()}
	cases := []struct{ reason, template, want string }{
		{"a template", `a: {{ .Release.Name }}`, ""},
		{"a loop without end", `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`, "the rendering was ended: it took more than 2 s of processor time"},
		{"another template", `b: {{ .Capabilities.KubeVersion }}`, ""},
		{"doubling", `{{ $s := list "x" }}{{ range until 40 }}{{ $s = concat $s $s }}{{ end }}`, "the rendering was ended: it needed more than 256 MiB of memory"},
		{"the last template", `c: {{ .Release.Namespace }}`, ""},
	}
	var given []chart.Chart
	for _, c := range cases {
		given = append(given, chartOf(c.template, nil))
	}
	for i, rendered := range r.Render(given) {
		switch c := cases[i]; {
		case c.want == "" && (rendered.Failed != "" || len(rendered.Documents) != 1):
			t.Errorf("%s: %+v", c.reason, rendered)
		case c.want != "" && !strings.Contains(rendered.Failed, c.want):
			t.Errorf("%s: got %+v, want %q", c.reason, rendered, c.want)
		}
	}
}

// TestChartsInSandbox: a chart renders to the same in a process of its own, with numbers and nothing as the values have them.
func TestChartsInSandbox(t *testing.T) {
	values := chart.Values{
		"whole": 1000000, "float": 1000000.0, "small": 1.5, "text": "1", "truth": true, "nothing": nil, "list": []any{1, 1.0, nil, map[string]any{"a": -2}},
	}
	both := []chart.Chart{chartOf(`{{ range $k, $v := .Values }}{{ $k }}: {{ kindOf $v | quote }} {{ $v | toJson }} {{ print $v }}{{ "\n" }}{{ end }}`, values)}
	if diff := cmp.Diff(helm.Renderer{}.Render(both), ChartRenderer().Render(both)); diff != "" {
		t.Errorf("(-here +sandbox):\n%s", diff)
	}
}

// TestChartsOfAnotherVersion: two programs of different releases do not work together.
func TestChartsOfAnotherVersion(t *testing.T) {
	r := chart.SubprocessRenderer{Start: func() (subprocess.Process, error) {
		return startCharts(processLimits{seconds: 2, memory: 1 << 30}, "v0.0.1", newCPUTimeBudget(60, "charts"))
	}, Limits: "little"}
	if got := r.Render([]chart.Chart{chartOf("", nil)})[0].Failed; !strings.Contains(got, "runtime-compiler is v0.0.1: install all programs of one release") {
		t.Errorf("got %q", got)
	}
}

// away takes the program that renders charts out of its place until the test ends, and returns that place.
func away(t *testing.T) (program string) {
	t.Helper()
	program, err := ChartProgramPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(program, program+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Rename(program+".away", program); err != nil {
			t.Error(err)
		}
	})
	return program
}

// TestChartsMissing: where the program is not installed the message says what is missing, and where.
func TestChartsMissing(t *testing.T) {
	away(t)
	got := ChartRenderer().Render([]chart.Chart{chartOf("", nil)})[0].Failed
	if !strings.Contains(got, "components need the program runtime-compiler-charts, which is not in /") {
		t.Errorf("got %q", got)
	}
}

// TestChartsNotExecutable: a program that may not be executed is named, with what to do.
func TestChartsNotExecutable(t *testing.T) {
	program := away(t)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ChartRenderer().Render([]chart.Chart{chartOf("", nil)})[0].Failed
	if want := "may not be executed: run `chmod +x " + program + "`"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestChartsConfined: what renders charts can open no file and no socket, whatever a library of it would do.
func TestChartsConfined(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux filters system calls")
	}
	total := newCPUTimeBudget(60, "charts")
	process, err := startCharts(processLimits{seconds: chartSeconds, memory: chartMemory}, chart.BuildID(), total)
	if err != nil {
		t.Fatal(err)
	}
	defer process.End()
	// An answer means that it has confined itself.
	encoder, decoder := json.NewEncoder(process), json.NewDecoder(process)
	var rendered chart.Rendered
	if err := errors.Join(encoder.Encode(chartOf("a: 1", nil)), decoder.Decode(&rendered)); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.(*workerProcess).cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// 2 is SECCOMP_MODE_FILTER: see proc(5).
	if !strings.Contains(string(status), "\nSeccomp:\t2\n") {
		t.Errorf("it is not confined:\n%s", status)
	}
}
