package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how much attention a change needs. The list is closed.
type Severity uint8

// The severities, from the least to the most severe.
const (
	// Info is a change that no user notices: it has no effect, or only adds what is not used yet.
	Info Severity = iota

	// Notice is a change that users notice and that harms none: new jobs get something else, a tenant gets more of what is
	// theirs.
	Notice

	// Warning is a change by which a tenant loses something, or after which a person must act: less quota, traffic that is closed,
	// an object that must be recreated by hand, rights that grow within bounds, and what no rule understands.
	Warning

	// Critical is a change after which a boundary is open, data is lost or jobs are stopped: the whole internet is reachable, one
	// tenant reaches another, a subject may do everything, pods may be privileged, a volume is deleted.
	Critical
)

var severityNames = [...]string{Info: "info", Notice: "notice", Warning: "warning", Critical: "critical"}

// Severities returns all, the most severe first.
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
		return fmt.Errorf("`%s` is not a severity: %s", text, strings.Join(severityNames[:], ", "))
	}
	*s = Severity(i)
	return nil
}
