package rule

import "lockstep.dev/lockstep/pkg/compile/semdiff/match"

var unclassifiedRule = &Rule{
	Name: "unclassified", Title: "What no rule understands",
	Doc: "A change that no other rule claims. It is never left out, and it is a warning, because nobody has said that it is harmless. " +
		"Read it; where such changes come often, a rule for them is missing.",
	Says:   []Consequence{Unclassified},
	claims: func(*match.Change) bool { return true },
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCause((*Cluster).unclassifiedEffect)(c, changes)
		for _, change := range c.unclaimed {
			effects = append(effects, c.unclassifiedEffect([]*match.Change{change}))
		}
		return effects
	},
}

func (c *Cluster) unclassifiedEffect(part []*match.Change) Effect {
	change := part[0]
	if isSelfDescription(change) {
		return c.effect(part, Unclassified, Notice, "labels or annotations of "+withArticle(change.Kind())+" change: no rule knows who reads them").withClause("have", "other labels")
	}
	title, rest := change.Kind()+" changes in a way that no rule understands", "changes that no rule understands"
	switch {
	case change.Whole() && change.Added():
		title, rest = "a new "+change.Kind()+": no rule understands what it does", "a new "+change.Kind()+", which no rule understands"
	case change.Whole():
		title, rest = withArticle(change.Kind())+" is gone: no rule understands what it did", "no longer "+withArticle(change.Kind())+", which no rule understands"
	}
	return c.effect(part, Unclassified, Warning, title).withClause("have", rest).withJobs(JobsHampered)
}

// isSelfDescription reports whether a change is what an object says of itself. By labels of namespaces policies and webhooks know what they are for, and
// by annotations of known domains programs know what to do there.
func isSelfDescription(change *match.Change) bool {
	switch {
	case change.Whole():
		return false
	case change.Path.Is("metadata", "annotations", "*"):
		return change.Kind() != "Namespace" || readerOfKey(change.Path.Last()) == nil
	}
	return change.Kind() != "Namespace" && change.Path.Is("metadata", "labels", "**")
}
