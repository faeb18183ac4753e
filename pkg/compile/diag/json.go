package diag

// Record is a Diagnostic in the JSON that tools read. docs/diagnostics/report.schema.json describes it, and a test holds both
// against each other.
type Record struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Place
	Related []RelatedRecord `json:"related,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
	Help    []string        `json:"help,omitempty"`
	Edit    *EditRecord     `json:"edit,omitempty"`
	// Waived says that a spec accepts the finding, which then does not count.
	Waived *WaivedRecord `json:"waived,omitempty"`
	// URL is that of the page about the code, if a Cluster names where docs are.
	URL string `json:"url,omitempty"`
}

// RelatedRecord is a Related in JSON.
type RelatedRecord struct {
	Message string `json:"message"`
	Place
}

// EditRecord is an Edit in JSON.
type EditRecord struct {
	Place
	Text string `json:"text"`
}

// WaivedRecord is a Waiver in JSON.
type WaivedRecord struct {
	Reason string `json:"reason"`
	Until  string `json:"until"`
}

// Records returns the diagnostics in the order of Sorted, and never nil.
func (l *List) Records() []Record {
	records := []Record{}
	var places Places
	for _, d := range l.Sorted() {
		record := Record{
			Code: d.Code, Severity: d.Severity, Message: d.Message, Place: places.PlaceOf(d.Span), Notes: d.Notes, Help: d.Help,
			URL: d.Code.URL(l.Docs),
		}
		for _, r := range d.Related {
			record.Related = append(record.Related, RelatedRecord{Message: r.Message, Place: places.PlaceOf(r.Span)})
		}
		if d.Waived != nil {
			record.Waived = &WaivedRecord{Reason: d.Waived.Reason, Until: d.Waived.Until}
		}
		if d.Edit != nil {
			record.Edit = &EditRecord{Place: places.PlaceOf(d.Edit.Span), Text: d.Edit.Text}
		}
		records = append(records, record)
	}
	return records
}
