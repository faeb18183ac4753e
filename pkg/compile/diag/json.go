package diag

import "lockstep.dev/lockstep/pkg/compile/source"

// Record is a Diagnostic in the JSON that tools read.
type Record struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Place
	Related []RelatedRecord `json:"related,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
	Help    []string        `json:"help,omitempty"`
}

// Place is a position in a file. Line and Column count from 1 and are missing for a whole file; EndColumn is exclusive.
type Place struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
}

// RelatedRecord is a Related in JSON.
type RelatedRecord struct {
	Message string `json:"message"`
	Place
}

// Records returns the diagnostics in the order of Sorted, and never nil.
func (l *List) Records() []Record {
	records := []Record{}
	for _, d := range l.Sorted() {
		record := Record{Code: d.Code, Severity: d.Severity, Message: d.Message, Place: place(d.Span), Notes: d.Notes, Help: d.Help}
		for _, r := range d.Related {
			record.Related = append(record.Related, RelatedRecord{Message: r.Message, Place: place(r.Span)})
		}
		records = append(records, record)
	}
	return records
}

func place(span source.Span) Place {
	p := Place{File: span.Path(), Line: span.Line, Column: span.Column}
	if span.Line > 0 {
		p.EndColumn = span.Column + max(1, span.Length)
	}
	return p
}
