// Package waive applies the waivers of specs to findings. A waiver accepts findings with a code, until a day: those about the document
// that it is in, and for a Cluster those that were found while that cluster was judged. A waived finding is still shown.
//
// What one tenant would accept at the expense of others (diag.Entry.ByCluster) only the spec of a Cluster accepts, and for a year at
// most.
//
// Waivers have their own mistakes: one that has expired, one that accepts nothing, one for what cannot be waived. There is no clock
// here: the day is given.
package waive

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// soon is how many days before its end a waiver is a finding.
const soon = 30

// most is for how many days from now a Cluster may accept what only it may.
const most = 366

// Waivers are those of all specs of a run.
type Waivers struct {
	today string
	list  []*waiver
	known map[waiverIdentity]bool
}

// waiverIdentity tells waivers apart. The place alone does not: a program writes many at one place of its text.
type waiverIdentity struct {
	cluster                      *plan.Cluster
	at                           source.Span
	code, about, reason, expires string
}

type waiver struct {
	plan.Waiver
	// owner is the spec that has it, as `tenant vision`.
	owner string
	// cluster is that whose spec has the waiver, or nil.
	cluster *plan.Cluster
	// used says that it accepted something, refused that its code cannot be waived there, byCluster that only clusters may waive it.
	used, refused, byCluster bool
}

// WaiversOf returns the waivers of plans. Today is a day as 2026-11-21; on "" none has expired.
func WaiversOf(plans []*plan.Cluster, today string) *Waivers {
	w := &Waivers{today: today, known: map[waiverIdentity]bool{}}
	for _, c := range plans {
		w.add("cluster "+c.Name.V, c, c.Waivers)
		for _, r := range c.Catalog {
			w.add("runtime "+r.Name.V, nil, r.Waivers)
			w.add("profile "+r.Profile.Name, nil, r.Profile.Waivers)
		}
		for i := range c.Capacity {
			w.add("profile "+c.Capacity[i].Profile.Name, nil, c.Capacity[i].Profile.Waivers)
		}
		for _, t := range c.Tenants {
			w.add("tenant "+t.Name.V, nil, t.Waivers)
		}
	}
	return w
}

// add adds waivers that are not there yet: specs are in several plans.
func (w *Waivers) add(owner string, c *plan.Cluster, list []plan.Waiver) {
	for i := range list {
		own := &list[i]
		id := waiverIdentity{cluster: c, at: own.Code.At, code: own.Code.V, about: own.About.V, reason: own.Reason.V, expires: own.Expires.V}
		if !w.known[id] {
			w.known[id] = true
			entry, found := diag.EntryOf(diag.Code(list[i].Code.V))
			byCluster := found && entry.ByCluster()
			refused := !found || !entry.CanBeWaived() || byCluster && c == nil
			w.list = append(w.list, &waiver{Waiver: list[i], owner: owner, cluster: c, refused: refused, byCluster: byCluster})
		}
	}
}

// SpecWaiver is a waiver as a spec has it.
type SpecWaiver struct {
	plan.Waiver
	// Owner is the spec: `cluster hpc`, `runtime train`, `profile gpu`, `tenant vision`.
	Owner string
}

// All returns the waivers in the order of the plans, each once.
func (w *Waivers) All() []SpecWaiver {
	all := make([]SpecWaiver, len(w.list))
	for i, own := range w.list {
		all[i] = SpecWaiver{Waiver: own.Waiver, Owner: own.owner}
	}
	return all
}

// Accept marks what waivers accept among findings. They were found while a cluster was judged, or anywhere for nil.
func (w *Waivers) Accept(c *plan.Cluster, found []*diag.Diagnostic) {
	for _, own := range w.list {
		if own.refused || w.isExpired(own) || w.endsTooLate(own) {
			continue
		}
		for _, d := range found {
			if own.matches(c, d) {
				own.used = true
				d.Waived = &diag.Waiver{Reason: own.Reason.V, Until: own.Expires.V}
			}
		}
	}
}

func (w *Waivers) isExpired(own *waiver) bool { return w.today != "" && w.today > own.Expires.V }

// AnyExpired reports whether one of them accepts nothing any more.
func (w *Waivers) AnyExpired() bool { return slices.ContainsFunc(w.list, w.isExpired) }

// endsTooLate says that a waiver of what only clusters may waive ends too late. It accepts nothing.
func (w *Waivers) endsTooLate(own *waiver) bool {
	left, known := w.daysLeft(own)
	return own.byCluster && known && left > most
}

func (own *waiver) matches(c *plan.Cluster, d *diag.Diagnostic) bool {
	switch {
	case string(d.Code) != own.Code.V:
		return false
	case own.cluster != nil && own.cluster == c, sameDocument(own.Code.At, d.Span):
		return own.About.V == "" || containsWord(d.Message, own.About.V)
	}
	// Secrets are found in files, before it is known which clusters these are for: there the path says what is meant.
	return own.cluster != nil && c == nil && d.Code == diag.SecretInSpec && own.About.V == d.Span.Path()
}

// containsWord reports whether a message has a word, with something else than a letter or a digit around it.
func containsWord(message, word string) bool {
	for rest := message; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(word):])
		if !isNameRune(before) && !isNameRune(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(rest[i:])
		rest = rest[i+size:]
	}
}

// isNameRune reports whether a character may be a part of a name: `mpi` is not named where `mpi-rdma` is.
func isNameRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
}

// sameDocument reports whether two places are in one document: no line between them begins the next one.
func sameDocument(a, b source.Span) bool {
	if a.File != b.File || a.IsZero() || b.Line == 0 {
		return false
	}
	for line := min(a.Line, b.Line) + 1; line <= max(a.Line, b.Line); line++ {
		if strings.HasPrefix(a.File.Line(line), "---") {
			return false
		}
	}
	return true
}

// ReportMistakes reports the mistakes of the waivers themselves. Complete says that everything was judged, so that a waiver which accepted
// nothing never will.
func (w *Waivers) ReportMistakes(list *diag.List, complete bool) {
	for _, own := range w.list {
		code := own.Code
		switch left, known := w.daysLeft(own); {
		case own.refused:
			w.refuseWaiver(own, list)
		case w.endsTooLate(own):
			list.Errorf(diag.WaiverTooLong, own.Expires.At, "the waiver of `%s` holds for %d days", code.V, left).
				Notef("what only clusters may waive is decided again once a year").Helpf("write a last day of at most %d days from now", most)
		case w.isExpired(own):
			list.Errorf(diag.WaiverExpired, own.Expires.At, "the waiver of `%s` expired on %s", code.V, own.Expires.V).
				Notef("its reason was: %s", own.Reason.V).Helpf("put right what it was for, or decide again and write a new day")
		case !own.used && complete:
			list.Warnf(diag.WaiverUnused, code.At, "the waiver of `%s` matches no finding", code.V).Helpf("remove it, or correct `code` and `about`")
		case own.used && known && left <= soon:
			list.Warnf(diag.WaiverExpiresSoon, own.Expires.At, "the waiver of `%s` expires in %d days", code.V, left).
				Notef("its reason is: %s", own.Reason.V)
		}
	}
}

func (w *Waivers) refuseWaiver(own *waiver, list *diag.List) {
	entry, found := diag.EntryOf(diag.Code(own.Code.V))
	if found && entry.CanBeWaived() {
		list.Errorf(diag.NotWaivable, own.Code.At, "`%s` can be waived by the spec of a cluster only", own.Code.V).
			Notef("others bear what it allows, so that whoever gains by it must not decide").Helpf("ask the platform team to write it at `waivers` of the cluster")
		return
	}
	if found {
		list.Errorf(diag.NotWaivable, own.Code.At, "`%s` cannot be waived", own.Code.V).Helpf("`runtime-compiler codes %s` says what to do", own.Code.V)
		return
	}
	var codes []string
	for _, entry := range diag.Entries() {
		codes = append(codes, string(entry.Code))
	}
	list.Errorf(diag.NotWaivable, own.Code.At, "there is no code `%s`", own.Code.V).Suggest(own.Code.V, codes).
		Helpf("`runtime-compiler codes` lists them")
}

// daysLeft returns how many days a waiver has, or false on no day.
func (w *Waivers) daysLeft(own *waiver) (days int, known bool) {
	today, err := time.Parse(time.DateOnly, w.today)
	if err != nil {
		return 0, false
	}
	end, err := time.Parse(time.DateOnly, own.Expires.V)
	return int(end.Sub(today).Hours() / 24), err == nil
}
