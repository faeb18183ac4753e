package render

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// waiverReport has a waiver of which each thing is told that can become of one.
func waiverReport() *semdiff.Report {
	r := &semdiff.Report{Verdict: "Nothing changes."}
	file := source.NewFile("overlays/hpc/cluster.yaml", []byte("waivers:\n- code: LS7025\n"))
	for _, how := range group.WaiverChangeKinds() {
		w := group.Waiver{
			Owner: "cluster hpc", Code: "LS7025", About: "lockstep-egress", Reason: "because of " + string(how), Until: "2027-06-30",
			At: source.Span{File: file, Line: 2, Column: 9, Length: 6},
		}
		change := group.WaiverChange{How: how, Waiver: w}
		if how != group.WaiverAdded && how != group.WaiverRemoved {
			before := w
			before.Until = "2027-01-31"
			change.Before = &before
		}
		r.Findings.Waivers = append(r.Findings.Waivers, change)
	}
	return r
}

// TestWaivers: what becomes of waivers is in every format that has room for it, with reason and place. Annotations are about those that
// accept more.
func TestWaivers(t *testing.T) {
	r := waiverReport()
	for _, name := range []string{"text", "markdown", "json", "sarif", "html", "github"} {
		text := render(t, name, r)
		for i := range r.Findings.Waivers {
			w := &r.Findings.Waivers[i]
			want := name != "github" || w.Accepts()
			if strings.Contains(text, w.Reason) != want {
				t.Errorf("%s: a waiver that is %s is told: want %t\n%s", name, w.How, want, text)
			}
		}
		if !strings.Contains(text, "overlays/hpc/cluster.yaml") {
			t.Errorf("%s has no place:\n%s", name, text)
		}
	}
}

// TestWaiversInSchema: the JSON is what the schema says, with every word of the closed list.
func TestWaiversInSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../../docs/changes/review.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*semdiff.Report{"Waivers": waiverReport(), "Hostile": hostileReport()} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(render(t, "json", r)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
