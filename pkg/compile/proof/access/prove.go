package access

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// proof is one run over the facts of a cluster.
type proof struct {
	*Cluster
	plan *plan.Cluster
	list *diag.List
	// owners are the tenants by namespace, people the classes of a subject by tenant.
	owners map[string]*plan.Tenant
	people map[Subject]map[*plan.Tenant]roleSet
	held   []heldRoles
	index  map[holder]int
	// byNumber are the roles.
	byNumber []*role
	// sets are the rights of sets of roles, promised those of classes.
	sets     map[string][]Right
	promised map[roleSet][]Right
}

// holder is a subject in a namespace, or in the whole cluster for "".
type holder struct {
	Subject
	namespace string
}

// heldRoles is the roles of a holder, by number, and for each the binding that gives it.
type heldRoles struct {
	holder
	roles  []int
	grants []grant
}

// grant is a binding that gives a role, and the place that names the subject.
type grant struct {
	role int
	by   string
	at   source.Span
}

// Held is what a subject may do in a namespace, or in the whole cluster for "".
type Held struct {
	Subject   Subject
	Namespace string
	// Rights are sorted. Those who have the same roles share them; nobody changes them.
	Rights []Right
}

// Prove reports what people and accounts of the tenants of a plan may do and must not, and returns what everybody may do, sorted by
// namespace and subject. It is called once, after all facts were added.
func (c *Cluster) Prove(p *plan.Cluster, list *diag.List) []Held {
	r := proof{
		Cluster: c, plan: p, list: list, owners: map[string]*plan.Tenant{}, people: map[Subject]map[*plan.Tenant]roleSet{},
		index: make(map[holder]int, len(c.bindings)), held: make([]heldRoles, 0, len(c.bindings)), sets: map[string][]Right{}, promised: map[roleSet][]Right{},
	}
	c.aggregateRoles()
	r.readOwners()
	r.collectHoldings()
	r.byNumber = c.rolesByNumber()
	for i := range r.held {
		r.judgeHolding(&r.held[i])
	}
	r.checkExpectedRights()
	r.reportAggregations()
	return r.heldRights()
}

func (c *Cluster) rolesByNumber() []*role {
	list := make([]*role, len(c.roles))
	for _, r := range c.roles {
		list[r.number] = r
	}
	return list
}

// readOwners notes who belongs to whom.
func (r *proof) readOwners() {
	for _, t := range r.plan.Tenants {
		for i := range t.Namespaces {
			r.owners[t.Namespaces[i].V] = t
		}
		for _, of := range []struct {
			class  roleSet
			people []plan.Value[Subject]
		}{{admin, t.Admins}, {editor, t.Editors}, {viewer, t.Viewers}, {shell, t.Shell}, {secrets, t.Secrets}} {
			for i := range of.people {
				who := of.people[i].V
				if r.people[who] == nil {
					r.people[who] = map[*plan.Tenant]roleSet{}
				}
				r.people[who][t] |= of.class
			}
		}
	}
}

// collectHoldings collects the roles of each holder. Roles that nobody knows are reported where they matter to tenants.
func (r *proof) collectHoldings() {
	for i := range r.bindings {
		b := r.bindings[i]
		known := r.roles[b.role]
		for j, subject := range b.subjects {
			switch {
			case known != nil && !known.bad:
				r.addGrant(holder{subject, b.namespace}, known.number, b.places[j], b.name)
			case r.mayConcernTenants(b, subject):
				r.list.Errorf(diag.AccessNotProvable, firstPlace(r.removed.SpanOf(b.role.kind(), b.role.namespace, b.role.name), b.places[j]), "the binding `%s` gives the role `%s` to %s, and what that role allows is not known", b.name, b.role.name, subject)
			}
			r.checkControllerBinding(b, subject, b.places[j])
		}
	}
}

func (r *proof) addGrant(h holder, role int, at source.Span, by string) {
	i, known := r.index[h]
	if !known {
		i = len(r.held)
		r.index[h] = i
		r.held = append(r.held, heldRoles{holder: h})
	}
	r.held[i].roles = append(r.held[i].roles, role)
	r.held[i].grants = append(r.held[i].grants, grant{role, by, at})
}

// concernsTenants reports whether a binding matters to tenants: by its namespace, or by its subject. The controller's roles are in its chart,
// which may be installed by somebody else.
func (r *proof) concernsTenants(s Subject, namespace string) bool {
	if r.isController(s) {
		return false
	}
	return r.owners[namespace] != nil || r.isOfTenants(s) || isGroupWithTenants(s, r.owners)
}

// mayConcernTenants reports whether nobody can say what a binding of an unknown role means for tenants: it matters to them, or it holds in the
// whole cluster and the role is none of those that are known to be harmless.
func (r *proof) mayConcernTenants(b *binding, s Subject) bool {
	return r.concernsTenants(s, b.namespace) || b.namespace == "" && !r.isController(s) && !r.isEngine(s) && !isControllerRole(b.role.name) && !slices.Contains(harmlessRoles, b.role.name)
}

func (r *proof) isOfTenants(s Subject) bool {
	return r.people[s] != nil || s.Kind == serviceAccount && r.owners[s.Namespace] != nil
}

// isGroupWithTenants reports whether a group of Kubernetes itself has people or pods of tenants in it: all such groups, but those of the accounts
// of one namespace of the platform.
func isGroupWithTenants(s Subject, owners map[string]*plan.Tenant) bool {
	if s.Kind == serviceAccount || !strings.HasPrefix(s.Name, "system:") {
		return false
	}
	namespace, ofOne := strings.CutPrefix(s.Name, "system:serviceaccounts:")
	return s.Kind == user && s.Name == "system:anonymous" || s.Kind == group && (!ofOne || owners[namespace] != nil)
}

func (r *proof) isController(s Subject) bool {
	return s == Subject{Kind: serviceAccount, Namespace: r.plan.ControllerNamespace.V, Name: mpi.ControllerName}
}

// isApplier reports whether a subject is the account that applies what is in the namespaces of a tenant.
func (r *proof) isApplier(s Subject, t *plan.Tenant) bool {
	g := r.plan.GitOps
	return g != nil && s.Kind == serviceAccount && s.Namespace == g.Namespace.V &&
		(s.Name == "lockstep-tenant-"+t.Name.V || r.appliesJobs(s, t))
}

// appliesJobs reports whether an applier is for the tenant's own repository.
func (r *proof) appliesJobs(s Subject, t *plan.Tenant) bool {
	return t.Jobs != nil && s.Name == "lockstep-jobs-"+t.Name.V
}

func (r *proof) isApplierSomewhere(s Subject) bool {
	return slices.ContainsFunc(r.plan.Tenants, func(t *plan.Tenant) bool { return r.isApplier(s, t) })
}

// isControllerRole reports whether a role is one that the chart of mpi-controller declares.
func isControllerRole(name string) bool {
	return name == mpi.ControllerName || strings.HasPrefix(name, mpi.ControllerName+"-")
}

// checkControllerBinding reports roles of the controller with somebody else, and the controller with other roles.
func (r *proof) checkControllerBinding(b *binding, s Subject, at source.Span) {
	declared, is := isControllerRole(b.role.name), r.isController(s)
	switch {
	case declared && !is:
		r.list.Errorf(diag.ControllerBeyondChart, at, "the binding `%s` gives the role `%s` of %s to %s", b.name, b.role.name, mpi.ControllerName, s)
	case is && !declared:
		r.list.Errorf(diag.ControllerBeyondChart, at, "the binding `%s` gives the role `%s` to %s, whose chart does not declare it", b.name, b.role.name, mpi.ControllerName)
	case is && b.namespace == "" && !b.rendered:
		r.list.Errorf(diag.ControllerBeyondChart, at, "the binding `%s` gives %s the role `%s` in the whole cluster, and does not come from its chart", b.name, mpi.ControllerName, b.role.name)
	case is && b.namespace != "" && b.namespace != r.plan.ControllerNamespace.V && r.owners[b.namespace] == nil:
		r.list.Errorf(diag.ControllerBeyondChart, at, "the binding `%s` gives %s the role `%s` in `%s`, where no tenant has jobs", b.name, mpi.ControllerName, b.role.name, b.namespace)
	}
}

// judgeHolding compares what a holder has with what it may have.
func (r *proof) judgeHolding(h *heldRoles) {
	owner := r.owners[h.namespace]
	has := r.rightsOfHolding(h)
	switch {
	case len(has) == 0 || r.isController(h.Subject):
	case isGroupWithTenants(h.Subject, r.owners):
		first := h.grants[0]
		r.list.Errorf(diag.EverybodyBound, first.at, "the binding `%s` gives rights to the %s, which is one of Kubernetes itself: `%s`", first.by, h.Subject, has[0])
	case owner != nil && r.isApplier(h.Subject, owner):
		r.judgeApplier(h, has, owner)
	case owner != nil && r.people[h.Subject][owner] != 0:
		r.checkAtMost(h, has, r.promisedRights(r.people[h.Subject][owner]))
	case owner != nil && h.Kind == serviceAccount && h.Namespace == h.namespace:
		r.checkAtMost(h, has, accountRights(r.plan, h.Name))
	case owner != nil:
		r.reportOutsiderInTenant(h, owner)
	case r.people[h.Subject] != nil && h.namespace == "":
		r.checkAtMost(h, has, catalogRights())
	case h.Kind == serviceAccount && h.Namespace == h.namespace && r.people[h.Subject] != nil:
		// What a program may do where it lives is that namespace's own business.
		r.reportPowerfulOutsider(h)
	case r.isOfTenants(h.Subject) || r.isApplierSomewhere(h.Subject):
		r.checkAtMost(h, has, nil)
	case h.namespace == "" && slices.ContainsFunc(h.roles, func(number int) bool { return strings.HasPrefix(r.byNumber[number].name, "lockstep-") }):
		r.list.Errorf(diag.OutsideSubjectBound, h.grants[0].at, "the binding `%s` gives a role of tenants to the %s, whom no tenant names", h.grants[0].by, h.Subject)
	default:
		r.reportPowerfulOutsider(h)
	}
}

func (r *proof) promisedRights(of roleSet) []Right {
	if _, known := r.promised[of]; !known {
		r.promised[of] = expectedRights(r.plan, of)
	}
	return r.promised[of]
}

// rightsOfHolding returns what the roles of a holder allow together.
func (r *proof) rightsOfHolding(h *heldRoles) []Right {
	slices.Sort(h.roles)
	h.roles = slices.Compact(h.roles)
	if len(h.roles) == 1 {
		return r.byNumber[h.roles[0]].rights
	}
	var key []byte
	for _, number := range h.roles {
		key = binary.AppendUvarint(key, uint64(number))
	}
	set, known := r.sets[string(key)]
	if !known {
		for _, number := range h.roles {
			set = append(set, r.byNumber[number].rights...)
		}
		slices.SortFunc(set, compareRights)
		set = slices.Compact(set)
		r.sets[string(key)] = set
	}
	return set
}

func (r *proof) checkAtMost(h *heldRoles, has, allowed []Right) {
	extra := RightsBeyond(has, allowed)
	if len(extra) == 0 {
		return
	}
	// What is banned is told first.
	slices.SortStableFunc(extra, func(a, b Right) int { return cmp.Compare(bannedRank(b), bannedRank(a)) })
	by := r.grantOfRight(h, extra[0])
	d := r.errorf(diag.BeyondRole, by, "the %s may `%s` in %s by the binding `%s`, and its tenant does not give it that", h.Subject, extra[0], scopeText(h.namespace), by.by)
	if why := bans.reasonAgainst(extra[0]); why != "" {
		d.Notef("%s", why)
	}
	if len(extra) > 1 {
		d.Notef("it has %d more rights that its tenant does not give, for example `%s` by the binding `%s`",
			len(extra)-1, extra[1], r.grantOfRight(h, extra[1]).by)
	}
	r.alsoNamespace(h.namespace, d)
}

// alsoNamespace adds the tenant of a namespace to a finding that is elsewhere.
func (r *proof) alsoNamespace(namespace string, d *diag.Diagnostic) {
	if owner := r.owners[namespace]; owner != nil && owner.Name.At.File != d.Span.File {
		d.Also(owner.Name.At, "the tenant whose namespace it is")
	}
}

// grantOfRight returns the binding that gives a right.
func (r *proof) grantOfRight(h *heldRoles, right Right) grant {
	i := slices.IndexFunc(h.grants, func(g grant) bool { return slices.Contains(r.byNumber[g.role].rights, right) })
	return h.grants[max(0, i)]
}

// errorf reports a grant: at the patch that changed its role, else where it is made.
func (r *proof) errorf(code diag.Code, by grant, format string, args ...any) *diag.Diagnostic {
	patch := r.byNumber[by.role].patch
	if patch.IsZero() {
		return r.list.Errorf(code, by.at, format, args...)
	}
	return r.list.Errorf(code, patch, format, args...).Also(by.at, "the binding `%s` gives the role `%s` here", by.by, r.byNumber[by.role].name)
}

// firstPlace returns the first place that is one.
func firstPlace(places ...source.Span) source.Span {
	for _, at := range places {
		if !at.IsZero() {
			return at
		}
	}
	return source.Span{}
}

func bannedRank(right Right) int {
	if bans.reasonAgainst(right) != "" {
		return 1
	}
	return 0
}

func scopeText(namespace string) string {
	if namespace == "" {
		return "the whole cluster"
	}
	return "the namespace `" + namespace + "`"
}

func (r *proof) reportOutsiderInTenant(h *heldRoles, owner *plan.Tenant) {
	d := r.list.Errorf(diag.OutsideSubjectBound, h.grants[0].at, "the binding `%s` gives rights in the namespace `%s` to the %s, whom the tenant `%s` does not name",
		h.grants[0].by, h.namespace, h.Subject, owner.Name.V)
	r.alsoNamespace(h.namespace, d)
}

// judgeApplier asks that an account which applies a tenant's own objects may write what the tenant's people write themselves, with the
// verbs that applying takes: claims from the platform's repository, TrainJobs from the tenant's. Whoever writes policies, quotas or
// bindings of a tenant decides what bounds it.
func (r *proof) judgeApplier(h *heldRoles, has []Right, owner *plan.Tenant) {
	group, resource, what := "", "persistentvolumeclaims", "volumes"
	if r.appliesJobs(h.Subject, owner) {
		group, resource, what = "trainer.kubeflow.org", "trainjobs", "TrainJobs"
	}
	for _, right := range has {
		if right.Group != group || right.Resource != resource || !isApplierVerb(right.Verb) {
			by := r.grantOfRight(h, right)
			r.errorf(diag.BeyondRole, by, "the %s applies a tenant's own objects and may `%s` in %s by the binding `%s`, which %s do not take",
				h.Subject, right, scopeText(h.namespace), by.by, what)
			return
		}
	}
}

func isApplierVerb(verb string) bool {
	return slices.Contains(reads, verb) || slices.Contains(changes, verb)
}

// checkExpectedRights reports people who lack what their role promises.
func (r *proof) checkExpectedRights() {
	readers := catalogRights()
	for _, t := range r.plan.Tenants {
		for _, name := range t.SubjectsOfRoles() {
			of := r.people[name.V][t]
			for i := range t.Namespaces {
				r.checkKeepsRights(holder{name.V, t.Namespaces[i].V}, name.At, r.promisedRights(of))
			}
			r.checkKeepsRights(holder{name.V, ""}, name.At, readers)
		}
	}
}

func (r *proof) checkKeepsRights(h holder, at source.Span, promised []Right) {
	var has []Right
	if i, known := r.index[h]; known {
		has = r.rightsOfHolding(&r.held[i])
	}
	if lacks := RightsBeyond(promised, has); len(lacks) > 0 {
		d := r.list.Errorf(diag.RoleMissing, firstPlace(r.patchCause(h), at), "the %s may not `%s` in %s, which the tenant promises it", h.Subject, lacks[0], scopeText(h.namespace))
		if d.Span != at {
			d.Also(at, "the tenant names it here")
		}
	}
}

// patchCause returns the place of a patch because of which a holder may lack something, or nowhere: that of its roles, else that of what
// binds there.
func (r *proof) patchCause(h holder) source.Span {
	if i, known := r.index[h]; known {
		for _, g := range r.held[i].grants {
			if at := r.byNumber[g.role].patch; !at.IsZero() {
				return at
			}
		}
	}
	for i := range r.bindings {
		if b := r.bindings[i]; b.namespace == h.namespace && !b.patch.IsZero() {
			return b.patch
		}
	}
	if h.namespace == "" {
		return firstPlace(r.removed.SpanOf("ClusterRoleBinding", "", ""), r.removed.SpanOf("ClusterRole", "", ""))
	}
	return firstPlace(r.removed.SpanOf("RoleBinding", h.namespace, ""), r.removed.SpanOf("ClusterRole", "", ""))
}

// reportAggregations reports roles that add to view, edit or admin of the platform what is banned for tenants.
func (r *proof) reportAggregations() {
	platform := platformRoles()
	for _, own := range r.sortedRoles() {
		if own.replaces {
			r.list.Errorf(diag.AggregatesTooMuch, own.at, "the ClusterRole `%s` is one of Kubernetes itself", own.name).
				Notef("everybody who is bound to it has what it allows").Helpf("choose another name")
			continue
		}
		adds := slices.ContainsFunc(platform, func(p *role) bool { return len(p.aggregates) > 0 && p.aggregates[0].Selects(own.labels) })
		if !adds || own.platform {
			continue
		}
		if right, why := r.aggregatedTooMuch(own); why != "" {
			r.list.Errorf(diag.AggregatesTooMuch, own.at, "the ClusterRole `%s` adds `%s` to a role of the platform", own.name, right).Notef("%s", why)
		}
	}
}

// aggregatedTooMuch returns a right that a role must not add to the platform's. The compiler's own add what viewers and editors have at most.
func (r *proof) aggregatedTooMuch(own *role) (Right, string) {
	for _, right := range own.rights {
		if why := bans.reasonAgainst(right); why != "" {
			return right, why
		}
	}
	ours := map[string]roleSet{"lockstep-aggregate-to-view": viewer, "lockstep-aggregate-to-edit": editor}[own.name]
	if extra := RightsBeyond(own.rights, r.promisedRights(ours)); ours != 0 && len(extra) > 0 {
		return extra[0], "the compiled roles add what viewers and editors of tenants have, nothing more"
	}
	return Right{}, ""
}

func (r *proof) heldRights() []Held {
	list := make([]Held, len(r.held))
	for i := range r.held {
		list[i] = Held{Subject: r.held[i].Subject, Namespace: r.held[i].namespace, Rights: r.rightsOfHolding(&r.held[i])}
	}
	slices.SortFunc(list, func(a, b Held) int { return compareHeld(&a, &b) })
	return list
}

// compareHeld orders what is held by namespace and subject.
func compareHeld(a, b *Held) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), a.Subject.Compare(b.Subject))
}
