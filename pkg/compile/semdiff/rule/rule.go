// Package rule says what differences between two states of a cluster mean for it and for those who work there.
//
// A Rule is a value in a file of its own, with a page in docs/changes: it claims changes, and judges those of a cluster that it claimed.
// Each Change is claimed by exactly one Rule, the first in the order of Rules; what none claims is `unclassified`. To add one, write its
// file and put it into the list; the corpus (testdata/corpus of package semdiff) must show everything that it Says.
//
// A rule sees changes (package match), and what is known of both states of the cluster (Cluster); it returns an Effect for each subject,
// and does not know which others there are, how they become entries or how they are written. It never reads the words of an Effect.
package rule

import "lockstep.dev/lockstep/pkg/compile/semdiff/match"

// Rule understands some kinds of changes.
type Rule struct {
	// Name is how entries and its page, docs/changes/<name>.md, call it.
	Name string
	// Title and Doc are the heading and the text of its page: what it looks at, what it says, and how it knows.
	Title, Doc string
	// Says are the consequences that it may state.
	Says []Consequence
	// claims reports whether a change is the rule's. The first rule that claims a change has it.
	claims func(*match.Change) bool
	// judge says what the changes of a cluster mean that the rule claimed, or nothing for none. It may also look at objects that are new,
	// whichever rule tells that they are.
	judge func(*Cluster, []*match.Change) []Effect
}

// PageURL is the address of the page about a rule below the address of docs, empty if that is.
func PageURL(docs, rule string) string {
	if docs == "" {
		return ""
	}
	return docs + "/changes/" + rule
}

// comesWithOwner reports whether the object comes or goes with its namespace, its tenant or its cluster, so that it needs no words of its own.
func comesWithOwner(change *match.Change) bool { return change.Whole() && change.Disposal.WithTenant }

// judgeByCause judges the changes of one object that the same lines are responsible for.
func judgeByCause(judge func(*Cluster, []*match.Change) Effect) func(*Cluster, []*match.Change) []Effect {
	return judgeByCauseAnd(func(*match.Change) int { return 0 }, judge)
}

// judgeByCauseAnd judges the changes of one object that the same lines are responsible for and that are about the same.
func judgeByCauseAnd[K comparable](about func(*match.Change) K, judge func(*Cluster, []*match.Change) Effect) func(*Cluster, []*match.Change) []Effect {
	return func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		for _, part := range match.ByCause(changes) {
			for _, alike := range match.GroupBy(part, about) {
				effects = append(effects, judge(c, alike))
			}
		}
		return effects
	}
}

// lastKey is the last key of a change's path. `completions` and `parallelism` follow from the number of nodes.
func lastKey(c *match.Change) string {
	switch k := c.Path.Last(); k {
	case "completions", "parallelism":
		return "numNodes"
	default:
		return k
	}
}
