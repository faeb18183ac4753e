// Package sarif writes diagnostics as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), which code scanning services and
// editors read: a rule per code that occurs, with the address of its page, a result per diagnostic with the region of the wrong
// token, the other places that matter, and a fix where one is known.
//
// The types hold the part of SARIF that is used; a test validates the result against the official schema.
package sarif

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// Options say what the diagnostics themselves do not.
type Options struct {
	// Version is that of the tool; empty leaves it out.
	Version string
	// Locate turns the path of a diagnostic into a URI, relative to the root of the checkout for code scanning.
	Locate func(string) string
}

// Write writes one log with one run. The same diagnostics give the same bytes.
func Write(w io.Writer, list *diag.List, options Options) error {
	b := resultBuilder{docs: list.Docs, locate: options.Locate, rules: map[diag.Code]int{}}
	results := []Result{}
	for _, d := range list.Sorted() {
		results = append(results, b.newResult(d))
	}
	return Encode(w, options.Version, list.Docs, b.used, results)
}

// Encode writes a log with one run. Docs is the address of the pages about rules, or empty. Results refer to the rules by
// their index.
func Encode(w io.Writer, version, docs string, rules []Rule, results []Result) error {
	r := Run{ColumnKind: "unicodeCodePoints", Results: results}
	r.Tool.Driver = driver{Name: "runtime-compiler", Version: version, InformationURI: docs, Rules: rules}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(sarifLog{Schema: schema, Version: "2.1.0", Runs: []Run{r}})
}

// resultBuilder knows the rules so far.
type resultBuilder struct {
	docs   string
	locate func(string) string
	places diag.Places
	rules  map[diag.Code]int
	used   []Rule
}

func (b *resultBuilder) newResult(d *diag.Diagnostic) Result {
	r := Result{RuleID: string(d.Code), RuleIndex: b.ruleIndex(d.Code), Level: string(d.Severity), Message: Text{d.Explanation(relatedLink)}}
	if !d.Span.IsZero() {
		r.Locations = []Location{{PhysicalLocation: b.physicalLocation(d.Span)}}
	}
	for i, related := range d.Related {
		if related.Span.IsZero() {
			continue
		}
		r.RelatedLocations = append(r.RelatedLocations, Location{ID: i + 1, PhysicalLocation: b.physicalLocation(related.Span), Message: &Text{related.Message}})
	}
	if d.Edit != nil && d.Edit.Span.Line > 0 {
		place := b.physicalLocation(d.Edit.Span)
		r.Fixes = []Fix{{
			Description: Text{"write `" + d.Edit.Text + "`"},
			Changes: []Change{{
				Artifact:     place.Artifact,
				Replacements: []Replacement{{Deleted: *place.Region, Inserted: Text{d.Edit.Text}}},
			}},
		}}
	}
	if d.Waived != nil {
		r.Suppressions = []Suppression{{Kind: "inSource", Status: "accepted", Justification: d.Waived.Reason + " (until " + d.Waived.Until + ")"}}
	}
	return r
}

// relatedLink makes a place of relatedLocations a link: viewers show only those that a message refers to.
func relatedLink(number int, r diag.Related) string {
	text := strings.NewReplacer("[", "(", "]", ")").Replace(r.Message)
	if r.Span.IsZero() {
		return text
	}
	return fmt.Sprintf("[%s](%d)", text, number)
}

func (b *resultBuilder) physicalLocation(span source.Span) Physical {
	return PhysicalAt(b.places.PlaceOf(span), b.locate)
}

// PhysicalAt is a place, whose path locate turns into a URI.
func PhysicalAt(place diag.Place, locate func(string) string) Physical {
	p := Physical{Artifact: Artifact{URI: locate(place.File)}}
	if place.Line > 0 {
		p.Region = &Region{StartLine: place.Line, StartColumn: place.Column, EndColumn: place.EndColumn}
	}
	return p
}

// ruleIndex returns the index of the rule of a code.
func (b *resultBuilder) ruleIndex(code diag.Code) int {
	index, known := b.rules[code]
	if known {
		return index
	}
	index = len(b.used)
	b.rules[code] = index
	entry, _ := diag.EntryOf(code)
	help := cmp.Or(strings.TrimSpace(entry.Why+"\n\n"+entry.Do), string(code))
	b.used = append(b.used, Rule{
		ID: string(code), HelpURI: code.URL(b.docs),
		Short: Text{cmp.Or(entry.Title, string(code))}, Full: Text{cmp.Or(entry.Why, string(code))},
		Help:          Multiformat{Text: help, Markdown: help},
		Configuration: Configuration{Level: string(entry.Severity)},
	})
	return index
}
