package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

var chartsRule = &Rule{
	Name: "charts", Title: "Components of the platform",
	Doc: "What charts render, and workloads of the platform: a change of a pod template replaces the pods, jobs go on without them for that " +
		"moment. An image from a registry that nothing on the cluster came from is critical, because whoever can push there gets the rights of " +
		"the component; another service account is a warning, and critical where that had rights already which break the boundaries of " +
		"tenants, for a workload that is new, too. A workload that is new is told with its image, and is a warning in a namespace of a tenant: " +
		"it has what is the tenant's. A CustomResourceDefinition that goes takes all objects of its kind with it, which is critical. What a " +
		"chart says about rights, traffic, security or admission is told by the rules for these.",
	Says: []Consequence{RestartsPlatform, RestartsNothing, AddsObjects, DeletesObjects, DeletesData},
	claims: func(c *Change) bool {
		o := c.Object()
		return o.ID.Kind != "Namespace" && (rendered(o) || isWorkload(o) || o.ID.Kind == "CustomResourceDefinition")
	},
	cluster: func(c *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			effects = append(effects, c.component(part)...)
		}
		for _, change := range c.added {
			// Others are told by the rule.
			if change.withTenant && !change.withCluster && isWorkload(change.Object()) {
				effects = append(effects, c.newWorkload([]*Change{change}))
			}
		}
		return effects
	},
}

func rendered(o *object.Object) bool { return o.Rule != nil && o.Rule.Kind == origin.Rendered }

func (c *cluster) component(part []*Change) []Effect {
	first := part[0]
	kind := first.Kind()
	definition, workload := kind == "CustomResourceDefinition", isWorkload(first.Object())
	if workload && !first.Whole() {
		return c.replaced(part)
	}
	var e Effect
	switch {
	case first.Whole() && first.Added() && workload:
		e = c.newWorkload(part)
	case first.Whole() && first.Added():
		e = c.effect(part, AddsObjects, Info, "a component is new: "+kind, first.Object().ID.String()).with("get", "new components")
	case first.Whole() && definition:
		e = c.effect(part, DeletesData, Critical, "a kind of objects goes, and all objects of the kind with it", first.Object().ID.String()).
			with("lose", "all objects of a kind").to(Stopped)
	case first.Whole() && workload:
		e = c.effect(part, DeletesObjects, Warning, "a component is gone: "+kind, first.Object().ID.String()).with("lose", "a component")
	case first.Whole():
		e = c.effect(part, DeletesObjects, Notice, "a component has one object less: "+kind, first.Object().ID.String()).with("lose", "a part of a component")
	case definition:
		e = c.effect(part, RestartsNothing, Warning, "a kind of objects has another schema: those that exist may no longer be valid", shownAll(part)).with("get", "another schema of a kind")
	default:
		e = c.effect(part, RestartsNothing, Notice, "a component is set up in another way: "+kind, shownAll(part)).with("set up", "components in another way")
	}
	return []Effect{e}
}

// newWorkload is a workload that runs from now on. In a namespace of a tenant it has what is the tenant's.
func (c *cluster) newWorkload(part []*Change) Effect {
	o := part[0].After
	brought, has := images(&o.Root), uses(&o.Root)
	with := "the image " + several(brought)
	if len(has) > 0 {
		with += ", and has " + several(has)
	}
	severity, title := Notice, "a component is new: "+o.ID.Kind
	if host := c.foreign(brought); host != "" {
		severity, title = Warning, title+", with an image from another registry: "+host
	}
	if account := c.powerful(o); account != "" {
		severity, title = Critical, "a component is new: "+o.ID.Kind+" with the rights of the service account "+account+", which are grave"
	} else if c.tenantOf(o) != "" {
		severity, title = Warning, "pods that are not of its jobs run in a namespace of a tenant: "+o.ID.Kind+" with "+with
	}
	return c.effect(part, AddsObjects, severity, title, called(o.ID)+" with "+with).withOf(called(o.ID), "are", "new, with "+with)
}

// powerful is the account of a workload where that had rights already which break boundaries, "" where it had none: whoever gets rights
// anew is told by the rule for access.
func (c *cluster) powerful(o *object.Object) string {
	for _, pod := range podSpecs(&o.Root) {
		account := access.Subject{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: or(pod.Scalar("serviceAccountName"), "default")}
		for h, held := range c.was.holdings() {
			if h.Subject == account && slices.ContainsFunc(held.Rights, func(r access.Right) bool { return r.Grave() != "" }) {
				return account.Namespace + "/" + account.Name
			}
		}
	}
	return ""
}

// replaced is a workload of which something changes, by what it is.
func (c *cluster) replaced(part []*Change) []Effect {
	var effects []Effect
	for _, group := range partedBy(part, aspectOf) {
		e := c.aspect(group)
		e.aspect = aspectOf(group[0])
		effects = append(effects, e)
	}
	return effects
}

// aspect is what of a workload changes.
type aspect string

// The aspects.
const (
	itsImage     aspect = "image"
	itsAccount   aspect = "account"
	itsArguments aspect = "arguments"
	itsPods      aspect = "pods"
	itself       aspect = "itself"
)

func aspectOf(c *Change) aspect {
	switch key := c.Path.Last(); {
	case c.Path[0] != "spec" || c.Kind() != "Pod" && !c.Path.Has("template"):
		// The template is what pods are made of: how many there are, and how they follow each other, replaces none.
		return itself
	case namesImage(c.Path) || len(newImages(c)) > 0:
		return itsImage
	case key == "serviceAccountName" || key == "serviceAccount":
		return itsAccount
	case c.Path.Has("args") || c.Path.Has("command"):
		return itsArguments
	}
	return itsPods
}

func (c *cluster) aspect(part []*Change) Effect {
	first := part[0]
	name := first.Object().ID.Name
	detail := shownAll(part)
	switch aspectOf(first) {
	case itself:
		return c.effect(part, RestartsNothing, Notice, "a component is set up in another way: "+first.Kind(), detail).with("set up", "components in another way")
	case itsImage:
		return c.otherImage(part)
	case itsAccount:
		account, severity := or(first.New.Scalar(), "default"), Warning
		if c.powerful(first.After) != "" {
			severity = Critical
		}
		return c.effect(part, RestartsPlatform, severity, "pods of "+name+" run as another service account, with its rights: "+account, detail).
			with("replace", "pods of "+name+", which run as the service account "+account)
	case itsArguments:
		return c.effect(part, RestartsPlatform, Notice, "pods of a component are replaced, with other arguments: "+name, detail).with("replace", "pods of "+name+", with other arguments: "+arguments(part))
	}
	return c.effect(part, RestartsPlatform, Notice, "pods of a component are replaced: "+name, detail).with("replace", "pods of "+name)
}

// otherImage is another program with the rights of a component: who may push to its registry decides over the cluster.
func (c *cluster) otherImage(part []*Change) Effect {
	name := part[0].Object().ID.Name
	severity, title, image := Notice, "pods of a component are replaced, with another image: "+name, ""
	for _, change := range part {
		brought := newImages(change)
		was, is := change.Old.Scalar(), change.New.Scalar()
		if is != "" {
			brought = []string{is}
		}
		image = or(image, several(brought))
		switch host := c.foreign(brought); {
		case host != "":
			severity, title, image = Critical, "pods of "+name+" start with an image from a registry that nothing on the cluster came from: "+host, several(brought)
		case severity < Warning && was != "" && is != "" && registry(was) != registry(is):
			severity, title = Warning, "pods of "+name+" start with an image from another registry: "+registry(is)
		case severity < Warning && strings.Contains(was, "@sha256:") && !strings.Contains(is, "@sha256:"):
			severity, title = Warning, "pods of "+name+" start with an image without digest: whoever can push the tag decides what runs"
		}
	}
	return c.effect(part, RestartsPlatform, severity, title, shownAll(part)).with("replace", "pods of "+name+", with the image "+or(image, "none"))
}

// arguments are those that come and go, each with a sign.
func arguments(part []*Change) string {
	var words []string
	for _, change := range part {
		was, is := change.Old.Strings(), change.New.Strings()
		for _, added := range missing(is, was) {
			words = append(words, "+ "+value(named(added)))
		}
		for _, gone := range missing(was, is) {
			words = append(words, "- "+value(named(gone)))
		}
	}
	if len(words) == 0 {
		return "their order"
	}
	return several(words)
}
