package semdiff

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how much attention a change needs. The list is closed.
type Severity uint8

// The severities, from the least to the gravest.
const (
	// Info is a change that nobody notices: it has no effect, or only adds what nobody uses yet.
	Info Severity = iota

	// Notice is a change that somebody notices and nobody is harmed by: new jobs get something else, somebody gets more of what is
	// theirs.
	Notice

	// Warning is a change by which somebody loses something, or after which somebody must act: less quota, traffic that is closed,
	// an object that must be recreated by hand, rights that grow within bounds, and what no rule understands.
	Warning

	// Critical is a change after which a boundary is open, data is lost or jobs are stopped: the whole internet is reachable, one
	// tenant reaches another, somebody may do everything, pods may be privileged, a volume is deleted.
	Critical
)

var severityNames = [...]string{Info: "info", Notice: "notice", Warning: "warning", Critical: "critical"}

// Severities returns all, the gravest first.
func Severities() []Severity { return []Severity{Critical, Warning, Notice, Info} }

// Meaning is a sentence about when a change has the severity.
func (s Severity) Meaning() string {
	return [...]string{
		Info:     "Nobody notices: it has no effect, or only adds what nobody uses yet.",
		Notice:   "Somebody notices, and nobody is harmed: new jobs get something else, somebody gets more of what is theirs.",
		Warning:  "Somebody loses something or must act: less quota, traffic that is closed, rights that grow within bounds, an object that must be recreated by hand; and what no rule understands.",
		Critical: "A boundary is open, data is lost or jobs are stopped: the internet is reachable, one tenant reaches another, somebody may do everything, a volume is deleted.",
	}[s]
}

// String returns the name.
func (s Severity) String() string { return severityNames[s] }

// MarshalText returns the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes a name.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severityNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("`%s` is no severity: %s", text, strings.Join(severityNames[:], ", "))
	}
	*s = Severity(i)
	return nil
}

// Threshold says which reports fail a pipeline: those with an entry of a severity or graver, or with a consequence. The zero
// Threshold fails none.
type Threshold struct {
	severity    Severity
	bySeverity  bool
	consequence Consequence
}

// ParseThreshold takes the name of a severity or of a consequence; "" and "none" mean no report.
func ParseThreshold(text string) (Threshold, error) {
	var t Threshold
	if text == "" || text == "none" {
		return t, nil
	}
	if t.severity.UnmarshalText([]byte(text)) == nil {
		t.bySeverity = true
		return t, nil
	}
	if t.consequence = Consequence(text); t.consequence.Meaning() == "" {
		return Threshold{}, fmt.Errorf("`%s` is neither a severity (%s) nor a consequence (%s)", text, names(Severities()), names(Consequences()))
	}
	return t, nil
}

func names[T any](list []T) string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = fmt.Sprint(item)
	}
	return strings.Join(words, ", ")
}

// Met says whether an entry reaches the threshold.
func (t Threshold) Met(e *Entry) bool {
	return t.bySeverity && e.Severity >= t.severity || t.consequence != "" && e.Consequence == t.consequence
}
