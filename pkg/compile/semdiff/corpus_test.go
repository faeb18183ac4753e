package semdiff_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// The corpus of pull requests, testdata/corpus/*.txtar, and how to add to it.
//
// A case is a change of the repository testdata/base: a file of the case replaces or adds that of the same path after the change;
// below `before/` it does so on both sides, so that a case can begin from something else. Other endings and names:
//
//	tenants/vision.yaml.edit     hunks: lines that begin with `-` are replaced by those with `+` that follow; each must be there once
//	tenants/vision.yaml.gone     the file is not there
//	objects/before.yaml          objects that no specs compile to, or that the proofs would refuse, as a unit of the cluster `hpc`
//	objects/after.yaml
//	fail-on                      a severity or a consequence, one in a line; out/fails has those that fail
//
// out/report is what a reviewer reads, without layout. `go test ./pkg/compile/semdiff -update` writes it.
func TestCorpus(t *testing.T) {
	needsSchemas(t)
	golden.Run(t, "testdata/corpus", func(t *testing.T, c *golden.Case) {
		before, after := sidesOf(t, c.Files)
		r := compared(t, before, after, c.Files)
		c.Output("report", summary(&r))
		c.Output("fails", fails(t, &r, c.Files["fail-on"]))
	})
}

// TestCorpusSize keeps the promise of the issue.
func TestCorpusSize(t *testing.T) {
	files, _ := filepath.Glob("testdata/corpus/*.txtar")
	if len(files) < 80 {
		t.Errorf("the corpus has %d pull requests, want at least 80", len(files))
	}
}

// TestCorpusCoversRules: each rule is in the corpus with everything that it says it may state.
func TestCorpusCoversRules(t *testing.T) {
	files, _ := filepath.Glob("testdata/corpus/*.txtar")
	said := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, report, _ := bytes.Cut(data, []byte("-- out/report --"))
		for _, line := range strings.Split(string(report), "\n") {
			if words := strings.Fields(line); len(words) > 2 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "verdict: ") {
				said[words[2]+" "+words[1]] = true
			}
		}
	}
	for _, own := range rule.Rules() {
		for _, consequence := range own.Says {
			if !said[own.Name+" "+string(consequence)] {
				t.Errorf("no pull request of the corpus shows that the rule %s says %s", own.Name, consequence)
			}
			delete(said, own.Name+" "+string(consequence))
		}
	}
	for undeclared := range said {
		if name, _, _ := strings.Cut(undeclared, " "); slices.ContainsFunc(rule.Rules(), func(r *rule.Rule) bool { return r.Name == name }) {
			t.Errorf("a rule states what it does not declare in Says: %s", undeclared)
		}
	}
}

func needsSchemas(t *testing.T) {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: this build has no schemas: run `make schemas`")
	}
}

// base is the repository that the pull requests change.
func base(t testing.TB) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	root := "testdata/base"
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sidesOf(t *testing.T, files fstest.MapFS) (before, after fstest.MapFS) {
	t.Helper()
	before = base(t)
	first, second := fstest.MapFS{}, fstest.MapFS{}
	for name, file := range files {
		if below, found := strings.CutPrefix(name, "before/"); found {
			first[below] = file
		} else if name != "fail-on" && !strings.HasPrefix(name, "objects/") {
			second[name] = file
		}
	}
	apply(t, before, first)
	after = maps.Clone(before)
	apply(t, after, second)
	return before, after
}

func apply(t *testing.T, to, change fstest.MapFS) {
	t.Helper()
	for name, file := range change {
		switch target, kind := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name); kind {
		case ".gone":
			if to[target] == nil {
				t.Fatalf("%s removes a file that is not there", name)
			}
			delete(to, target)
		case ".edit":
			if to[target] == nil {
				t.Fatalf("%s edits a file that is not there", name)
			}
			to[target] = &fstest.MapFile{Data: []byte(edited(t, name, string(to[target].Data), string(file.Data)))}
		default:
			to[name] = file
		}
	}
}

// edited applies the hunks of an edit.
func edited(t *testing.T, name, text, edit string) string {
	t.Helper()
	var old, later string
	flush := func() {
		if old == "" && later == "" {
			return
		}
		if strings.Count(text, old) != 1 {
			t.Fatalf("%s: what it replaces is in the file %d times:\n%s", name, strings.Count(text, old), old)
		}
		text = strings.Replace(text, old, later, 1)
		old, later = "", ""
	}
	for _, line := range strings.SplitAfter(edit, "\n") {
		switch {
		case strings.HasPrefix(line, "-"):
			if later != "" {
				flush()
			}
			old += line[1:]
		case strings.HasPrefix(line, "+"):
			later += line[1:]
		case strings.TrimSpace(line) != "":
			t.Fatalf("%s: a line begins with neither - nor +: %s", name, line)
		}
	}
	flush()
	return text
}

const today = "2026-11-21"

// compared compiles both sides and compares them.
func compared(t *testing.T, before, after fstest.MapFS, files fstest.MapFS) semdiff.Report {
	t.Helper()
	was, first := unitsOf(before)
	is, second := unitsOf(after)
	if first.Errors() > 0 {
		all := slices.DeleteFunc(first.Sorted(), func(d *diag.Diagnostic) bool { return d.Severity != diag.Error })
		t.Fatalf("the state before does not compile: %s", all[0].Message)
	}
	in := semdiff.Input{
		Clusters: map[string]semdiff.Cluster{}, Before: first, After: second, WaiversBefore: waiversOf(before), WaiversAfter: waiversOf(after), Today: today, KeepAll: true,
		Uncompiled: second.Errors() > 0,
	}
	if second.Errors() == 0 {
		for _, name := range slices.Sorted(maps.Keys(was)) {
			in.Units = append(in.Units, semdiff.NewUnit(cluster(name), unit(name), was[name], is[name], nil))
			delete(is, name)
		}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			in.Units = append(in.Units, semdiff.NewUnit(cluster(name), unit(name), nil, is[name], nil))
		}
	}
	if files["objects/before.yaml"] != nil || files["objects/after.yaml"] != nil {
		in.Units = append(in.Units, semdiff.NewUnit("hpc", "objects", objects(t, "objects/before.yaml", files), objects(t, "objects/after.yaml", files), nil))
	}
	if second.Errors() == 0 {
		states, _ := compile.CompareStates(before, after, compile.Options{Today: today, Charts: helm.Renderer{}}, func(compile.ComparedUnit) error { return nil })
		if states.Unreadable() {
			t.Error("check accepts both states, and diff refuses one")
		}
		for _, spec := range states.Specs {
			in.Specs = append(in.Specs, semdiff.Spec{Before: spec.Before, After: spec.After})
		}
	}
	plans, _ := compile.Plans(after, compile.Options{Today: today, Charts: helm.Renderer{}})
	for _, p := range plans {
		var ranges []string
		for i := range p.Ranges {
			ranges = append(ranges, p.Ranges[i].V)
		}
		in.Clusters[p.Name.V] = semdiff.Cluster{Ranges: ranges, ClearAfter: p.Encryption.V == "None"}
	}
	for i, state := range []fstest.MapFS{before, after} {
		livesIn(in.Clusters, state, i == 0)
	}
	r := semdiff.Compare(in)
	all := 0
	for i := range r.Entries {
		all += len(r.Entries[i].Samples)
	}
	if claimed := claimedOnce(t, &r); claimed != r.Totals.Values {
		t.Errorf("%d values differ, and %d are told", r.Totals.Values, claimed)
	}
	return r
}

// livesIn notes the tenants of a state, with their people.
func livesIn(clusters map[string]semdiff.Cluster, state fstest.MapFS, before bool) {
	plans, _ := compile.Plans(state, compile.Options{Today: today, Charts: helm.Renderer{}})
	for _, p := range plans {
		known := clusters[p.Name.V]
		known.ClearBefore = known.ClearBefore || before && p.Encryption.V == "None"
		for _, own := range p.Tenants {
			tenant := rule.Tenant{Name: own.Name.V, Before: before}
			for _, n := range own.Namespaces {
				tenant.Namespaces = append(tenant.Namespaces, n.V)
			}
			for _, group := range own.GroupsOfRoles() {
				tenant.Groups = append(tenant.Groups, group.V.Name)
			}
			known.Tenants = append(known.Tenants, tenant)
		}
		clusters[p.Name.V] = known
	}
}

// claimedOnce counts the changes that are told, and fails where two rules tell the same one as theirs.
func claimedOnce(t *testing.T, r *semdiff.Report) int {
	t.Helper()
	told := map[*match.Change]bool{}
	for i := range r.Entries {
		for j := range r.Entries[i].Samples {
			for _, c := range r.Entries[i].Samples[j].Changes {
				told[c] = true
			}
		}
	}
	return len(told)
}

func cluster(name string) string { before, _, _ := strings.Cut(name, " "); return before }
func unit(name string) string    { _, after, _ := strings.Cut(name, " "); return after }

func unitsOf(files fstest.MapFS) (map[string][]object.Object, *diag.List) {
	units := map[string][]object.Object{}
	list, _ := compile.Stream(files, compile.Options{Today: today, Charts: helm.Renderer{}}, func(u compile.Unit) error {
		units[u.Cluster+" "+u.Name] = u.Objects
		return nil
	})
	return units, list
}

func waiversOf(files fstest.MapFS) []group.Waiver {
	plans, _ := compile.Plans(files, compile.Options{Today: today, Charts: helm.Renderer{}})
	var all []group.Waiver
	for _, w := range waive.WaiversOf(plans, today).All() {
		all = append(all, group.Waiver{Owner: w.Owner, Code: w.Code.V, About: w.About.V, Reason: w.Reason.V, Until: w.Expires.V, At: w.Code.At})
	}
	return all
}

// objects reads objects as YAML. They come from the lines of their file.
func objects(t *testing.T, name string, files fstest.MapFS) []object.Object {
	t.Helper()
	if files[name] == nil {
		return []object.Object{}
	}
	var found []object.Object
	for i, text := range strings.Split(string(files[name].Data), "---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		var content map[string]any
		if err := sigsyaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		at := source.Span{File: source.NewFile(name, files[name].Data), Line: i + 1, Column: 1, Length: 1}
		found = append(found, object.New(object.FromValue("", content, nil), object.Place{Folder: "objects", File: "objects", Origin: at}, &origin.Origin{Kind: origin.Written, At: at}))
	}
	object.Sort(found)
	return found
}

// summary is a report as the corpus has it.
func summary(r *semdiff.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s\n", r.Verdict)
	for _, d := range r.Findings.New {
		fmt.Fprintf(&b, "finding %s %s: %s\n", d.Code, d.Span, d.Message)
	}
	for _, w := range r.Findings.Waived {
		fmt.Fprintf(&b, "waived %s until %s, new %t: %s\n", w.Code, w.Until, w.New, w.Reason)
	}
	for _, w := range r.Findings.Waivers {
		fmt.Fprintf(&b, "waiver %s %s: %s about %q until %s: %s\n  %s → %s\n", w.How, w.Owner, w.Code, w.About, w.Until, w.Reason, waiverBefore(&w), waiverAfter(&w))
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		fmt.Fprintf(&b, "\n%s %s %s ×%d: %s\n", e.Severity, e.Consequence, e.Rule, e.Count, e.Title)
		fmt.Fprintf(&b, "  %s → %s; jobs %s; %s\n", place(e.Before), place(e.After), e.Jobs, blast(&e.Affected))
		for j := range min(3, len(e.Samples)) {
			fmt.Fprintf(&b, "  - %s\n", e.Samples[j].Detail)
		}
		for _, w := range e.Waived {
			fmt.Fprintf(&b, "  waived: %s until %s: %s\n", w.Code, w.Until, w.Reason)
		}
		if e.Help != "" {
			fmt.Fprintf(&b, "  help: %s\n", e.Help)
		}
	}
	return b.String()
}

func waiverBefore(w *group.WaiverChange) string {
	switch {
	case w.How == group.WaiverRemoved:
		return place(w.At)
	case w.Before == nil:
		return "nowhere"
	}
	return place(w.Before.At) + " until " + w.Before.Until
}

func waiverAfter(w *group.WaiverChange) string {
	if w.How == group.WaiverRemoved {
		return "nowhere"
	}
	return place(w.At)
}

func place(s source.Span) string {
	if s.IsZero() {
		return "nowhere"
	}
	return s.String()
}

func blast(b *group.AffectedNames) string {
	var parts []string
	for _, list := range []struct {
		name  string
		names []string
	}{{"clusters", b.Clusters}, {"tenants", b.Tenants}, {"namespaces", b.Namespaces}, {"runtimes", b.Runtimes}} {
		if len(list.names) > 0 {
			parts = append(parts, list.name+" "+strings.Join(list.names, ","))
		}
	}
	return strings.Join(parts, "; ")
}

func fails(t *testing.T, r *semdiff.Report, file *fstest.MapFile) string {
	t.Helper()
	if file == nil {
		return ""
	}
	found := ""
	for _, name := range strings.Fields(string(file.Data)) {
		threshold, err := group.ParseThreshold(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Fails(threshold) {
			found += name + "\n"
		}
	}
	return found
}
