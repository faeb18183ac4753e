package convert

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is what came of some files, for programs. Its JSON is stable: fields are added, not changed.
type Report struct {
	Jobs []JobReport `json:"jobs"`
	// Others are objects of other kinds in the same files.
	Others   []ReportPlace `json:"others,omitempty"`
	Problems []ReportPlace `json:"problems,omitempty"`
	// NeedHands is how many jobs have values that are not possible.
	NeedHands int `json:"needHands"`
}

// JobReport is one MPIJob.
type JobReport struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Runtime   string `json:"runtime"`
	Profile   string `json:"profile"`
	// Proposed reports that the catalog does not have the runtime.
	Proposed bool            `json:"proposed"`
	Rejected []string        `json:"rejected,omitempty"`
	TrainJob json.RawMessage `json:"trainJob"`
	Specs    []ReportSpec    `json:"specs,omitempty"`
	Entries  []ReportEntry   `json:"entries"`
}

// ReportSpec is a spec that the catalog lacks.
type ReportSpec struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// ReportEntry is what became of a value.
type ReportEntry struct {
	Class OutcomeClass `json:"class"`
	From  string       `json:"from"`
	Value string       `json:"value,omitempty"`
	To    string       `json:"to,omitempty"`
	Note  string       `json:"note,omitempty"`
	File  string       `json:"file"`
	Line  int          `json:"line"`
}

// ReportPlace is a message about a place.
type ReportPlace struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// NewReport returns what came of some files.
func NewReport(in Input, results []*Result) *Report {
	r := &Report{Jobs: []JobReport{}}
	for _, result := range results {
		if result.CountToReview() > 0 {
			r.NeedHands++
		}
		r.Jobs = append(r.Jobs, jobReport(result))
	}
	for _, other := range in.Others {
		r.Others = append(r.Others, ReportPlace{File: other.At.Path(), Line: other.At.Line, Message: strings.TrimSpace(other.Kind+" "+other.Name) + " is not an MPIJob: left as it is"})
	}
	for _, problem := range in.Problems {
		r.Problems = append(r.Problems, ReportPlace{File: problem.At.Path(), Line: problem.At.Line, Message: problem.Message})
	}
	return r
}

func jobReport(result *Result) JobReport {
	at := result.Job.Span()
	report := JobReport{
		Name: result.Job.Name(), Namespace: result.Job.Namespace(), File: at.Path(), Line: at.Line,
		Runtime: result.Runtime, Profile: result.Profile, Proposed: result.Proposed, Rejected: result.Rejected,
		TrainJob: result.JSON(), Entries: []ReportEntry{},
	}
	for _, spec := range result.Specs {
		report.Specs = append(report.Specs, ReportSpec(spec))
	}
	for i := range result.Entries {
		e := &result.Entries[i]
		report.Entries = append(report.Entries, ReportEntry{Class: e.Class, From: e.From, Value: e.Value, To: e.To, Note: e.Note, File: e.At.Path(), Line: e.At.Line})
	}
	return report
}

// JSON returns the TrainJob without what is empty.
func (r *Result) JSON() []byte {
	data, err := json.Marshal(r.TrainJob)
	if err != nil {
		panic(err) // it was made of JSON
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		panic(err)
	}
	delete(tree, "status")
	if data, err = json.Marshal(tree); err != nil {
		panic(err)
	}
	return data
}

// YAML returns the TrainJob.
func (r *Result) YAML() string { return jsonToYAML(r.JSON()) }

// WriteText writes what became of each value of each job, side by side.
func WriteText(w io.Writer, in Input, results []*Result) error {
	text := &errWriter{w: w}
	for i, r := range results {
		if i > 0 {
			text.printf("\n")
		}
		writeJob(text, r)
	}
	for _, other := range in.Others {
		text.printf("%s:%d: %s is not an MPIJob: left as it is\n", other.At.Path(), other.At.Line, strings.TrimSpace(other.Kind+" "+other.Name))
	}
	for _, problem := range in.Problems {
		text.printf("%s: error: %s\n", problem.At, problem.Message)
	}
	hands := 0
	for _, r := range results {
		if r.CountToReview() > 0 {
			hands++
		}
	}
	if len(results) > 1 {
		text.printf("\n%d MPIJobs: %d convert without manual work, %d need hands\n", len(results), len(results)-hands, hands)
	}
	return text.err
}

func writeJob(w *errWriter, r *Result) {
	at := r.Job.Span()
	state := ""
	if r.Proposed {
		state = ", which the catalog lacks"
	}
	w.printf("MPIJob %s (%s:%d) → TrainJob with runtime %s%s, machines %s\n", displayName(r.Job), at.Path(), at.Line, r.Runtime, state, r.Profile)
	if r.Proposed {
		for _, why := range r.Rejected {
			w.printf("  not %s\n", why)
		}
	}
	for _, class := range Classes() {
		if r.CountClass(class) == 0 {
			continue
		}
		w.printf("\n  %s\n", class.Title())
		columns := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Class == class {
				writeEntry(columns, e)
			}
		}
		w.keepFirstError(columns.Flush())
	}
	for _, spec := range r.Specs {
		w.printf("\n  %s\n", spec.Path)
		for line := range strings.Lines(spec.Text) {
			w.printf("    %s", line)
		}
	}
}

func displayName(j *MPIJob) string {
	text := j.Name()
	if text == "" {
		text = j.spec.GenerateName + "…"
	}
	if j.Namespace() != "" {
		text = j.Namespace() + "/" + text
	}
	return text
}

// writeEntry writes place and value; where it went and what is to be said about it follow in lines of their own, because both are long.
func writeEntry(w io.Writer, e *Outcome) {
	value := e.From
	if e.Value != "" {
		value += ": " + e.Value
	}
	fmt.Fprintf(w, "    %s:%d\t%s\n", e.At.Path(), e.At.Line, value)
	if e.To != "" && e.To != e.From {
		fmt.Fprintf(w, "    \t→ %s\n", e.To)
	}
	if e.Note != "" {
		fmt.Fprintf(w, "    \t  %s\n", e.Note)
	}
}

// errWriter keeps the first error of a writer.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.w.Write(p)
	e.keepFirstError(err)
	return n, err
}

func (e *errWriter) keepFirstError(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *errWriter) printf(format string, args ...any) { fmt.Fprintf(e, format, args...) }
