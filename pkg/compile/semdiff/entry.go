package semdiff

import "lockstep.dev/lockstep/pkg/compile/source"

// Entry is a group of effects with one cause: the same rule, the same consequence, the same lines of the specs.
type Entry struct {
	Rule        string
	Consequence Consequence
	// Severity and Jobs are the gravest of its effects.
	Severity Severity
	Jobs     Jobs
	// Title says what happens, without whom it happens to.
	Title string
	// Gist is the clause of the verdict.
	Gist Gist
	// Before and After are the places of the specs that are responsible; nowhere where a side has none.
	Before, After source.Span
	Help          string
	// Count is how many effects there are; Values how many changed values are behind them.
	Count, Values int
	Blast         Blast
	// Samples are a few of the effects, the gravest first.
	Samples []Effect
	// Waived are the waivers of specs that accept what the entry is about, where there are some.
	Waived []Waived
}

// Blast is whom the effects of an entry happen to. Lists are sorted, each name once.
type Blast struct {
	Clusters   []string `json:"clusters,omitempty"`
	Tenants    []string `json:"tenants,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Runtimes   []string `json:"runtimes,omitempty"`
}

// Size is the number of names.
func (b *Blast) Size() int {
	return len(b.Clusters) + len(b.Tenants) + len(b.Namespaces) + len(b.Runtimes)
}
