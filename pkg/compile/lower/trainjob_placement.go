package lower

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// A patch may choose among the machines of the runtime's profile, and must not leave it: node selectors are merged, so that one with the
// label of another profile replaces the runtime's own, and tolerations are replaced as a whole. Machines differ in labels of profiles
// whether or not a runtime uses them.

// What is before the names of labels and tolerations among the bounds of a runtime.
const (
	labelPrefix      = "label/"
	tolerationPrefix = "toleration/"
)

var machineLabelsRule = origin.Rule("admission policy", "the labels by which machines of one profile are told from those of others")

// placementEntries are more entries of a map of CEL: the labels by which machines of the profile are found, and what their pods tolerate.
func placementEntries(p *plan.Profile) string {
	var entries strings.Builder
	for _, l := range p.NodeLabels() {
		entries.WriteString(", " + celString(labelPrefix+l.Name) + ": " + celString(l.V))
	}
	for _, t := range p.Tolerations {
		operator := cmp.Or(t.V.Operator, corev1.TolerationOpEqual)
		text := strings.Join([]string{t.V.Key, string(operator), t.V.Value, string(t.V.Effect)}, "|")
		entries.WriteString(", " + celString(tolerationPrefix+text) + ": 'tolerated'")
	}
	return entries.String()
}

func placementOrigins(p *plan.Profile) []*origin.Origin {
	var origins []*origin.Origin
	labels := p.NodeLabels()
	for i := range labels {
		origins = append(origins, &labels[i].Origin)
	}
	for i := range p.Tolerations {
		origins = append(origins, &p.Tolerations[i].Origin)
	}
	return origins
}

// toleration is the toleration t of a patch as placement has them. For how long it tolerates does not matter: it is no wider.
const toleration = `('` + tolerationPrefix + `' + t.?key.orValue('') + '|' + t.?operator.orValue('Equal') + '|' + t.?value.orValue('') + '|' + t.?effect.orValue(''))`

// machineLabels are the labels of all profiles, sorted, those without a runtime included.
func machineLabels(c *plan.Cluster) []string {
	profiles := c.Profiles()
	for i := range c.Capacity {
		profiles = append(profiles, c.Capacity[i].Profile)
	}
	var labels []string
	for _, p := range profiles {
		for _, l := range p.NodeLabels() {
			labels = append(labels, l.Name)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

func placementVariables(c *plan.Cluster) []object.Node {
	const selector, nodes = `p.?spec.?nodeSelector.orValue({})`, `p.?spec.?affinity.?nodeAffinity`
	terms := `(` + nodes + `.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])
  + ` + nodes + `.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(w, w.?preference.orValue({})))`
	const apart = `p.?spec.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([])`
	return []object.Node{
		celVariableFrom("machineLabels", "["+celStrings(machineLabels(c))+"]", machineLabelsRule),
		celVariable("tolerations", celOverPods(`p.?spec.?tolerations.orValue([]).exists(t, !(`+toleration+` in variables.runtime)) ? 'found' : ''`)),
		// A key that begins with a dollar is a directive of the merge: `$patch: replace` would take the profile's selector away.
		celVariable("selectors", celJoinFindings(
			celOverPods(celSmallestKey(selector, `!k.matches('^[A-Za-z0-9]') || k in variables.machineLabels && variables.runtime[?'`+labelPrefix+`' + k] != p.spec.nodeSelector[?k]`)),
			celOverPods(celJoinTexts(terms+`.map(n, `+celJoinTexts(`n.?matchExpressions.orValue([]).map(e, e.key in variables.machineLabels ? e.key : '')`)+`)`)))),
		celVariable("foreignTerms", celOverPods(celJoinTexts(affinityTerms(`p.?spec.?affinity`)+`.map(t, `+celUnknownKey(`t`, "labelSelector", "matchLabelKeys", "mismatchLabelKeys", "topologyKey")+`)`))),
		celVariable("job", `object.metadata.?name.orValue('?')`),
		celVariable("barriers", celOverPods(apart+`.exists(t, t.?labelSelector.?matchLabels[?'`+mpi.JobSetNameLabel+`'].orValue('') != variables.job || t.labelSelector.matchLabels.exists(k, k.startsWith('$'))) ? 'found' : ''`)),
	}
}

// affinityTerms are all terms by which pods are placed beside or apart from other pods.
func affinityTerms(affinity string) string {
	var lists []string
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		lists = append(lists,
			affinity+`.?`+kind+`.?requiredDuringSchedulingIgnoredDuringExecution.orValue([])`,
			affinity+`.?`+kind+`.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(w, w.?podAffinityTerm.orValue({}))`)
	}
	return "(" + strings.Join(lists, "\n  + ") + ")"
}

func placementValidations() []object.Node {
	return []object.Node{
		celValidation("variables.tolerations == ''",
			"spec.runtimePatches adds tolerations",
			"spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"),
		celValidation("variables.selectors == ''",
			"spec.runtimePatches selects machines that are not the runtime's",
			"spec.runtimePatches selects machines by `{variables.selectors}`, which tells the machines of profiles apart; pods run on machines {variables.external ? 'that' : 'of profile `' + variables.runtime[?'profile'].orValue('') + '`, which'} come with the runtime: remove it, or name another runtime"),
		celValidation("variables.foreignTerms == ''",
			"spec.runtimePatches has affinity to pods of other namespaces",
			"spec.runtimePatches sets `{variables.foreignTerms}` in podAffinity or podAntiAffinity; by pods of other namespaces a job would keep them off machines; a term may have labelSelector, matchLabelKeys, mismatchLabelKeys and topologyKey: remove it"),
		celValidation("variables.barriers == ''",
			"spec.runtimePatches keeps pods of other jobs off machines",
			"spec.runtimePatches requires podAntiAffinity to pods that are not its own, which keeps them off the machines of this job; its own have the label "+
				mpi.JobSetNameLabel+": `{variables.job}`: add it to matchLabels of each required term, or prefer instead of require"),
	}
}
