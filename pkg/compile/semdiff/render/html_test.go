package render

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestPagePolicy: a page runs its own style and script, and nothing else: no other element of code, no handler, nothing that is loaded.
func TestPagePolicy(t *testing.T) {
	text := render(t, "html", hostileReport())
	policy := html.UnescapeString(between(t, text, `http-equiv="Content-Security-Policy" content="`, `">`))
	for name, part := range map[string]string{"style-src": between(t, text, "<style>", "</style>"), "script-src": between(t, text, "<script>", "</script>")} {
		sum := sha256.Sum256([]byte(part))
		if want := name + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("the policy does not allow what is in the page: %s, want %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy allows more: %s", policy)
	}
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if n := strings.Count(text, "<style"); n != 1 {
		t.Errorf("%d styles", n)
	}
	for _, never := range []string{"<img", "<link", "<iframe", "<object", " style=", "=\"javascript:", "@import", "url("} {
		if strings.Contains(text, never) {
			t.Errorf("%s is in the page", never)
		}
	}
	if found := regexp.MustCompile(`<[a-z]+[^<>]*\son[a-z]+\s*=`).FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, "")); found != "" {
		t.Errorf("a handler: %s", found)
	}
	if controls(text) {
		t.Error("control characters")
	}
}

func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, text, found := strings.Cut(text, before)
	text, _, ended := strings.Cut(text, after)
	if !found || !ended {
		t.Fatalf("nothing between %s and %s", before, after)
	}
	return text
}

// TestPageSize: pages of the largest reviews can be opened.
func TestPageSize(t *testing.T) {
	for name, r := range map[string]*semdiff.Report{"many changes": many(5000, 1000), "one change": many(1, 1000)} {
		for i := range 8 {
			before, after := crowded(1000, i), crowded(1000, i+1)
			cluster := semdiff.ClusterReport{Name: fmt.Sprintf("cluster-%d", i), Before: before, After: after}
			for j := range 1000 {
				q := rule.Quota{Holder: fmt.Sprintf("tenant tenant-%04d", j), Flavor: "gpu", Resource: "nvidia.com/gpu"}
				q.Before, q.After = rule.Amounts{Nominal: "8"}, rule.Amounts{Nominal: "16"}
				cluster.Quotas = append(cluster.Quotas, q)
			}
			r.Clusters = append(r.Clusters, cluster)
		}
		text := render(t, "html", r)
		if len(text) > 4<<20 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		if shown := strings.Count(text, `<li class="entry `); shown < min(len(r.Entries), maxEntries) {
			t.Errorf("%s: %d entries are shown", name, shown)
		}
		if len(r.Entries) > maxEntries && !strings.Contains(text, "4,000 changes of less weight have no room on this page") {
			t.Errorf("%s: it does not say what is left out", name)
		}
		if !strings.Contains(text, "Without a row: 960 more tenants; 960 of them differ, too.") {
			t.Errorf("%s: it does not say which tenants have no row", name)
		}
	}
}

// crowded are the facts of a cluster on which all tenants reach a private network, and from step 1 on the internet.
func crowded(tenants, step int) *semdiff.Proven {
	f := &semdiff.Proven{}
	side := isolation.Side{{From: netip.MustParseAddr("10.0.0.0"), To: netip.MustParseAddr("10.255.255.255"), Ports: fmt.Sprintf("TCP %d", 443+step)}}
	for i := range tenants {
		name := fmt.Sprintf("tenant-%04d", i)
		f.Reach.Of = append(f.Reach.Of, isolation.Reach{Namespace: name, Tenant: name, Egress: side})
	}
	return f
}

// ofNamespaces are flows to or from other namespaces.
func ofNamespaces(names ...string) isolation.Side {
	var side isolation.Side
	for _, name := range names {
		side = append(side, isolation.Flow{Namespaces: name, Ports: "TCP 80"})
	}
	return side
}

func ofAddresses(from, to string) isolation.Flow {
	return isolation.Flow{From: netip.MustParseAddr(from), To: netip.MustParseAddr(to), Ports: "TCP 443"}
}

func ranged(f *semdiff.Proven) *semdiff.Proven {
	f.Ranges = []string{"10.128.0.0/14"}
	return f
}

// TestMatrix: two tenants speak with each other if the one may send and the other may receive, whatever their namespaces are called.
func TestMatrix(t *testing.T) {
	reach := func(all ...isolation.Reach) *semdiff.Proven {
		return &semdiff.Proven{Reach: isolation.Reachability{Of: all, Selections: map[string][]string{"{team=b}": {"b1", "b2"}, "{}": {"a1", "b1", "b2", "c1"}}}}
	}
	for name, test := range map[string]struct {
		reason        string
		before, after *semdiff.Proven
		want          []string
	}{
		"both sides": {
			"egress and ingress together are traffic",
			reach(isolation.Reach{Namespace: "a1", Tenant: "a"}, isolation.Reach{Namespace: "b1", Tenant: "b"}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: ofNamespaces("{team=b}")}, isolation.Reach{Namespace: "b1", Tenant: "b"}, isolation.Reach{Namespace: "b2", Tenant: "b", Ingress: ofNamespaces("a1")}),
			[]string{"a→b +"},
		},
		"one side": {
			"egress alone is no traffic", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}, isolation.Reach{Namespace: "b1", Tenant: "b"}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: ofNamespaces("b1")}, isolation.Reach{Namespace: "b1", Tenant: "b"}),
			[]string{"a→b ◐"},
		},
		"one side may receive": {
			"ingress alone is no traffic", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}, isolation.Reach{Namespace: "b1", Tenant: "b"}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a"}, isolation.Reach{Namespace: "b1", Tenant: "b", Ingress: ofNamespaces("a1")}),
			[]string{"a→b ◐"},
		},
		"other namespaces": {
			"the namespaces of a tenant are not one", reach(),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: ofNamespaces("b1")}, isolation.Reach{Namespace: "b1", Tenant: "b"}, isolation.Reach{Namespace: "b2", Tenant: "b", Ingress: ofNamespaces("a1")}),
			[]string{"a→b ◐"},
		},
		"closed": {
			"a way that is gone", reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: ofNamespaces("b1")}, isolation.Reach{Namespace: "b1", Tenant: "b", Ingress: ofNamespaces("{}")}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a"}, isolation.Reach{Namespace: "b1", Tenant: "b", Ingress: ofNamespaces("{}")}),
			[]string{"a→b −", "the platform→b ●"},
		},
		"internet": {
			"all addresses are those of the internet and of private networks", reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: isolation.Side{ofAddresses("10.4.0.0", "10.4.255.255")}}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: isolation.Side{ofAddresses("0.0.0.0", "255.255.255.255")}}),
			[]string{"a→private networks ±", "a→the internet +"},
		},
		"some of the internet": {
			"a public network is the internet, and a private one next to it is not", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: isolation.Side{ofAddresses("8.8.8.0", "8.8.8.255")}, Ingress: isolation.Side{ofAddresses("192.168.1.0", "192.168.1.255")}}),
			[]string{"a→the internet +", "private networks→a +"},
		},
		"own addresses": {
			"addresses of pods and Services are told apart from other private ones", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}),
			ranged(reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: isolation.Side{ofAddresses("10.128.1.0", "10.128.1.255"), ofAddresses("192.168.0.0", "192.168.0.255")}})),
			[]string{"a→the cluster's ranges +", "a→private networks +"},
		},
		"only own addresses": {
			"those of pods and Services are not private networks of others", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}),
			ranged(reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: isolation.Side{ofAddresses("10.128.1.0", "10.128.1.255")}})),
			[]string{"a→the cluster's ranges +"},
		},
		"platform": {
			"namespaces of nobody are the platform", reach(isolation.Reach{Namespace: "a1", Tenant: "a"}),
			reach(isolation.Reach{Namespace: "a1", Tenant: "a", Egress: ofNamespaces("kube-system"), Ingress: ofNamespaces("{role=ingress}")}),
			[]string{"a→the platform +", "the platform→a +"},
		},
		"itself": {
			"what a tenant does with itself is no way", reach(isolation.Reach{Namespace: "b1", Tenant: "b"}),
			reach(isolation.Reach{Namespace: "b1", Tenant: "b", Egress: ofNamespaces(isolation.Own, "b2")}, isolation.Reach{Namespace: "b2", Tenant: "b", Ingress: ofNamespaces("b1")}),
			nil,
		},
	} {
		e := partiesOf(test.before, test.after)
		c := comparedReach{e, reachOf(e, test.before), reachOf(e, test.after)}
		m := c.newMatrix("hpc")
		var got []string
		for _, row := range m.Rows {
			for i, cell := range row.Cells {
				if cell.Mark != "" && cell.Class != "own" {
					got = append(got, row.Name+"→"+m.Columns[i]+" "+cell.Mark)
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, test.reason, diff)
		}
	}
}

// TestMatrixCounts: ways are counted, those of tenants without a row, too.
func TestMatrixCounts(t *testing.T) {
	before, after := crowded(200, 0), crowded(200, 0)
	for i := range after.Reach.Of {
		after.Reach.Of[i].Egress = isolation.Side{ofAddresses("0.0.0.0", "255.255.255.255")}
	}
	e := partiesOf(before, after)
	c := comparedReach{e, reachOf(e, before), reachOf(e, after)}
	m := c.newMatrix("hpc")
	want := []matrixCount{{"tenants that reach the internet", "0", "200", true}, {"tenants that reach private networks", "200", "200", false}}
	if diff := cmp.Diff(want, m.Counts); diff != "" {
		t.Error(diff)
	}
	if len(m.Rows) != maxEnds || m.More != "" {
		t.Errorf("%d rows, %q", len(m.Rows), m.More)
	}
	said := []string{"200 tenants (tenant-0000, tenant-0001, tenant-0002, …) → the internet: TCP 443 at 0.0.0.0/0"}
	if diff := cmp.Diff(said, m.Opened); diff != "" {
		t.Error(diff)
	}
}

// TestWaysLimit: what has no room is counted.
func TestWaysLimit(t *testing.T) {
	before, after := crowded(130, 0), crowded(130, 0)
	for i := range after.Reach.Of {
		after.Reach.Of[i].Egress = isolation.Side{{From: netip.MustParseAddr("8.8.8.8"), To: netip.MustParseAddr("8.8.8.8"), Ports: fmt.Sprintf("TCP %d", i)}}
	}
	e := partiesOf(before, after)
	c := comparedReach{e, reachOf(e, before), reachOf(e, after)}
	m := c.newMatrix("hpc")
	if len(m.Opened)+len(m.Closed) != maxWays || m.More != "31 more ways differ, which are counted above." {
		t.Errorf("%d opened, %d closed, %q", len(m.Opened), len(m.Closed), m.More)
	}
}

// TestGauges: bars are for what differs; those who share it are beside it.
func TestGauges(t *testing.T) {
	quota := func(holder, resource, before, after string) rule.Quota {
		q := rule.Quota{Holder: holder, Resource: resource, Before: rule.Amounts{Nominal: before}, After: rule.Amounts{Nominal: after}}
		if strings.HasPrefix(holder, "tenant") {
			q.Flavor, q.After.Borrowing = "gpu", "16"
		}
		return q
	}
	r := &semdiff.Report{Clusters: []semdiff.ClusterReport{{Name: "hpc", Quotas: []rule.Quota{
		quota("namespace a", "pods", "1", "1"), quota("namespace a", "requests.cpu", "1", "1000m"), quota("namespace a", "requests.storage", "10Ti", ""),
		quota("tenant a", "nvidia.com/gpu", "64", "48"), quota("tenant b", "nvidia.com/gpu", "", "16"),
		{Holder: "tenant a", Flavor: "gpu", Resource: "rdma/ib", Before: rule.Amounts{Nominal: "4", Borrowing: "4"}, After: rule.Amounts{Nominal: "4", Borrowing: "0"}},
		{Holder: "tenant a", Flavor: "cpu", Resource: "rdma/ib", Before: rule.Amounts{Nominal: "4", Borrowing: "4"}, After: rule.Amounts{Nominal: "4", Borrowing: "4"}},
	}}}}
	var got []string
	shown, left := changedGauges(r)
	for _, g := range shown {
		for _, b := range g.Bars {
			got = append(got, fmt.Sprintf("%s: %s %s %d/%d %d/%d", g.What, b.Holder, b.Says, b.Before.Guaranteed, b.Before.Borrows, b.After.Guaranteed, b.After.Borrows))
		}
	}
	want := []string{
		"nvidia.com/gpu of profile gpu: a 64 → 48, may borrow any → 16 400/0 300/100",
		"nvidia.com/gpu of profile gpu: b no quota → 16, may borrow 0 → 16 0/0 100/100",
		"rdma/ib of profile gpu: a 4, may borrow 4 → 0 200/200 200/0",
		"requests.storage: namespace a 10Ti → no quota 400/0 0/0",
	}
	if diff := cmp.Diff(want, got); diff != "" || left != 0 {
		t.Errorf("%d left (-want +got):\n%s", left, diff)
	}
}

// TestSecretLines: a line that must not be shown is not shown.
func TestSecretLines(t *testing.T) {
	file := source.NewFile("tenants/a.yaml", []byte("a: b\n  password: hunter2\n"))
	at := source.Span{File: file, Line: 2, Column: 3, Length: 8}
	r := &semdiff.Report{
		Entries:  []group.Entry{{Rule: "environment", Consequence: rule.NewJobsOnly, Title: "x", After: at}},
		Findings: group.Findings{New: []*diag.Diagnostic{{Code: diag.OpensMore, Severity: diag.Warning, Message: "a secret", Span: at, Secret: true}}},
	}
	if text := render(t, "html", r); strings.Contains(text, "hunter2") || !strings.Contains(text, "tenants/a.yaml:2") {
		t.Error("the secret is shown, or its place is not")
	}
}

// TestFilters: entries know by number for whom they are.
func TestFilters(t *testing.T) {
	r := &semdiff.Report{Entries: []group.Entry{
		{Consequence: rule.OpensNetwork, Affected: group.AffectedNames{Tenants: []string{"b", "c"}}}, {Consequence: rule.OpensNetwork, Affected: group.AffectedNames{Tenants: []string{"a", "c"}}},
	}}
	text := render(t, "html", r)
	for _, want := range []string{`<option value="a"></option><option value="b"></option><option value="c"></option>`, `data-tenants=" 1 2 "`, `data-tenants=" 0 2 "`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestAddress: a link of a page leads into the web, or nowhere.
func TestAddress(t *testing.T) {
	const nowhere = "#ZgotmplZ"
	for link, want := range map[string]string{
		"https://example.com/a?b=c:d": "https://example.com/a?b=c:d", "HTTP://example.com": "HTTP://example.com", "a/b.html": "a/b.html", "#x": "#x", "./a:b": "./a:b", "": "",
		"javascript:alert(1)": nowhere, "\tjavascript:alert(1)": nowhere, "JavaScript:alert(1)": nowhere, "data:text/html,x": nowhere, "vbscript:x": nowhere,
	} {
		text := written(t, func(b *strings.Builder) error {
			return pageTemplate().ExecuteTemplate(b, "link", pageLink{link, "text"})
		})
		if link != "" {
			want = `<a href="` + want + `">text</a>`
		} else {
			want = "text"
		}
		if text != want {
			t.Errorf("%q is %q, want %q", link, text, want)
		}
	}
}

// TestPageVerdict: the verdict is a list with how severe each part is, below a banner where check refuses the state.
func TestPageVerdict(t *testing.T) {
	r := &semdiff.Report{
		Verdict: "check refuses it with 1 error; vision gains internet egress; speech is new.", Findings: group.Findings{Errors: 1},
		Clauses: []group.Clause{{Severity: rule.Critical, Text: "vision gains <internet> egress"}, {Severity: rule.Notice, Text: "speech is new"}},
	}
	text := render(t, "html", r)
	for _, want := range []string{
		`<p class="refused" role="alert"><b>check refuses this</b> with <a href="#findings">1 error</a></p>`,
		`<li class="critical"><span class="says">critical: </span>vision gains &lt;internet&gt; egress</li>`, `<li class="notice"><span class="says">notice: </span>speech is new</li>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if text := render(t, "html", &semdiff.Report{Verdict: "Nothing changes."}); !strings.Contains(text, `<p class="verdict">Nothing changes.</p>`) || strings.Contains(text, "check refuses this") {
		t.Error("a calm page")
	}
}

// TestPageCompiled: what differs in objects is there as YAML, each key once, and no more of it than a page has room for.
func TestPageCompiled(t *testing.T) {
	o := &object.Object{ID: object.ID{Kind: "Namespace", Name: "vision"}}
	change := func(old, later string, path ...string) *match.Change {
		was, is := object.Text("", old, nil), object.Map("", object.Text("a", later, nil), object.Texts("b", nil, "c: d"))
		return &match.Change{Before: o, After: o, Path: path, Old: &was, New: &is}
	}
	e := group.Entry{Samples: []rule.Effect{{Changes: []*match.Change{change("1", "<2>", "spec", "x", "y"), change("", "4", "spec", "x", "z")}}}}
	text := render(t, "html", &semdiff.Report{Entries: []group.Entry{e}})
	want := "<pre><code>  # Namespace vision\n  spec:\n    x:\n<del>-     y: 1</del><ins>+     y:</ins><ins>+       a: &lt;2&gt;</ins><ins>+       b:</ins><ins>+         - &#34;c: d&#34;</ins>" +
		"<del>-     z: &#34;&#34;</del><ins>+     z:</ins>"
	if found := between(t, text, `<summary>compiled</summary>`, "</pre>"); !strings.HasPrefix(found, want) {
		t.Errorf("got  %s\nwant %s", found, want)
	}
	var long []*match.Change
	for range 100 {
		long = append(long, change("1", "2", "spec"))
	}
	text = render(t, "html", &semdiff.Report{Entries: []group.Entry{{Samples: []rule.Effect{{Changes: long}}}}})
	if n := strings.Count(between(t, text, `<summary>compiled</summary>`, "</pre>"), "<ins>"); n > maxCompiled || !strings.Contains(text, "more lines") {
		t.Errorf("%d lines of an object that differs in many", n)
	}
}

// TestYAML: every format shows how objects differ, those without folds if it is asked for, and all within bounds.
func TestYAML(t *testing.T) {
	o := &object.Object{ID: object.ID{Kind: "Namespace", Name: "vision"}}
	was, is := object.Text("", "before", nil), object.Text("", "after", nil)
	var changes []*match.Change
	for i := range 300 {
		changes = append(changes, &match.Change{Before: o, After: o, Path: match.Path{"spec", fmt.Sprint(i)}, Old: &was, New: &is})
	}
	r := &semdiff.Report{Entries: make([]group.Entry, 200)}
	for i := range r.Entries {
		r.Entries[i] = group.Entry{Rule: "specs", Severity: rule.Notice, Samples: []rule.Effect{{Changes: changes}}}
	}
	r.Entries[0].Severity = rule.Info
	for name := range all(r) {
		folds := name == "markdown" || name == "html"
		for _, wanted := range []bool{false, true} {
			r.YAML = wanted
			text := render(t, name, r)
			if has := strings.Contains(text, "before") && strings.Contains(text, "after") && strings.Contains(text, "more lines"); has != (folds || wanted) {
				t.Errorf("%s, asked for: %t: has YAML: %t", name, wanted, has)
			}
			if n := strings.Count(text, "after"); n > maxAllCompiled || name == "markdown" && characterCount(text) > MarkdownLimit {
				t.Errorf("%s has %d lines of YAML", name, n)
			}
			if name == "markdown" && !regexp.MustCompile("The YAML of [0-9]+ changes has no room here").MatchString(text) {
				t.Errorf("markdown leaves out YAML in silence")
			}
			_, info, _ := strings.Cut(text, "<details><summary>⚪")
			if info, _, _ = strings.Cut(info, "<details><summary>🔵"); strings.Contains(info, "compiled") {
				t.Errorf("YAML for information takes the room of others: %s", info)
			}
		}
	}
}

// TestMachines: what comes with the same machines is one gauge.
func TestMachines(t *testing.T) {
	quota := func(resource, before, after string) rule.Quota {
		return rule.Quota{Holder: "tenant vision", Flavor: "gpu", Resource: resource, Before: rule.Amounts{Nominal: before}, After: rule.Amounts{Nominal: after}}
	}
	shown, _ := changedGauges(&semdiff.Report{Clusters: []semdiff.ClusterReport{{Name: "hpc", Quotas: []rule.Quota{
		quota("nvidia.com/gpu", "16", "8"), quota("cpu", "404", "202"), quota("memory", "3616Gi", "1808Gi"), quota("rdma/ib", "16", "4"),
	}}}})
	var names []string
	for _, g := range shown {
		names = append(names, g.What)
	}
	if want := []string{"nvidia.com/gpu of profile gpu, and cpu and memory alike", "rdma/ib of profile gpu"}; !cmp.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
