package render

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// levels are how severe SARIF calls a severity.
var levels = map[rule.Severity]string{rule.Critical: "error", rule.Warning: "warning", rule.Notice: "note", rule.Info: "note"}

// SARIF writes a report for code scanning: a result per entry, at the line of the spec as it is afterwards; that of before is a related
// location. Its rules are those of semdiff, with their pages.
//
// Code scanning knows an alert again by its fingerprints. Ours (lockstepEntry/v1) is made of the rule, the consequence, the file and the
// text of its line, so that an alert outlives lines that move; services that want one of the line alone compute it when they take the log.
func SARIF(w io.Writer, r *semdiff.Report, options sarif.Options) error {
	b := sarifRun{docs: r.Docs, yaml: r.YAML, locate: options.Locate, rules: map[string]int{}, seen: map[string]int{}}
	results := []sarif.Result{}
	for i := range r.Entries {
		results = append(results, b.entryResult(&r.Entries[i]))
	}
	for i := range r.Findings.Waivers {
		results = append(results, b.waiverResult(&r.Findings.Waivers[i]))
	}
	return sarif.Encode(w, options.Version, r.Docs, b.used, results)
}

// waiverResult is a waiver that differs: a warning where it accepts more, a note where it accepts less.
func (b *sarifRun) waiverResult(w *group.WaiverChange) sarif.Result {
	const name = "waivers"
	index, known := b.rules[name]
	if !known {
		index = len(b.used)
		b.rules[name] = index
		page := ""
		if b.docs != "" {
			page = b.docs + "/waivers"
		}
		const title, doc = "What specs accept", "A waiver accepts findings of the compiler with a reason, until a day. This one is new, has changed, has expired or is gone."
		b.used = append(b.used, sarif.Rule{
			ID: name, HelpURI: page, Short: sarif.Text{Text: title}, Full: sarif.Text{Text: doc}, Help: sarif.Multiformat{Text: doc, Markdown: doc},
			Configuration: sarif.Configuration{Level: "warning"},
		})
	}
	level := levels[rule.Notice]
	if w.Accepts() {
		level = levels[rule.Warning]
	}
	key := w.Owner + "\x00" + w.Code + "\x00" + w.About + "\x00" + string(w.How)
	r := sarif.Result{
		RuleID: name, RuleIndex: index, Level: level, Message: sarif.Text{Text: withoutBrackets(waiverText(w) + "\n" + escapeControl(w.Reason))},
		Fingerprints: map[string]string{"lockstepEntry/v1": b.countedFingerprint(name, key)},
	}
	if !w.At.IsZero() {
		r.Locations = []sarif.Location{{PhysicalLocation: sarif.PhysicalAt(b.places.PlaceOf(w.At), b.locate)}}
	}
	return r
}

// sarifRun knows the rules so far.
type sarifRun struct {
	docs   string
	yaml   bool
	locate func(string) string
	places diag.Places
	rules  map[string]int
	used   []sarif.Rule
	// seen counts equal fingerprints.
	seen map[string]int
}

func (b *sarifRun) entryResult(e *group.Entry) sarif.Result {
	r := sarif.Result{
		RuleID: "change/" + e.Rule, RuleIndex: b.ruleIndex(e.Rule), Level: levels[e.Severity], Message: sarif.Text{Text: entryText(e, b.yaml)},
		Fingerprints: map[string]string{"lockstepEntry/v1": b.fingerprint(e)},
	}
	main, other := e.After, e.Before
	if main.IsZero() {
		main, other = e.Before, source.Span{}
	}
	if !main.IsZero() {
		r.Locations = []sarif.Location{{PhysicalLocation: sarif.PhysicalAt(b.places.PlaceOf(main), b.locate)}}
	}
	if !other.IsZero() && !samePlace(main, other) {
		r.RelatedLocations = []sarif.Location{{ID: 1, PhysicalLocation: sarif.PhysicalAt(b.places.PlaceOf(other), b.locate), Message: &sarif.Text{Text: "before"}}}
		r.Message.Text += "\n[before](1)"
	}
	for _, waived := range e.Waived {
		r.Suppressions = append(r.Suppressions, sarif.Suppression{Kind: "inSource", Status: "accepted", Justification: escapeControl(waived.Reason) + " (until " + escapeControl(waived.Until) + ")"})
	}
	return r
}

// fingerprint is the same as long as the entry is about the same line.
func (b *sarifRun) fingerprint(e *group.Entry) string {
	at := e.After
	if at.IsZero() {
		at = e.Before
	}
	parts := []string{e.Rule, string(e.Consequence), at.Path()}
	switch {
	case at.IsZero():
		parts = append(parts, e.Title)
	case at.Line > 0:
		parts = append(parts, strings.TrimSpace(at.File.Line(at.Line)))
	}
	return b.countedFingerprint(parts...)
}

// countedFingerprint is a fingerprint of some texts; those that have the same ones are counted.
func (b *sarifRun) countedFingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	text := hex.EncodeToString(sum[:12])
	b.seen[text]++
	return text + ":" + groupThousands(b.seen[text])
}

// ruleIndex returns the index of a rule.
func (b *sarifRun) ruleIndex(name string) int {
	index, known := b.rules[name]
	if known {
		return index
	}
	index = len(b.used)
	b.rules[name] = index
	title, doc := name, name
	for _, own := range rule.Rules() {
		if own.Name == name {
			title, doc = own.Title, own.Doc
		}
	}
	b.used = append(b.used, sarif.Rule{
		ID: "change/" + name, HelpURI: rule.PageURL(b.docs, name), Short: sarif.Text{Text: title}, Full: sarif.Text{Text: doc},
		Help: sarif.Multiformat{Text: doc, Markdown: doc}, Configuration: sarif.Configuration{Level: "warning"},
	})
	return index
}

// entryText is an entry as a text of a few lines, for formats that have no structure of their own.
func entryText(e *group.Entry, yaml bool) string {
	lines := []string{escapeControl(e.Title) + " [" + string(e.Consequence) + "]"}
	if who := affectedText(&e.Affected); who != "" {
		lines = append(lines, "for "+escapeControl(who))
	}
	lines = append(lines, e.Consequence.Meaning())
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		lines = append(lines, "Running jobs"+whoseJobs(e)+" "+jobs+".")
	}
	for _, line := range sampleLines(e) {
		lines = append(lines, "- "+line)
	}
	if more := e.Count - len(e.Samples); more > 0 {
		lines = append(lines, "- and "+groupThousands(more)+" more")
	}
	if e.Help != "" {
		lines = append(lines, "help: "+escapeControl(e.Help))
	}
	if room := yamlRoom(maxCompiled); yaml {
		lines = append(lines, strings.TrimRight(yamlText(room.compiledYAML(e, maxCompiled)), "\n"))
	}
	return withoutBrackets(strings.Join(lines, "\n"))
}

// withoutBrackets is a text without brackets, which are links to locations.
func withoutBrackets(text string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}
