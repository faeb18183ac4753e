package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

// displayKeys are labels, annotations and fields that people and dashboards read, and nothing else.
var (
	displayKeys     = []string{"openshift.io/display-name", "openshift.io/description", "lockstep.dev/description", "description", "kubernetes.io/description", mpi.MachineAnnotation}
	displayPrefixes = []string{"helm.sh/", "meta.helm.sh/", "app.kubernetes.io/"}
)

var displayMetadataRule = &Rule{
	Name: "labels", Title: "Words for people",
	Doc: "Names, descriptions and labels that people, consoles and dashboards read, and that no policy or selector of the bundle looks at. " +
		"Other labels are not claimed: a policy may select by them.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *match.Change) bool {
		// Policies may select namespaces by any label.
		selected := c.Kind() == "Namespace" && c.Path.Is("metadata", "labels", "*")
		return !c.Whole() && !selected && isDisplayMetadata(c.Path)
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		return c.effect(part, RestartsNothing, Info, "what people read changes").withClause("are", "described in other words")
	}),
}

func isDisplayMetadata(p match.Path) bool {
	if p.Is("description") || p.Is("spec", "description") {
		return true
	}
	if !p.Is("metadata", "labels", "*") && !p.Is("metadata", "annotations", "*") {
		return false
	}
	key := p.Last()
	return key != managedByLabel && (slices.Contains(displayKeys, key) || slices.ContainsFunc(displayPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }))
}
