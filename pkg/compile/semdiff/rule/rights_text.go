package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// rightsText names the most severe right, and counts the others.
func rightsText(rights []access.Right) string {
	worst, most := rights[0], -1
	for _, r := range rights {
		if own := rightWeight(r); own > most {
			worst, most = r, own
		}
	}
	if worst.Group != access.Path {
		// The group of the API is in the detail.
		worst.Group = ""
	}
	text := rightText(worst)
	if more := len(rights) - 1; more > 0 {
		text += " (and " + Plural(more, "more right") + ")"
	}
	return text
}

// rightWeight orders rights by how much they are worth telling.
func rightWeight(r access.Right) int {
	switch {
	case r.SevereReason() != "":
		return 6
	case r.Verb == "*":
		return 5
	case slices.Contains(intoPods, r.Resource) && r.Verb != "list" && r.Verb != "watch":
		// A user who is in a pod has what the pod has: its Secrets, its token, its data.
		return 4
	case r.Verb == "create" && slices.Contains(running, r.Resource):
		return strengthToRun
	case r.Verb == "create" || r.Verb == "update" || r.Verb == "patch":
		return 2
	case r.Verb == "get" || r.Verb == "list" || r.Verb == "watch":
		return 0
	}
	return 1
}

// strengthToRun is that of a right to start pods; one to get into pods is more.
const strengthToRun = 3

// intoPods lead into pods that run; running are objects that start pods.
var (
	intoPods = []string{"pods/exec", "pods/attach", "pods/ephemeralcontainers", "pods/portforward", "pods/proxy"}
	running  = []string{"pods", "trainjobs", "jobs", "cronjobs", "jobsets", "deployments", "statefulsets", "daemonsets"}
)

func rightText(r access.Right) string {
	verb, thing := rightWords(r)
	return verb + " " + thing
}

// rightWords are the verb of a right, and what it is about.
func rightWords(r access.Right) (verb, thing string) {
	switch {
	case r.Group == access.Path && r.Resource == "*":
		r.Resource = "every path"
	case r.Verb == "*" && r.Resource == "*":
		return "do", "everything"
	case r.Resource == access.Unknown:
		return "do", "whatever the role " + r.Name + " allows"
	}
	thing = r.Resource
	if r.Group != "" && r.Group != access.Path {
		thing += "." + r.Group
	}
	if r.Name != "" {
		thing += " " + r.Name
	}
	if r.Verb == "*" {
		return "do", "everything with " + thing
	}
	return r.Verb, thing
}

// allRightsText names rights, those with the same verbs together: `get, list, watch configmaps, events and 9 more`.
func allRightsText(rights []access.Right) string {
	const maxGroups, maxEach = 4, 4
	var order []string
	things := map[string][]string{}
	for _, kind := range joinVerbs(rights) {
		if things[kind.verbs] == nil {
			order = append(order, kind.verbs)
		}
		things[kind.verbs] = append(things[kind.verbs], kind.thing)
	}
	var words []string
	for i, verbs := range order {
		if i == maxGroups {
			words = append(words, Plural(len(order)-maxGroups, "more kind")+" of rights")
			break
		}
		words = append(words, verbs+" "+firstFew(maxEach, things[verbs]))
	}
	return strings.Join(words, "; ")
}

// verbsOnObjects are the verbs that a subject has for one kind of objects.
type verbsOnObjects struct{ verbs, thing string }

// joinVerbs joins rights to the same objects, in the order of the first.
func joinVerbs(rights []access.Right) []verbsOnObjects {
	at := map[string]int{}
	var all []verbsOnObjects
	for _, r := range rights {
		verb, thing := rightWords(r)
		i, known := at[thing]
		if !known {
			at[thing] = len(all)
			all = append(all, verbsOnObjects{verb, thing})
			continue
		}
		all[i].verbs += ", " + verb
	}
	return all
}
