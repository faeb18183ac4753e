package capacity

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func trimmed(name, prefix string) string { return strings.TrimPrefix(name, prefix) }

// checkQueueAdmits asks that the default job of each usable runtime is admitted when nothing else runs, and warns where the largest one
// never is. Runtimes that the same share refuses are one finding.
func (p *proof) checkQueueAdmits(t *plan.Tenant, q *queue) {
	small := map[string][]unreachableSize{}
	for _, r := range p.usableRuntimes(t) {
		if q.flavor(r.profile) == nil {
			continue // a check reports runtimes without share
		}
		why := p.admits(q, r, r.standard)
		switch {
		case !why.admitted():
			p.reportRefused(t, q, r, why)
		case r.most > r.standard && !p.admits(q, r, r.most).admitted():
			small[r.profile] = append(small[r.profile], unreachableSize{r, p.largestAdmitted(q, r, r.standard, r.most)})
		}
	}
	for _, share := range t.Queue.Shares {
		if list := small[share.Profile.Name]; len(list) > 0 {
			p.reportTooSmall(t, &share, list)
		}
	}
}

// unreachableSize is a runtime and its largest job that is ever admitted.
type unreachableSize struct {
	runtime *runtime
	nodes   int64
}

func (p *proof) reportTooSmall(t *plan.Tenant, share *plan.Share, list []unreachableSize) {
	slices.SortFunc(list, func(a, b unreachableSize) int { return cmp.Compare(a.runtime.name, b.runtime.name) })
	texts := make([]string, len(list))
	for i, u := range list {
		texts[i] = "`" + u.runtime.name + "` allows " + strconv.FormatInt(u.runtime.most, 10) + " nodes and gets " + strconv.FormatInt(u.nodes, 10)
	}
	p.list.Warnf(diag.LargestJobDoesNotFit, share.Nodes.At, "the largest jobs never fit the share of `%s` that `%s` has, with all that it may borrow: %s", share.Profile.Name, t.Name.V, strings.Join(texts, ", ")).
		Also(fromSpan(list[0].runtime.mostFrom), "allowed here").Helpf("raise `nodes` or `borrow`, or narrow `nodes.max` with a variant of the tenant")
}

func (p *proof) reportRefused(t *plan.Tenant, q *queue, r *runtime, why queueRefusal) {
	span := fromSpan(q.flavor(r.profile).resources[0].from)
	if p.flavors[r.profile] == nil || p.noteKnownCause(why.code(), span, r) {
		return // a flavor that is not there is a finding of its own
	}
	var finding *diag.Diagnostic
	switch why.code() {
	case diag.NotCovered:
		finding = p.list.Errorf(diag.NotCovered, span, "the runtime `%s` requests %s, which the queue `%s` does not cover: Kueue never admits a job", r.name, why.uncovered, q.name).Also(r.at, "the runtime")
	case diag.QueueUnreachable:
		finding = p.list.Errorf(diag.QueueUnreachable, span, "no flavor of the queue `%s` takes the pods `%s` of the runtime `%s`: labels, taints or topology keep them off", q.name, why.unplaced, r.name).Also(r.at, "the runtime")
	default:
		finding = p.list.Errorf(diag.DefaultJobDoesNotFit, span, "the default job of `%s` (nodes: %d) takes %s %s of `%s`, and the queue of `%s` can get %s: it would wait forever",
			r.name, r.standard, amountText(why.short, why.wanted), why.short, why.flavor, t.Name.V, amountText(why.short, why.most)).
			Also(fromSpan(r.standardFrom), "its nodes").Helpf("raise `nodes` or `borrow` of the share, or lower `nodes.default` of the runtime")
	}
	p.rememberCause(finding, r)
}

// findingCause is what has one finding: a code at a place.
type findingCause struct {
	code diag.Code
	at   source.Span
}

// noteKnownCause reports whether a cause was found already, by another runtime, and then adds this one to it as a note.
func (p *proof) noteKnownCause(code diag.Code, span source.Span, r *runtime) bool {
	known, found := p.causes[findingCause{code, span}]
	if found && !slices.Contains(known.runtimes, r.name) {
		known.runtimes = append(known.runtimes, r.name)
		known.finding.Notef("the same is true of the runtime `%s`", r.name)
	}
	return found
}

// rememberCause remembers a cause with the runtime that it was found by.
func (p *proof) rememberCause(finding *diag.Diagnostic, r *runtime) {
	p.causes[findingCause{finding.Code, finding.Span}] = &knownFinding{finding, []string{r.name}}
}

// knownFinding is a finding about runtimes.
type knownFinding struct {
	finding  *diag.Diagnostic
	runtimes []string
}

// checkQuotaAdmits asks that the default job of a runtime fits the quotas of each namespace of its tenant.
func (p *proof) checkQuotaAdmits(t *plan.Tenant, r *runtime) {
	for i := range t.Namespaces {
		for _, quota := range p.namespace(t.Namespaces[i].V).quotas {
			for _, hard := range quota.hard {
				if wanted := r.takenFromQuota(hard.name); wanted > hard.value && !p.noteKnownCause(diag.QuotaRefusesJob, fromSpan(hard.from), r) {
					p.rememberCause(p.list.Errorf(diag.QuotaRefusesJob, fromSpan(hard.from), "the quota of `%s` has %s %s, the default job of `%s` (nodes: %d) takes %s", quota.namespace, amountText(hard.name, hard.value), hard.name, r.name, r.standard, amountText(hard.name, wanted)).
						Also(fromSpan(r.standardFrom), "its nodes").Helpf("raise the quota, or lower `nodes.default` of the runtime"), r)
				}
			}
		}
	}
}

// takenFromQuota is what the default job of a runtime takes from a quota.
func (r *runtime) takenFromQuota(hard string) int64 {
	switch hard {
	case "limits.memory":
		return r.usual.value("memory") // runtimes limit memory to what they request
	case "count/trainjobs.trainer.kubeflow.org":
		return 1
	}
	return r.usual.value(trimmed(hard, "requests."))
}

// checkClaims asks that the quota of a namespace has room for the claims of its tenant, and that nobody prunes these.
func (p *proof) checkClaims(n *namespace) {
	var taken int64
	for _, c := range n.claims {
		taken = addBounded(taken, c.size.value)
		if !c.kept {
			p.list.Errorf(diag.QuotaRefusesJob, c.at, "the claim `%s` in `%s` is not kept from pruning: its data would go with the spec", c.name, c.namespace)
		}
	}
	for _, quota := range n.quotas {
		if storage, found := quota.hard.get("requests.storage"); found && taken > storage.value {
			p.list.Errorf(diag.QuotaRefusesJob, fromSpan(storage.from), "the quota of `%s` has %s of storage, the claims take %s", quota.namespace, amountText("storage", storage.value), amountText("storage", taken))
		}
	}
}

// compulsory are the resources that a quota for them makes every container say, and where a LimitRange says them instead.
var compulsory = []struct {
	hard, name string
	get        func(*limitRange) amounts
}{
	{"limits.memory", "memory", func(l *limitRange) amounts { return l.standard }},
	{"requests.cpu", "cpu", func(l *limitRange) amounts { return l.standardAsked }},
	{"requests.memory", "memory", func(l *limitRange) amounts { return l.standardAsked }},
}

// checkLimitRanges asks that the API server accepts the limits of a namespace, and that they say what a quota makes compulsory.
func (p *proof) checkLimitRanges(n *namespace) {
	for _, l := range n.limits {
		for _, asked := range l.standardAsked {
			if most, found := l.standard.get(asked.name); found && asked.value > most.value {
				p.reportAtPatch(diag.LimitsRefuseRuntime, fromSpan(asked.from), []source.Span{patchPlace(asked.from), patchPlace(most.from)}, "the limits of `%s` request %s %s by default and limit it to %s: the API server refuses that", l.namespace, amountText(asked.name, asked.value), asked.name, amountText(asked.name, most.value))
			}
			p.checkBelowMost(l, asked)
		}
		for _, standard := range l.standard {
			p.checkBelowMost(l, standard)
		}
	}
	for _, quota := range n.quotas {
		for _, must := range compulsory {
			p.checkSaidByDefault(n, quota, must.hard, must.name, must.get)
		}
	}
}

// checkLimited asks that the quota and the limits of the tenant hold in a namespace.
func (p *proof) checkLimited(name *plan.Value[string], n *namespace) {
	missing := func(kind, of string) {
		p.reportAtPatch(diag.Unfaithful, name.At, p.removalPlaces(kind, name.V, ""), "the namespace `%s` has no %s%s", name.V, kind, of)
	}
	if len(n.quotas) == 0 {
		missing("ResourceQuota", "")
	}
	if len(n.limits) == 0 {
		missing("LimitRange", " for containers")
	}
}

func (p *proof) checkBelowMost(l *limitRange, standard amount) {
	if most, found := l.most.get(standard.name); found && standard.value > most.value {
		p.reportAtPatch(diag.LimitsRefuseRuntime, fromSpan(standard.from), []source.Span{patchPlace(standard.from), patchPlace(most.from)}, "the limits of `%s` give %s %s by default, more than the maximum %s: the API server refuses that", l.namespace, amountText(standard.name, standard.value), standard.name, amountText(most.name, most.value))
	}
}

func (p *proof) checkSaidByDefault(n *namespace, quota *namespaceQuota, hard, name string, get func(*limitRange) amounts) {
	counted, found := quota.hard.get(hard)
	if !found {
		return
	}
	for _, l := range n.limits {
		if said := get(l).value(name); said > 0 && said <= counted.value {
			return
		}
	}
	p.list.Errorf(diag.LimitsRefuseRuntime, fromSpan(counted.from), "the quota of `%s` counts %s, and no LimitRange gives containers that say nothing a value that fits: their pods would be refused", quota.namespace, hard)
}

// checkLimitRangeAdmits asks that each container of a runtime is below the maximum of each namespace of its tenant.
func (p *proof) checkLimitRangeAdmits(t *plan.Tenant, r *runtime) {
	for i := range t.Namespaces {
		for _, l := range p.namespace(t.Namespaces[i].V).limits {
			if len(l.most) > 0 {
				p.checkContainerLimits(l, r, &r.launcher)
				p.checkContainerLimits(l, r, &r.node)
			}
		}
	}
}

func (p *proof) checkContainerLimits(l *limitRange, r *runtime, set *podSet) {
	for _, c := range set.containers {
		for _, most := range l.most {
			wanted := max(c.requests.value(most.name), c.limits.value(most.name))
			if wanted > most.value && !p.noteKnownCause(diag.LimitsRefuseRuntime, fromSpan(most.from), r) {
				p.rememberCause(p.list.Errorf(diag.LimitsRefuseRuntime, fromSpan(most.from), "a container may take %s %s, `%s` of the %s of `%s` takes %s", amountText(most.name, most.value), most.name, c.name, set.name, r.name, amountText(most.name, wanted)).
					Also(r.at, "the runtime").Helpf("raise the maximum, or leave the runtime out of `runtimes`"), r)
			}
		}
	}
}
