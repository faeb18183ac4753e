package rule

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var credentialsRule = &Rule{
	Name: "credentials", Title: "Secrets that come from a store",
	Doc: "ExternalSecrets: which Secret comes from which key of which store. Jobs of the tenant can mount the content, " +
		"so that a new one and another key are warnings. With its ExternalSecret the Secret goes too: jobs that name it " +
		"no longer start. The content is not seen here.",
	Says:   []Consequence{WidensAccess, NarrowsAccess},
	claims: func(c *match.Change) bool { return c.Kind() == "ExternalSecret" },
	judge:  judgeByCause((*Cluster).credentials),
}

func (c *Cluster) credentials(part []*match.Change) Effect {
	change := part[0]
	before, after := contentOf(change.Before), contentOf(change.After)
	if change.After == nil {
		return c.effect(part, NarrowsAccess, Warning, "a Secret from a store goes").withDetail(before).
			withClause("lose", "the "+before).withJobs(JobsHampered)
	}
	return c.effect(part, WidensAccess, Warning, "a Secret comes from a store").withDetail(after).
		withClause("get", "the "+after)
}

// contentOf returns for example `Secret bucket from teams/vision/bucket of the store vault`.
func contentOf(o *object.Object) string {
	if o == nil {
		return ""
	}
	content := "Secret " + o.ID.Name + " from "
	for source := range o.Root.At("spec", "dataFrom").Items() {
		content += source.At("extract", "key").StringAt()
	}
	return content + " of the store " + o.Root.At("spec", "secretStoreRef", "name").StringAt()
}
