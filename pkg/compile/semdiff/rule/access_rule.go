package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

var accessRule = &Rule{
	Name: "access", Title: "What people and accounts may do",
	Doc: "All roles and bindings of a cluster together say what each group, person and account may do: verbs on resources, in a namespace or " +
		"everywhere, with what roles aggregate. The entry is what somebody gained or lost by that, not the text of a rule: rules that are " +
		"split, merged or reordered are no effect, nor is a right that somebody has by another role. It is critical where somebody gains " +
		"everything, Secrets, rights of others, or what bounds tenants; mpi-controller needs some of it where jobs run, and only everywhere, " +
		"or with every verb, it is critical. Rights of people or accounts of another tenant, of everybody who can log in or need not, and of an account that is not " +
		"compiled name whose they are; to get into pods of a tenant, or to start some, is critical then, as traffic to them is. A Secret for a token that does not expire is critical where the account is one of the platform, and a notice if that may only read metrics. " +
		"Rights hold at once, for running sessions too. A role that no compiled binding gives has an entry, too: another binding may give it " +
		"elsewhere.",
	Says: []Consequence{NewJobsOnly, WidensAccess, NarrowsAccess, NoEffect},
	claims: func(c *match.Change) bool {
		if comesWithOwner(c) {
			return false
		}
		if c.Object().ID.Group == rbacGroup {
			return c.Whole() || c.Path[0] != "metadata" && c.Path[0] != "apiVersion" || c.Path.Is("metadata", "labels", "*") && strings.HasPrefix(c.Path[2], aggregation)
		}
		return c.Kind() == "ServiceAccount" && !c.Whole() && c.Path[0] != "metadata" && c.Path[0] != "apiVersion"
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := c.newTokens()
		if fresh := c.newRoles(); len(changes)+len(c.bindings)+len(fresh) > 0 {
			effects = append(effects, c.rightsEffects(changes, fresh)...)
		}
		return effects
	},
}

// newTokens tells Secrets that are new and in which the control plane puts the token of a service account: it does not expire
// (https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets).
func (c *Cluster) newTokens() []Effect {
	var effects []Effect
	for _, change := range c.added {
		if change.Kind() != "Secret" || change.New.Scalar("type") != "kubernetes.io/service-account-token" {
			continue
		}
		account := change.After.ID.Namespace + "/" + change.New.Scalar("metadata", "annotations", "kubernetes.io/service-account.name")
		severity := Critical
		switch owned := c.ownerOfNamespace(change.After.ID.Namespace) != ""; {
		case c.readsPathsOnly(account):
			severity = Notice
		case owned:
			severity = Warning
		}
		effects = append(effects, c.effect([]*match.Change{change}, WidensAccess, severity, "a Secret holds a token of the service account "+account+" that does not expire").withDetail(objectName(change.After.ID)).
			withClauseOf("the service account "+account, "get", "a token that does not expire"))
	}
	return effects
}

// readsPathsOnly reports whether an account is compiled, and may only read paths of servers that are no objects, such as /metrics.
func (c *Cluster) readsPathsOnly(account string) bool {
	namespace, name, _ := strings.Cut(account, "/")
	subject, found := access.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}, false
	for h, held := range c.is.holdings() {
		if h.Subject != subject {
			continue
		}
		found = true
		if slices.ContainsFunc(held.Rights, func(r access.Right) bool { return r.Group != access.Path || r.Verb != "get" }) {
			return false
		}
	}
	return found && c.is.accounts[account]
}

// newRoles are roles and bindings that come with their tenant, namespace or cluster. They are told with it, unless they are severe.
func (c *Cluster) newRoles() []*match.Change {
	var found []*match.Change
	for _, change := range c.added {
		if change.Disposal.WithTenant && change.After.ID.Group == rbacGroup {
			found = append(found, change)
		}
	}
	return found
}

// aggregation begins labels that add the rules of a ClusterRole to those of another one.
const aggregation = "rbac.authorization.k8s.io/aggregate-to-"

// rightsEffects compares what everybody may do.
func (c *Cluster) rightsEffects(changes, fresh []*match.Change) []Effect {
	was, is := c.was.holdings(), c.is.holdings()
	culprits := newBindingChanges(slices.Concat(changes, c.bindings, fresh))
	var effects []Effect
	strangers := c.outsideSubjects(sortedHolders(was, is))
	add := func(h holder, e Effect) {
		if !c.goesWithOwner(h, &e) {
			effects = append(effects, e.withAspect(strangers[h.Subject]))
		}
	}
	for _, h := range sortedHolders(was, is) {
		before, after := effectiveRights(was, h), effectiveRights(is, h)
		causes := culprits.changesOf(was[h], is[h])
		if len(causes) == 0 || c.readsCatalogAnyway(h, causes) {
			continue
		}
		if gained := c.was.withoutDeleted(beyondEverywhere(access.RightsBeyond(after, before), was, is, h)); len(gained) > 0 {
			add(h, c.rightsEffect(h, gained, causes, WidensAccess))
		}
		if lost := c.is.withoutDeleted(beyondEverywhere(access.RightsBeyond(before, after), is, was, h)); len(lost) > 0 {
			add(h, c.rightsEffect(h, lost, causes, NarrowsAccess))
		}
	}
	effects = append(effects, c.accountEffects(changes)...)
	return append(effects, c.rightsOfNobody(changes, effects)...)
}

// goesWithOwner reports whether rights come or go with a tenant, or a namespace, which tells of them. People of another tenant are told by name.
func (c *Cluster) goesWithOwner(h holder, e *Effect) bool {
	who := c.outsideSubjectIn(h)
	if e.Severity >= Critical || who.description != "" && !who.common && c.ownerOfNamespace(h.namespace) != "" && e.Consequence == WidensAccess {
		return false
	}
	return !slices.ContainsFunc(e.Changes, func(change *match.Change) bool { return !change.Disposal.WithTenant })
}

// beyondEverywhere leaves out of what a subject gained in a namespace what the same subject gained everywhere, which is told once. What is
// lost is what is gained on the way back.
func beyondEverywhere(gained []access.Right, was, is map[holder]*access.Holding, h holder) []access.Right {
	everywhere := holder{h.Subject, ""}
	if h.namespace == "" || is[everywhere] == nil {
		return gained
	}
	return access.RightsBeyond(gained, access.RightsBeyond(is[everywhere].Rights, effectiveRights(was, everywhere)))
}

// bindingChanges find the changes behind a difference: those of bindings by namespace and name, of roles by namespace and name.
type bindingChanges struct {
	bindings, roles map[string][]*match.Change
	// aggregated are changes of ClusterRoles whose rules others may take.
	aggregated []*match.Change
}

func newBindingChanges(changes []*match.Change) *bindingChanges {
	c := &bindingChanges{bindings: map[string][]*match.Change{}, roles: map[string][]*match.Change{}}
	for _, change := range changes {
		id := change.Object().ID
		key := id.Name
		if id.Namespace != "" {
			key = id.Namespace + "/" + id.Name
		}
		switch id.Kind {
		case "RoleBinding", "ClusterRoleBinding":
			c.bindings[key] = append(c.bindings[key], change)
		case "Role", "ClusterRole":
			c.roles[key] = append(c.roles[key], change)
			if isAggregated(change) {
				c.aggregated = append(c.aggregated, change)
			}
		}
	}
	return c
}

// isAggregated reports whether the rules of a role are, or were, a part of another one.
func isAggregated(c *match.Change) bool {
	for _, o := range []*object.Object{c.Before, c.After} {
		if o == nil {
			continue
		}
		if o.Root.Get("aggregationRule") != nil {
			return true
		}
		for label := range o.Root.At("metadata", "labels").Items() {
			if strings.HasPrefix(label.Key, aggregation) {
				return true
			}
		}
	}
	return false
}

// changesOf returns the changes of the roles and bindings that a subject has or had, the bindings first.
func (c *bindingChanges) changesOf(held ...*access.Holding) []*match.Change {
	var found []*match.Change
	add := func(changes []*match.Change) {
		for _, change := range changes {
			if !slices.Contains(found, change) {
				found = append(found, change)
			}
		}
	}
	held = slices.DeleteFunc(held, func(h *access.Holding) bool { return h == nil })
	for _, h := range held {
		for _, name := range h.Bindings {
			if h.Namespace != "" {
				name = h.Namespace + "/" + name
			}
			add(c.bindings[name])
		}
	}
	for _, h := range held {
		for _, name := range h.Roles {
			add(c.roles[name])
		}
	}
	if len(found) == 0 {
		add(c.aggregated)
	}
	return found
}

// rightsEffect says that a subject gained or lost rights.
func (c *Cluster) rightsEffect(h holder, rights []access.Right, causes []*match.Change, consequence Consequence) Effect {
	who := c.outsideSubjectIn(h)
	verb, severity, jobs := "gain", max(c.severityOfRights(h, rights), who.severityOfRights(c, h, rights)), JobsUntouched
	if consequence == NarrowsAccess {
		verb, severity = "lose", Warning
	}
	what := "the right to " + rightsText(rights)
	title := c.holderText(h) + " " + verb + "s " + what + h.everywhereText()
	role := c.roleChange(h, consequence)
	switch {
	case role != "" && verb == "gain":
		title = c.holderText(h) + " becomes " + role + " of a tenant, with " + what
	case role != "":
		title = c.holderText(h) + " is no longer " + role + " of a tenant, with " + what
	}
	switch {
	case c.isApplier(h) && consequence == NarrowsAccess, h.Kind == "Group" && !who.everybody && isOfCatalog(causes), role == "viewer" && verb == "gain" && who.description == "" && strings.HasPrefix(h.Name, c.ownerOfNamespace(h.namespace)+"-"):
		severity = Notice
	case !c.jobsDependOn(h):
	case consequence == NarrowsAccess:
		jobs = JobsHampered
	default:
		jobs = JobsIncluded
	}
	e := c.effect(causesFirst(causes, consequence == WidensAccess), consequence, severity, title).withDetail(h.String() + " " + holderPlaceText(h) + ": " + allRightsText(rights)).withJobs(jobs)
	if before, after := h.bindingSpans(e.Changes); !before.IsZero() || !after.IsZero() {
		e.Before, e.After = before, after
	}
	e.Subject.Namespace, e.Subject.Tenant = h.namespace, c.ownerOfNamespace(h.namespace)
	if _, _, moved := c.namespaceHandover(h.namespace); !moved {
		// People come and go with their namespace, which the verdict names.
		e.Clause = c.accessClause(&e, h, verb, role, what)
	}
	return e
}

// accessClause speaks of tenants, whose people or accounts have other rights, so that those of many tenants are one clause.
func (c *Cluster) accessClause(e *Effect, h holder, verb, role, what string) Clause {
	switch {
	case e.Subject.Tenant == "":
		return Clause{Of: c.holderText(h), Verb: verb, Rest: what + h.everywhereText()}
	case role != "" && verb == "gain":
		return Clause{Verb: "make", Rest: c.holderText(h) + " its " + role + ", with " + what}
	case role != "":
		return Clause{Verb: "take", Rest: "from " + c.holderText(h) + " the role of its " + role}
	case verb == "lose":
		return Clause{Verb: "take", Rest: "from " + c.holderText(h) + " " + what + h.everywhereText()}
	}
	return Clause{Verb: "give", Rest: c.holderText(h) + " " + what + h.everywhereText()}
}

// holderText is a holder in a sentence. Accounts of tenants, and those that apply their objects, have names that differ from tenant to
// tenant, and say little.
func (c *Cluster) holderText(h holder) string {
	who := c.outsideSubjectIn(h)
	switch {
	case who.description != "":
		return who.description
	case h.Kind == "Group":
		return "the group " + h.Name
	case h.Kind == "User":
		return "the user " + h.Name
	case c.ownerOfNamespace(h.Namespace) == "" && !c.isApplier(h):
		return "the service account " + h.Namespace + "/" + h.Name
	}
	return "a service account"
}

// everywhereText ends a sentence about rights that hold in all namespaces.
func (h holder) everywhereText() string {
	if h.namespace == "" {
		return ", everywhere"
	}
	return ""
}

// causesFirst puts those causes first that give where something is gained, and those that take where it is lost.
func causesFirst(causes []*match.Change, gained bool) []*match.Change {
	ordered := slices.Clone(causes)
	slices.SortStableFunc(ordered, func(a, b *match.Change) int { return cmp.Compare(causeOrder(a, gained), causeOrder(b, gained)) })
	return ordered
}

// bindingSpans are the places at which specs name a subject in the bindings that changed: what a binding no longer says, and what it says now.
func (h holder) bindingSpans(causes []*match.Change) (before, after source.Span) {
	for _, c := range causes {
		if !strings.HasSuffix(c.Kind(), "Binding") || !c.Whole() && c.Path[0] != "subjects" {
			continue
		}
		was, is := h.spanIn(c.Before), h.spanIn(c.After)
		switch {
		case was.IsZero() == is.IsZero(): // it is about another subject
		case before.IsZero() && is.IsZero():
			before = was
		case after.IsZero() && was.IsZero():
			after = is
		}
	}
	return before, after
}

// spanIn is the place from which a binding has the subject's name, nowhere if it does not have it, or has it from no spec.
func (h holder) spanIn(binding *object.Object) source.Span {
	if binding == nil {
		return source.Span{}
	}
	for own := range binding.Root.Get("subjects").Items() {
		if name := own.Get("name"); name != nil && name.From != nil && name.Text == h.Name && own.Scalar("kind") == h.Kind && own.Scalar("namespace") == h.Namespace {
			return name.From.At
		}
	}
	return source.Span{}
}

func causeOrder(c *match.Change, gained bool) int {
	if gained && c.New != nil || !gained && c.Old != nil {
		return 0
	}
	return 1
}

// jobsDependOn reports whether jobs depend on what a subject may do: pods of a tenant, and the controller.
func (c *Cluster) jobsDependOn(h holder) bool {
	return h.Kind == "ServiceAccount" && (c.ownerOfNamespace(h.Namespace) != "" || h.Name == mpi.ControllerName)
}

// isApplier reports whether a subject is an account with whose rights the GitOps engine applies what is compiled.
func (c *Cluster) isApplier(h holder) bool {
	account := h.Namespace + "/" + h.Name
	isIts := func(s engineStage) bool { return s.account == account }
	return h.Kind == "ServiceAccount" && h.namespace != "" && (slices.ContainsFunc(c.is.engine, isIts) || slices.ContainsFunc(c.was.engine, isIts))
}

// severityOfRights says how severe it is that a subject gains rights.
func (c *Cluster) severityOfRights(h holder, rights []access.Right) Severity {
	severe := slices.ContainsFunc(rights, func(r access.Right) bool { return r.SevereReason() != "" })
	applier := c.isApplier(h)
	switch {
	case severe && (applier || c.isJobController(h) && h.namespace != "" && !slices.ContainsFunc(rights, hasEveryVerb)):
		// What the controller may have the compiler proves.
		return Warning
	case severe:
		return Critical
	case applier:
		return Notice
	case h.namespace != "" && c.was.namespaces[h.namespace] == nil && c.is.namespaces[h.namespace] != nil:
		return Notice
	}
	return Warning
}

// isJobController reports whether a subject is the account of mpi-controller. It needs some severe rights in the namespaces in which jobs run.
func (c *Cluster) isJobController(h holder) bool {
	return h.Name == mpi.ControllerName && h.Kind == "ServiceAccount" && c.ownerOfNamespace(h.Namespace) == ""
}

// hasEveryVerb reports whether a severe right has every verb: more than a program needs that knows what it does.
func hasEveryVerb(r access.Right) bool {
	return r.Verb == "*" && r.Resource != access.Unknown && r.SevereReason() != ""
}

func holderPlaceText(h holder) string {
	if h.namespace == "" {
		return "everywhere"
	}
	return "in " + h.namespace
}

// accountEffects tells what changes about service accounts.
func (c *Cluster) accountEffects(changes []*match.Change) []Effect {
	var effects []Effect
	for _, change := range changes {
		if change.Kind() != "ServiceAccount" || change.Object().ID.Group == rbacGroup {
			continue
		}
		part := []*match.Change{change}
		e := c.effect(part, NarrowsAccess, Notice, "pods of a service account no longer get its token, or other secrets").withClause("use", "a service account in another way")
		if change.Path[0] == "imagePullSecrets" || change.Path[0] == "secrets" {
			e = c.effect(part, NewJobsOnly, Notice, "pods of a service account pull images with other secrets").withClause("pull", "images with other secrets")
			if had, has := len(pullSecretsOf(change.Before)), len(pullSecretsOf(change.After)); has < had {
				e = c.effect(part, NewJobsOnly, Warning, "pods of a service account no longer have a secret to pull images with").withClause("pull", "images without a secret that they had")
			}
		}
		if change.Path[0] == "automountServiceAccountToken" && change.After.Root.Scalar("automountServiceAccountToken") != "false" {
			e = c.effect(part, WidensAccess, Warning, "pods of a service account get its token, and with it its rights").withClause("give", "pods the token of their service account")
		}
		effects = append(effects, e)
	}
	return effects
}

// rightsOfNobody tells the changes that no subject's rights depend on.
func (c *Cluster) rightsOfNobody(changes []*match.Change, effects []Effect) []Effect {
	told := map[*match.Change]bool{}
	for _, e := range effects {
		for _, change := range e.Changes {
			told[change] = true
		}
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(change *match.Change) bool { return told[change] })
	var found []Effect
	for _, object := range match.ByObject(changes) {
		found = append(found, c.roleEffects(object)...)
	}
	return found
}

// roleEffects says what becomes of a role that no subject holds, or of what changes nothing for those who do.
func (c *Cluster) roleEffects(changes []*match.Change) []Effect {
	change := changes[0]
	id := change.Object().ID
	if id.Kind == "Role" || id.Kind == "ClusterRole" {
		before, after := c.was.access.RightsOfRole(id.Namespace, id.Name), c.is.access.RightsOfRole(id.Namespace, id.Name)
		gained, lost := access.RightsBeyond(after, before), access.RightsBeyond(before, after)
		held := c.isHeld(id.Namespace, id.Name)
		if !held && len(gained) > 0 {
			severity, who := Notice, "holders of the role, none of them compiled,"
			if isAggregated(change) {
				severity, who = c.severityOfRights(holder{}, gained), "holders of a role that this one is a part of, such as edit,"
			}
			return []Effect{c.effect(changes, WidensAccess, severity, who+" may "+rightsText(gained)).withDetail(id.String()+": "+allRightsText(gained)).
				withClauseOf(id.String(), "give", "the right to "+rightsText(gained))}
		}
		if !held && len(lost) > 0 {
			return []Effect{c.effect(changes, NarrowsAccess, Notice, "holders of the role, none of them compiled, may no longer "+rightsText(lost)).withDetail(id.String()+": "+allRightsText(lost)).
				withClauseOf(id.String(), "take", "the right to "+rightsText(lost))}
		}
	}
	return judgeByCause((*Cluster).effectlessAccess)(c, changes)
}

// effectlessAccess is what changes nothing for those whose rights are known. A part of a platform role, such as edit, is held by people that
// are not known here; and a group of the API other than that of RBAC is refused.
func (c *Cluster) effectlessAccess(part []*match.Change) Effect {
	for _, change := range part {
		switch p := change.Path; {
		case p.Is("metadata", "labels", "*") && change.New.Scalar() == "true":
			return c.effect(part, WidensAccess, Warning, "a role becomes a part of "+strings.TrimPrefix(p[2], aggregation)+": its holders may do more").
				withClauseOf(change.Object().ID.String(), "become", "a part of "+strings.TrimPrefix(p[2], aggregation))
		case p.Is("metadata", "labels", "*"), p.Has("aggregationRule"):
			return c.effect(part, NarrowsAccess, Warning, "a role is no longer a part of another one: holders of that one may do less").
				withClauseOf(change.Object().ID.String(), "leave", "the role that it was a part of")
		case p.Last() == "apiGroup", p.Is("subjects", "*", "*"):
			return c.effect(part, NarrowsAccess, Warning, "a binding names a group of the API that is not that of RBAC").
				withClauseOf(change.Object().ID.String(), "name", "another group of the API")
		}
	}
	return c.effect(part, NoEffect, Info, "the same people have the same rights")
}

// isHeld reports whether a subject holds a role on some side.
func (c *Cluster) isHeld(namespace, name string) bool {
	if namespace != "" {
		name = namespace + "/" + name
	}
	for _, s := range []*clusterState{c.was, c.is} {
		for _, h := range s.holdings() {
			if slices.Contains(h.Roles, name) {
				return true
			}
		}
	}
	return false
}

func pullSecretsOf(o *object.Object) []object.Node {
	if list := o.Root.Get("imagePullSecrets"); list != nil {
		return list.Children
	}
	return nil
}
