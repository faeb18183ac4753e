package references

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// resources are those of some groups of the API, of which all are known.
var resources = map[string][]string{
	"": strings.Fields(`bindings configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods podtemplates
		replicationcontrollers resourcequotas secrets serviceaccounts services users groups userextras uids componentstatuses`),
	"apps":                      strings.Fields("controllerrevisions daemonsets deployments replicasets statefulsets"),
	"batch":                     strings.Fields("cronjobs jobs"),
	"autoscaling":               strings.Fields("horizontalpodautoscalers"),
	"policy":                    strings.Fields("poddisruptionbudgets podsecuritypolicies"),
	"networking.k8s.io":         strings.Fields("ingresses ingressclasses networkpolicies ipaddresses servicecidrs"),
	"rbac.authorization.k8s.io": strings.Fields("clusterrolebindings clusterroles rolebindings roles"),
	"coordination.k8s.io":       strings.Fields("leases leasecandidates"),
	"trainer.kubeflow.org":      strings.Fields("clustertrainingruntimes trainingruntimes trainjobs"),
	"jobset.x-k8s.io":           strings.Fields("jobsets"),
}

// verbs are those that an API server asks whether somebody has them; there may be others, so that only slips are told.
var verbs = strings.Fields("get list watch create update patch delete deletecollection use bind escalate impersonate approve sign attest proxy")

// notVerbs are words for rights that people write, and what they mean.
var notVerbs = map[string]string{"read": "get", "write": "update", "edit": "update", "view": "get", "remove": "delete", "modify": "patch", "all": "*", "lists": "list", "exec": "create"}

// unknownRoleWord is a word of a role that means nothing.
type unknownRoleWord struct {
	by object.ID
	placedText
	what, meant string
}

// readRights reads what a role is about: an API server takes every word, and gives nothing for those that it does not know.
func (r factReader) readRights(root *object.Node) {
	for rule := range root.Get("rules").Items() {
		groups := rule.Get("apiGroups").Strings()
		known := len(groups) > 0 && !slices.ContainsFunc(groups, func(group string) bool { return resources[group] == nil })
		for n := range rule.Get("resources").Items() {
			plural, _, _ := strings.Cut(n.Text, "/")
			if !known || plural == "*" || !r.isJudged(n) || slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(resources[group], plural) }) {
				continue
			}
			all := []string{}
			for _, group := range groups {
				all = append(all, resources[group]...)
			}
			meant, _ := diag.Nearest(plural, all)
			r.facts.rights = append(r.facts.rights, unknownRoleWord{r.object.ID, placedText{n.Text, r.placeOf(n)}, "resource", meant})
		}
		for n := range rule.Get("verbs").Items() {
			if meant := meantVerb(n.Text); meant != "" && r.isJudged(n) {
				r.facts.rights = append(r.facts.rights, unknownRoleWord{r.object.ID, placedText{n.Text, r.placeOf(n)}, "verb", meant})
			}
		}
	}
}

// meantVerb is the verb that a word stands for that is none, or "".
func meantVerb(word string) string {
	if slices.Contains(verbs, word) {
		return ""
	}
	if meant := notVerbs[strings.ToLower(word)]; meant != "" {
		return meant
	}
	meant, _ := diag.NearMiss(strings.ToLower(word), verbs)
	if strings.EqualFold(word, meant) || slices.Contains(verbs, strings.ToLower(word)) {
		return strings.ToLower(word)
	}
	return meant
}

// reportUnknownVerb reports a word of a role that gives nothing.
func (p *prover) reportUnknownVerb(own *unknownRoleWord) {
	report := p.list.Warnf(diag.NamesNothing, own.at, "%s names the %s `%s`, which the API does not have", own.by, own.what, own.text)
	report.Notef("the role gives nothing by it")
	if own.meant != "" {
		report.Helpf("did you mean `%s`?", own.meant)
		return
	}
	report.Helpf("write the plural in small letters, as `kubectl api-resources` shows it, with its API group")
}
