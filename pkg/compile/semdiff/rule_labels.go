package semdiff

import (
	"slices"
	"strings"
)

// wordKeys are labels, annotations and fields that people and dashboards read, and nothing else.
var (
	wordKeys     = []string{"openshift.io/display-name", "openshift.io/description", "lockstep.dev/description", "description", "kubernetes.io/description"}
	wordPrefixes = []string{"helm.sh/", "meta.helm.sh/", "app.kubernetes.io/"}
)

var labelsRule = &Rule{
	Name: "labels", Title: "Words for people",
	Doc: "Names, descriptions and labels that people, consoles and dashboards read, and that no policy or selector of the bundle looks at. " +
		"Other labels are not claimed: a policy may select by them.",
	Says: []Consequence{RestartsNothing},
	claims: func(c *Change) bool {
		// Policies may select namespaces by any label.
		selected := c.Kind() == "Namespace" && c.Path.Is("metadata", "labels", "*")
		return !c.Whole() && !selected && isWords(c.Path)
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			effects = append(effects, s.effect(part, RestartsNothing, Info, "what people read changes", shownAll(part)).with("are", "described in other words"))
		}
		return effects
	},
}

func isWords(p Path) bool {
	if p.Is("description") || p.Is("spec", "description") {
		return true
	}
	if !p.Is("metadata", "labels", "*") && !p.Is("metadata", "annotations", "*") {
		return false
	}
	key := p.Last()
	return key != managedByLabel && (slices.Contains(wordKeys, key) || slices.ContainsFunc(wordPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }))
}

// managedByLabel is on objects that only the platform team may change.
const managedByLabel = "app.kubernetes.io/managed-by"
