package resolve

import (
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// nameSpan returns the span of the definition's name.
func (d *Definition[T]) nameSpan() source.Span {
	switch spec := any(d.Spec).(type) {
	case *v1alpha1.HardwareProfile:
		return d.At(&spec.Metadata.Name)
	case *v1alpha1.MPIRuntime:
		return d.At(&spec.Metadata.Name)
	case *v1alpha1.Tenant:
		return d.At(&spec.Metadata.Name)
	case *v1alpha1.Cluster:
		return d.At(&spec.Metadata.Name)
	}
	return source.Span{}
}

// referenceExists reports a reference that leads nowhere. An empty one was reported by decoding, and so
// was a definition without a name, which may be the one that is meant.
func referenceExists[T any](x *Index[T], d *decode.Document, name *string, list *diag.List) bool {
	if *name == "" || x.byName[*name] != nil {
		return true
	}
	if meant := decode.IntendedName(*name); x.nameless || x.meant[*name] || x.meant[meant] || meant != *name {
		return false // a name that none can have was reported
	}
	report := list.Errorf(diag.DanglingReference, d.At(name), "there is no %s `%s`", x.Kind, *name).Suggest(*name, x.Names())
	if kind := x.elsewhere(*name); kind != "" {
		report.Notef("`%s` is the name of a %s", *name, kind)
	}
	if len(report.Help) == 0 {
		report.Helpf("%s", availableNamesHint(x.Kind, x.Names()))
	}
	return false
}

// availableNamesHint lists at most ten names: more would hide the message.
func availableNamesHint(kind string, names []string) string {
	switch {
	case len(names) == 0:
		return "define a " + kind + " first: there is none"
	case len(names) > 10:
		names = append(append([]string(nil), names[:10]...), "…")
	}
	return "defined are `" + strings.Join(names, "`, `") + "`"
}

func (b *Bundle) checkRuntimeReferences(list *diag.List) {
	for _, r := range b.Runtimes.definitionsAndDuplicates() {
		r.Valid = referenceExists(&b.Profiles, r.Document, &r.Spec.Spec.Profile, list) && r.Valid
		r.Valid = allExist(&b.Tenants, r.Document, r.Spec.Spec.Tenants, list) && r.Valid
		if d := r.Spec.Spec.Deprecation; d != nil {
			r.Valid = referenceExists(&b.Runtimes, r.Document, &d.Successor, list) && r.Valid
		}
	}
}

func (b *Bundle) checkTenantReferences(list *diag.List) {
	for _, t := range b.Tenants.definitionsAndDuplicates() {
		t.Valid = allExist(&b.Clusters, t.Document, t.Spec.Spec.Clusters, list) && t.Valid
		t.Valid = allExist(&b.Runtimes, t.Document, t.Spec.Spec.Runtimes, list) && t.Valid
		for i := range t.Spec.Spec.Variants {
			t.Valid = referenceExists(&b.Runtimes, t.Document, &t.Spec.Spec.Variants[i].Runtime, list) && t.Valid
		}
		if q := t.Spec.Spec.Queue; q != nil {
			t.Valid = b.sharesExist(t.Document, q.Shares, list) && t.Valid
		}
	}
}

// CheckCohorts reports cohorts of tenants that nearly exist in a cluster, if another mistake in tenant or cluster
// keeps the rules from judging them. On clusters whose overlay patches specs, a patch may correct the name.
func (b *Bundle) CheckCohorts(isPatched func(cluster string) bool, list *diag.List) {
	for _, t := range b.Tenants.All() {
		queue := t.Spec.Spec.Queue
		for _, name := range t.Spec.Spec.Clusters {
			c := b.Clusters.Get(name)
			if queue == nil || c == nil || t.Valid && c.Valid || c.Spec.Spec.Queueing == nil || isPatched(name) {
				continue
			}
			var known []string
			for _, cohort := range c.Spec.Spec.Queueing.Cohorts {
				known = append(known, decode.IntendedName(cohort.Name))
			}
			if meant, near := diag.Nearest(queue.Cohort, known); near && meant != decode.IntendedName(queue.Cohort) {
				list.Errorf(diag.UnknownCohort, t.At(&queue.Cohort), "the cluster `%s` has no cohort `%s`", name, queue.Cohort).
					Meant(queue.Cohort, meant)
			}
		}
	}
}

// sharesExist reports shares of profiles that are not there, and whether there are none.
func (b *Bundle) sharesExist(d *decode.Document, shares []v1alpha1.Share, list *diag.List) bool {
	ok := true
	for i := range shares {
		ok = referenceExists(&b.Profiles, d, &shares[i].Profile, list) && ok
	}
	return ok
}

func (b *Bundle) checkClusterReferences(list *diag.List) {
	for _, c := range b.Clusters.definitionsAndDuplicates() {
		for i := range c.Spec.Spec.Capacity {
			c.Valid = referenceExists(&b.Profiles, c.Document, &c.Spec.Spec.Capacity[i].Profile, list) && c.Valid
		}
		for i := range c.Spec.Spec.Certified {
			c.Valid = referenceExists(&b.Runtimes, c.Document, &c.Spec.Spec.Certified[i].Runtime, list) && c.Valid
		}
		if q := c.Spec.Spec.Queueing; q != nil {
			for i := range q.Cohorts {
				c.Valid = b.sharesExist(c.Document, q.Cohorts[i].Shares, list) && c.Valid
			}
		}
	}
}

func allExist[T any](x *Index[T], d *decode.Document, names []string, list *diag.List) bool {
	ok := true
	for i := range names {
		ok = referenceExists(x, d, &names[i], list) && ok
	}
	return ok
}

// checkNamespaceClaims reports a namespace that two tenants claim, wherever they work: a tenant may move to any cluster.
func (b *Bundle) checkNamespaceClaims(list *diag.List) {
	claims := map[string]namespaceClaim{}
	for _, t := range b.Tenants.definitionsAndDuplicates() {
		for i := range t.Spec.Spec.Namespaces {
			name := t.Spec.Spec.Namespaces[i]
			own := namespaceClaim{tenant: t, at: t.At(&t.Spec.Spec.Namespaces[i])}
			other, taken := claims[name]
			if !taken || other.tenant.Name == t.Name {
				claims[name] = own
				continue
			}
			claims[name] = settleNamespaceClaims(name, other, own, list)
		}
	}
}

// namespaceClaim is a tenant's claim to a namespace.
type namespaceClaim struct {
	tenant *Definition[v1alpha1.Tenant]
	at     source.Span
}

// settleNamespaceClaims reports two claims to a namespace and returns the one that holds. Which spec was there first is not known: it is not the
// copy that has the namespace's own name.
func settleNamespaceClaims(name string, a, b namespaceClaim, list *diag.List) namespaceClaim {
	if b.tenant.Name == name {
		a, b = b, a
	}
	list.Errorf(diag.NamespaceTaken, b.at, "the tenants `%s` and `%s` both claim the namespace `%s`", b.tenant.Name, a.tenant.Name, name).
		Also(a.at, "also here").Helpf("choose another name")
	b.tenant.Valid = false
	return a
}
