package render

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/internal/sariftest"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func locate(path string) string { return (&url.URL{Path: "platform/" + path}).String() }

// all are the renderers.
func all(r *semdiff.Report) map[string]func(io.Writer) error {
	compared := ComparedStates{From: "a", To: "b"}
	return map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return Text(w, r, compared, diag.Palette{}) },
		"markdown": func(w io.Writer) error { return Markdown(w, r, compared, pullLinks) },
		"json":     func(w io.Writer) error { return JSON(w, r, compared) },
		"sarif":    func(w io.Writer) error { return SARIF(w, r, sarif.Options{Version: "1.2.3", Locate: locate}) },
		"github":   func(w io.Writer) error { return GitHub(w, r, locate) },
		"html":     func(w io.Writer) error { return HTML(w, r, compared, pullLinks) },
	}
}

func render(t *testing.T, name string, r *semdiff.Report) string {
	t.Helper()
	return written(t, func(b *strings.Builder) error { return all(r)[name](b) })
}

// TestServices: what services read of the pull request of medium size.
func TestServices(t *testing.T) {
	golden.Run(t, "testdata/services", func(t *testing.T, c *golden.Case) {
		r := &reviewed(t, c.Files).Report
		for _, name := range []string{"sarif", "github"} {
			text := render(t, name, r)
			c.Output(name, text)
			if name == "sarif" {
				sariftest.CheckValid(t, text)
			}
		}
	})
}

// TestSARIF: logs of hostile and of empty reports are valid.
func TestSARIF(t *testing.T) {
	sariftest.CheckValid(t, render(t, "sarif", hostileReport()))
	empty := render(t, "sarif", &semdiff.Report{})
	sariftest.CheckValid(t, empty)
	if !strings.Contains(empty, `"results": []`) {
		t.Errorf("no empty results: %s", empty)
	}
}

// TestFingerprints: an alert is the same when its line moves, and another one when its line says something else. Equal lines are told
// apart by their number.
func TestFingerprints(t *testing.T) {
	entry := func(text string, line int) *semdiff.Report {
		at := source.Span{File: source.NewFile("tenants/a.yaml", []byte(text)), Line: line, Column: 1, Length: 1}
		e := group.Entry{Rule: "network", Consequence: rule.OpensNetwork, Title: "x", After: at}
		return &semdiff.Report{Entries: []group.Entry{e, e}}
	}
	prints := func(r *semdiff.Report) [2]string {
		var log struct {
			Runs []struct {
				Results []struct {
					Prints map[string]string `json:"partialFingerprints"`
				} `json:"results"`
			} `json:"runs"`
		}
		if err := json.Unmarshal([]byte(render(t, "sarif", r)), &log); err != nil {
			t.Fatal(err)
		}
		results := log.Runs[0].Results
		return [2]string{results[0].Prints["lockstepEntry/v1"], results[1].Prints["lockstepEntry/v1"]}
	}
	first, moved, other := prints(entry("- cidr: 0.0.0.0/0\n", 1)), prints(entry("a: b\n  - cidr: 0.0.0.0/0\n", 2)), prints(entry("- cidr: ::/0\n", 1))
	if first != moved {
		t.Errorf("a line that moved is another alert: %s, %s", first, moved)
	}
	if first == other || first[0] == first[1] || first[0] == "" {
		t.Errorf("alerts are not told apart: %s, %s", first, other)
	}
}

// TestGitHub: a command is a line, and no text of a spec begins another.
func TestGitHub(t *testing.T) {
	r := hostileReport()
	text := render(t, "github", r)
	want := len(r.Entries) - r.Totals.BySeverity[rule.Info]
	for _, w := range r.Findings.Waivers {
		if w.Accepts() {
			want++
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != want {
		t.Errorf("%d lines, want %d: %q", len(lines), want, text)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") && !strings.HasPrefix(line, "::notice file=") {
			t.Errorf("no command: %q", line)
		}
	}
}

// TestSame: the same report gives the same bytes.
func TestSame(t *testing.T) {
	r := hostileReport()
	for name := range all(r) {
		if first, second := render(t, name, r), render(t, name, r); first != second {
			t.Errorf("%s differs from one time to the next", name)
		}
	}
}
