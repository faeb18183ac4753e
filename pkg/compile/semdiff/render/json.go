package render

import (
	"encoding/json"
	"io"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The records are the JSON that docs/changes/review.schema.json describes.
type reportRecord struct {
	Compared Sides           `json:"compared"`
	Verdict  string          `json:"verdict"`
	Worst    string          `json:"worst"`
	Entries  []entryRecord   `json:"entries"`
	Findings findingsRecord  `json:"findings"`
	Clusters []clusterRecord `json:"clusters"`
	Totals   totalsRecord    `json:"totals"`
}

// Sides are the two states in JSON.
type Sides struct {
	From     string `json:"from"`
	FromHash string `json:"fromHash,omitempty"`
	To       string `json:"to"`
	ToHash   string `json:"toHash,omitempty"`
}

type entryRecord struct {
	Rule        string `json:"rule"`
	Consequence string `json:"consequence"`
	Severity    string `json:"severity"`
	Jobs        string `json:"jobs"`
	// JobsOf are the tenants whose running jobs are meant, where they are not those of the blast.
	JobsOf  []string            `json:"jobsOf,omitempty"`
	Title   string              `json:"title"`
	Help    string              `json:"help,omitempty"`
	Before  *diag.Place         `json:"before,omitempty"`
	After   *diag.Place         `json:"after,omitempty"`
	Count   int                 `json:"count"`
	Values  int                 `json:"values"`
	Blast   group.AffectedNames `json:"blast"`
	Samples []effectRecord      `json:"samples"`
	Waived  []waivedRecord      `json:"waived,omitempty"`
	// YAML is how the objects of the samples differ, if it was asked for.
	YAML string `json:"yaml,omitempty"`
	URL  string `json:"url,omitempty"`
}

type effectRecord struct {
	Subject rule.Subject   `json:"subject"`
	Detail  string         `json:"detail,omitempty"`
	Changes []changeRecord `json:"changes,omitempty"`
}

type changeRecord struct {
	Object string `json:"object"`
	Path   string `json:"path,omitempty"`
	// Old and New are JSON values; of objects as a whole there is none.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
}

type waivedRecord struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Reason  string      `json:"reason"`
	Until   string      `json:"until"`
	At      *diag.Place `json:"at,omitempty"`
	New     bool        `json:"new"`
}

type findingsRecord struct {
	Errors  int            `json:"errors"`
	New     []diag.Record  `json:"new"`
	Fixed   []diag.Record  `json:"fixed"`
	Waived  []waivedRecord `json:"waived,omitempty"`
	Waivers []waiverRecord `json:"waivers,omitempty"`
	// Deciding are the files beside the specs that decide about reviews and differ.
	Deciding []group.DecidingFile `json:"deciding,omitempty"`
}

type waiverRecord struct {
	Change      string      `json:"change"`
	Owner       string      `json:"owner"`
	Code        string      `json:"code"`
	About       string      `json:"about,omitempty"`
	Reason      string      `json:"reason"`
	Until       string      `json:"until"`
	UntilBefore string      `json:"untilBefore,omitempty"`
	Before      *diag.Place `json:"before,omitempty"`
	After       *diag.Place `json:"after,omitempty"`
}

type clusterRecord struct {
	Name       string `json:"name"`
	OnlyBefore bool   `json:"onlyBefore,omitempty"`
	OnlyAfter  bool   `json:"onlyAfter,omitempty"`
	Objects    int    `json:"objects"`
	Changed    int    `json:"changed"`
}

type totalsRecord struct {
	Units   int `json:"units"`
	Objects int `json:"objects"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
	Renamed int `json:"renamed"`
	Values  int `json:"values"`
	// BySeverity counts entries.
	BySeverity map[string]int `json:"bySeverity"`
}

// JSON writes a report for programs.
func JSON(w io.Writer, r *semdiff.Report, compared ComparedStates) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(jsonRecorder{docs: r.Docs}.recordOfReport(r, compared))
}

// jsonRecorder measures the lines that places are in, and knows where docs are.
type jsonRecorder struct {
	places diag.Places
	docs   string
}

func (c jsonRecorder) recordOfReport(r *semdiff.Report, compared ComparedStates) reportRecord {
	result := reportRecord{
		Compared: Sides(compared), Verdict: r.Verdict, Worst: r.Worst().String(), Entries: []entryRecord{}, Clusters: []clusterRecord{},
		Findings: findingsRecord{Errors: r.Findings.Errors, New: c.diagnosticRecords(r.Findings.New), Fixed: c.diagnosticRecords(r.Findings.Fixed), Waived: c.recordsOfWaived(r.Findings.Waived), Waivers: c.recordsOfWaivers(r.Findings.Waivers), Deciding: r.Findings.Deciding},
		Totals: totalsRecord{
			Units: r.Totals.Units, Objects: r.Totals.Objects, Added: r.Totals.Added, Removed: r.Totals.Removed, Changed: r.Totals.Changed,
			Renamed: r.Totals.Renamed, Values: r.Totals.Values, BySeverity: map[string]int{},
		},
	}
	for _, s := range rule.Severities() {
		result.Totals.BySeverity[s.String()] = r.Totals.BySeverity[s]
	}
	yaml := yamlRoom(maxAllCompiled)
	for i := range r.Entries {
		own := c.recordOfEntry(&r.Entries[i])
		if r.YAML {
			own.YAML = yamlText(yaml.compiledYAML(&r.Entries[i], maxCompiledWanted))
		}
		result.Entries = append(result.Entries, own)
	}
	for _, own := range r.Clusters {
		result.Clusters = append(result.Clusters, clusterRecord{own.Name, own.OnlyBefore, own.OnlyAfter, own.Objects, own.Changed})
	}
	return result
}

func (c jsonRecorder) recordOfEntry(e *group.Entry) entryRecord {
	result := entryRecord{
		Rule: e.Rule, Consequence: string(e.Consequence), Severity: e.Severity.String(), Jobs: e.Jobs.String(), Title: e.Title, Help: e.Help,
		Before: c.placeOf(e.Before), After: c.placeOf(e.After), Count: e.Count, Values: e.Values, Blast: e.Affected, Samples: []effectRecord{},
		Waived: c.recordsOfWaived(e.Waived), URL: rule.PageURL(c.docs, e.Rule),
	}
	if whoseJobs(e) != "" {
		result.JobsOf = e.JobsOf
	}
	for i := range e.Samples {
		result.Samples = append(result.Samples, effectRecordOf(&e.Samples[i]))
	}
	return result
}

// changesOf is how many changes of a sample are written.
const changesOf = 20

func effectRecordOf(e *rule.Effect) effectRecord {
	result := effectRecord{Subject: e.Subject, Detail: e.Detail}
	for _, change := range e.Changes[:min(changesOf, len(e.Changes))] {
		own := changeRecord{Object: change.Object().ID.String(), Path: change.Path.String()}
		if !change.Whole() && change.Old != nil {
			own.Old = change.Old.Value()
		}
		if !change.Whole() && change.New != nil {
			own.New = change.New.Value()
		}
		result.Changes = append(result.Changes, own)
	}
	return result
}

func (c jsonRecorder) recordsOfWaived(list []group.Waived) []waivedRecord {
	var result []waivedRecord
	for _, w := range list {
		result = append(result, waivedRecord{w.Code, w.Message, w.Reason, w.Until, c.placeOf(w.At), w.New})
	}
	return result
}

func (c jsonRecorder) recordsOfWaivers(list []group.WaiverChange) []waiverRecord {
	var result []waiverRecord
	for i := range list {
		w := &list[i]
		own := waiverRecord{Change: string(w.How), Owner: w.Owner, Code: w.Code, About: w.About, Reason: w.Reason, Until: w.Until, After: c.placeOf(w.At)}
		switch {
		case w.How == group.WaiverRemoved:
			own.Before, own.After = own.After, nil
		case w.Before != nil:
			own.UntilBefore, own.Before = w.Before.Until, c.placeOf(w.Before.At)
		}
		result = append(result, own)
	}
	return result
}

func (c jsonRecorder) placeOf(at source.Span) *diag.Place {
	if at.IsZero() {
		return nil
	}
	place := c.places.PlaceOf(at)
	return &place
}

func (c jsonRecorder) diagnosticRecords(list []*diag.Diagnostic) []diag.Record {
	all := &diag.List{Docs: c.docs}
	all.AddCopies(list)
	return all.Records()
}
