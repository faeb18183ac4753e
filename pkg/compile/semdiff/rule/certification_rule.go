package rule

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var certificationRule = &Rule{
	Name: "certification", Title: "Tests of runtimes",
	Doc: "What `kubectl mpi certify` measured of a runtime, in a label and an annotation of it. Jobs do not look at it. That a runtime of this change is " +
		"not the one that was tested is a warning, [LS4152](../diagnostics/LS4152.md).",
	Says: []Consequence{RestartsNothing},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && !c.Whole() && (c.Path.Is("metadata", "labels", mpi.CertifiedLabel) ||
			c.Path.Is("metadata", "annotations", mpi.CertificationAnnotation) || c.Path.Is("metadata", "annotations", mpi.FingerprintAnnotation))
	},
	judge: judgeByCauseAnd(certifiedAfter, func(c *Cluster, part []*match.Change) Effect {
		if part[0].Path.Last() == mpi.FingerprintAnnotation {
			return c.effect(part, RestartsNothing, Info, "it has another fingerprint, although its pods are the same")
		}
		switch state := certifiedAfter(part[0]); state {
		case "":
			return c.effect(part, RestartsNothing, Info, "nobody says any more that it was tested").withClause("lose", "the certification")
		case mpi.CertifiedStale:
			return c.effect(part, RestartsNothing, Info, "what was tested is not what jobs get").withClause("have", "a stale certification")
		default:
			return c.effect(part, RestartsNothing, Info, "it was tested on "+state).withClause("are", "certified")
		}
	}),
}

// certifiedAfter is the label of the runtime afterwards.
func certifiedAfter(c *match.Change) string {
	return c.After.Root.StringAt("metadata", "labels", mpi.CertifiedLabel)
}
