package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// hostile are texts that an author may write into a spec to draw, link, call or break out.
var hostile = []string{
	"@org/team", "</details><script>alert(1)</script>", "a|b|c", "`code` ``` fence", "first\nsecond\r\n/close\n- [x] done", "\u202egnp.exe\u202c",
	"![x](https://evil.example/i.png)", "[click](javascript:alert(1))", "https://evil.example/ www.evil.example #12 !34 org/repo#5 GH-6",
	"\x1b[31mred\x1b[0m\x07", "<!-- lockstep-review -->", "--><img src=x onerror=alert(1)>", "\xff\xfe", "$(rm -rf /) ${x} {{.}} ${{ secrets.TOKEN }}",
	"]]><failure/>", "\" onmouseover=\"alert(1)", "::error::x%0A::warning::y", strings.Repeat("long ", 2000), "",
}

// hostileReport has an entry for each of the texts, everywhere where a text of a spec may be.
func hostileReport() *semdiff.Report {
	r := &semdiff.Report{Verdict: strings.Join(hostile[:12], "; "), YAML: true}
	for i, text := range hostile {
		file := source.NewFile("tenants/"+text+".yaml", []byte("a: b\n"+strings.ReplaceAll(text, "\n", " ")+"\n"))
		at := source.Span{File: file, Line: 2, Column: 1, Length: 3}
		severity := rule.Severities()[i%4]
		waived := group.Waived{Code: "LS7025", Message: text, Reason: text, Until: text, At: at, New: i%2 == 0}
		r.Entries = append(r.Entries, group.Entry{
			Rule: "network", Consequence: rule.OpensNetwork, Severity: severity, Jobs: rule.JobsIncluded, Title: text, Help: text, Before: at, After: at, Count: 5,
			Affected: group.AffectedNames{Clusters: []string{text}, Tenants: []string{text}, Namespaces: []string{text, "b"}, Runtimes: []string{text}},
			Samples:  []rule.Effect{{Changes: hostileChanges(text), Subject: rule.Subject{Cluster: text, Tenant: text, Namespace: "n", Object: "ConfigMap n/" + text, Path: text}, Detail: text}},
			Waived:   []group.Waived{waived},
		})
		r.Totals.BySeverity[severity]++
		r.Findings.New = append(r.Findings.New, &diag.Diagnostic{Code: diag.OpensMore, Severity: diag.Warning, Message: text, Span: at})
		r.Findings.Fixed = append(r.Findings.Fixed, &diag.Diagnostic{Code: diag.OpensMore, Severity: diag.Warning, Message: text, Span: at})
		r.Findings.Waived = append(r.Findings.Waived, waived)
		own := group.Waiver{Owner: "tenant " + text, Code: "LS7025", About: text, Reason: text, Until: text, At: at}
		r.Findings.Waivers = append(r.Findings.Waivers, group.WaiverChange{How: group.WaiverChangeKinds()[i%len(group.WaiverChangeKinds())], Waiver: own, Before: &own})
		egress := isolation.Reach{Namespace: text, Tenant: text, Egress: isolation.Side{ofAddresses("8.8.8.0", "8.8.8.255")}}
		after := &semdiff.Proven{Reach: isolation.Reachability{Of: []isolation.Reach{egress}}}
		r.Clusters = append(r.Clusters, semdiff.ClusterReport{Name: text, After: after, Quotas: []rule.Quota{{Holder: text, Flavor: text, Resource: text, Before: rule.Amounts{Nominal: "1"}, After: rule.Amounts{Nominal: text}}}})
	}
	return r
}

// hostileChanges are changes of an object whose names and values are such a text.
func hostileChanges(text string) []*match.Change {
	o := &object.Object{ID: object.ID{Kind: "ConfigMap", Name: text}}
	was, is := object.Text("", "1", nil), object.Map("", object.Text(text, text, nil), object.Texts("b", nil, text))
	return []*match.Change{{Before: o, After: o, Path: match.Path{"data", text, text}, Old: &was, New: &is}}
}

var hostileCompared = ComparedStates{From: "feature/</sub><script>@org", To: "\x1b[2J\u202e"}

// controls reports whether a text has a character that steers a terminal or turns the direction of writing.
func controls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
	})
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	ownLink  = regexp.MustCompile(`\[\]\(https://(git\.example\.com|lockstep\.dev)/[^()\s<>|]*\)`)
)

func TestHostileText(t *testing.T) {
	text := written(t, func(b *strings.Builder) error { return Text(b, hostileReport(), hostileCompared, diag.Palette{}) })
	if controls(text) {
		t.Errorf("steers the terminal: %q", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "/close") || strings.HasPrefix(line, "second") {
			t.Errorf("a text of a spec begins a line: %q", line)
		}
	}
}

// TestHostileMarkdown: outside of code and of what we write, nothing is left that Markdown, HTML or a forge understands.
func TestHostileMarkdown(t *testing.T) {
	text := written(t, func(b *strings.Builder) error { return Markdown(b, hostileReport(), hostileCompared, pullLinks) })
	if characterCount(text) > MarkdownLimit {
		t.Errorf("%d characters", characterCount(text))
	}
	if controls(text) {
		t.Errorf("control characters: %q", text)
	}
	// No reader takes code for anything else, and our links lead where they should.
	text = ownLink.ReplaceAllString(codeSpan.ReplaceAllString(strings.ReplaceAll(text, "\\`", ""), ""), "")
	for _, never := range []string{"`", "<script", "<img", "[click](", "@org", "](https://evil", "https://evil", "\n/close", "\n- [x]", "![", " #12", "www.evil"} {
		if at := strings.Index(text, never); at >= 0 {
			t.Errorf("%q is left: %q", never, text[max(0, at-80):min(len(text), at+80)])
		}
	}
	if n := strings.Count(text, Marker); n != 1 || !strings.HasPrefix(text, Marker) {
		t.Errorf("the marker is there %d times", n)
	}
	if opened, closed := strings.Count(text, "<details>"), strings.Count(text, "</details>"); opened != closed {
		t.Errorf("%d details are opened, %d closed", opened, closed)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| ") {
			if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); cells != 5 {
				t.Errorf("a row has %d bars: %q", cells, line)
			}
		}
	}
}

// TestLinks: paths of files are as odd as their authors.
func TestLinks(t *testing.T) {
	for path, want := range map[string]string{
		"tenants/vision.yaml":          "[`tenants/vision.yaml:2`](https://x/tenants/vision.yaml#L2)",
		"tenants/a b.yaml":             "[`tenants/a b.yaml:2`](https://x/tenants/a%20b.yaml#L2)",
		"tenants/a)b(c.yaml":           "[`tenants/a)b(c.yaml:2`](https://x/tenants/a%29b%28c.yaml#L2)",
		"tenants/a|`b#?.yaml":          "[`tenants/a\\|'b#?.yaml:2`](https://x/tenants/a%7C%60b%23%3F.yaml#L2)",
		"tenants/{line}.yaml":          "[`tenants/{line}.yaml:2`](https://x/tenants/%7Bline%7D.yaml#L2)",
		"tenants/é\u202e/..%2f.yaml":   "[`tenants/é\ufffd/..%2f.yaml:2`](https://x/tenants/%C3%A9%E2%80%AE/..%252f.yaml#L2)",
		"tenants/[x](y).yaml":          "[`tenants/[x](y).yaml:2`](https://x/tenants/%5Bx%5D%28y%29.yaml#L2)",
		"tenants/new\nline\x1b[m.yaml": "[`tenants/new line\ufffd[m.yaml:2`](https://x/tenants/new%0Aline%1B%5Bm.yaml#L2)",
	} {
		at := source.Span{File: source.NewFile(path, []byte("a\nb\n")), Line: 2, Column: 1, Length: 1}
		if got := (&markdownWriter{}).placeLink(at, "https://x/{path}#L{line}"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", path, got, want)
		}
	}
	whole := source.WholeFile(source.NewFile("a.yaml", nil))
	if got := (&markdownWriter{}).placeLink(whole, "https://x/{path}#L{line}"); got != "[`a.yaml`](https://x/a.yaml#L1)" {
		t.Error(got)
	}
	if got := (&markdownWriter{}).placeLink(whole, ""); got != "`a.yaml`" {
		t.Error(got)
	}
}

// many returns a report of n entries, each for all of some tenants.
func many(n, tenants int) *semdiff.Report {
	r := &semdiff.Report{Verdict: "much changes."}
	names := make([]string, tenants)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%04d", i)
	}
	file := source.NewFile("overlays/hpc/cluster.yaml", []byte(strings.Repeat("  key: value\n", n+1)))
	for i := range n {
		at := source.Span{File: file, Line: i + 1, Column: 3, Length: 3}
		severity := rule.Severities()[i*4/n]
		r.Entries = append(r.Entries, group.Entry{
			Rule: "network", Consequence: rule.OpensNetwork, Severity: severity, Title: fmt.Sprintf("egress opens to 10.%d.0.0/16, TCP 443", i), Before: at, After: at,
			Count: tenants, Values: tenants, Affected: group.AffectedNames{Clusters: []string{"hpc"}, Tenants: names, Namespaces: names},
			Samples: []rule.Effect{
				{Subject: rule.Subject{Cluster: "hpc", Tenant: names[0], Namespace: names[0], Object: "NetworkPolicy.networking.k8s.io " + names[0] + "/egress"}, Detail: "TCP 443 at 0.0.0.0/0"},
			},
		})
		r.Totals.BySeverity[severity]++
	}
	for i := range tenants {
		r.Findings.New = append(r.Findings.New, &diag.Diagnostic{Code: diag.OpensMore, Severity: diag.Warning, Message: "more is open to " + names[i], Span: source.Span{File: file, Line: 1, Column: 3, Length: 3}})
	}
	return r
}

// TestOneLineForThousandTenants: what one line does to a thousand tenants fits a screen, findings included.
func TestOneLineForThousandTenants(t *testing.T) {
	r := many(1, 1000)
	text := written(t, func(b *strings.Builder) error { return Text(b, r, ComparedStates{From: "a", To: "b"}, diag.Palette{}) })
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	if !strings.Contains(text, "1,000 tenants (tenant-0000, tenant-0001, tenant-0002, …)") || !strings.Contains(text, "- and 999 more\n") || !strings.Contains(text, "more is open to tenant-0000 (and 999 more like it)") {
		t.Errorf("it does not say how many:\n%s", text)
	}
	markdown := written(t, func(b *strings.Builder) error { return Markdown(b, r, ComparedStates{From: "a", To: "b"}, Links{}) })
	if n := strings.Count(markdown, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, markdown)
	}
}

// TestMarkdownLimit: what has no room is counted: rows, details and findings add up.
func TestMarkdownLimit(t *testing.T) {
	for _, n := range []int{1, 100, 300, 3000} {
		r := many(n, 20)
		text := written(t, func(b *strings.Builder) error { return Markdown(b, r, ComparedStates{From: "a", To: "b"}, pullLinks) })
		if characterCount(text) > MarkdownLimit {
			t.Errorf("%d entries: %d characters", n, characterCount(text))
		}
		rows, details := strings.Count(text, "<br>`"), strings.Count(text, "<details><summary>")-1
		missing := wordBefore(text, " of less weight had no room in the table")
		if rows+missing != n {
			t.Errorf("%d entries: %d rows and %d that had no room", n, rows, missing)
		}
		undetailed := wordBefore(text, " have no room here")
		if details+undetailed != n {
			t.Errorf("%d entries: %d details and %d without", n, details, undetailed)
		}
		if n == 3000 && !strings.Contains(text, "[whole report]("+pullLinks.Full+")") {
			t.Error("no way to the whole report")
		}
	}
}

// wordBefore is the number of `1,234 changes` before a text, 0 where it is not there.
func wordBefore(text, after string) int {
	before, _, found := strings.Cut(text, after)
	if !found {
		return 0
	}
	words := strings.Fields(before)
	n := 0
	_, _ = fmt.Sscan(strings.ReplaceAll(words[len(words)-2], ",", ""), &n)
	return n
}

// TestRenderersFail: an error of the writer comes out of each.
func TestRenderersFail(t *testing.T) {
	r := many(2, 2)
	for name, write := range all(r) {
		if err := write(broken{}); err == nil {
			t.Errorf("%s hides that nothing was written", name)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
