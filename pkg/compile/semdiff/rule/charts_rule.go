package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var chartsRule = &Rule{
	Name: "charts", Title: "Components of the platform",
	Doc: "What charts render, and workloads of the platform: a change of a pod template replaces the pods, jobs go on without them for that " +
		"moment. An image from a registry that nothing on the cluster came from is critical, because all who can push there get the rights of " +
		"the component; another service account is a warning, and critical if that had rights already which break the boundaries of " +
		"tenants, for a workload that is new, too. The entry of a new workload names its image. It is a warning in a namespace of a tenant, " +
		"because it has the tenant's data and network, and critical with a volume or a Secret that was there. A helper of the tenant stays a " +
		"warning: it has volumes of the specs only, names an account of the namespace, has an image from a known registry, and neither " +
		"sends nor deletes files. A workload is a warning, too, in the cluster's own namespaces, as a service account whose rights are " +
		"not known here, and with a Secret or a volume that it did not have. A component that runs no pods any more is a warning, and the " +
		"controller critical, because no jobs run without it. A CustomResourceDefinition that goes takes all objects of its kind with it, " +
		"which is critical. The rules for rights, traffic, security and admission judge what a chart has of these.",
	Says: []Consequence{RestartsPlatform, RestartsNothing, AddsObjects, DeletesObjects, DeletesData},
	claims: func(c *match.Change) bool {
		o := c.Object()
		part := isRendered(o) && (slices.Contains(match.PlainKinds, o.ID.Kind) || !c.Whole() && c.Path[0] == "metadata") || slices.Contains(partKinds, o.ID.Kind)
		return o.ID.Kind != "Namespace" && (part || isWorkload(o) || o.ID.Kind == "CustomResourceDefinition")
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCauseAnd(aspectOf, (*Cluster).componentEffect)(c, changes)
		for _, change := range c.added {
			// Others are told by the rule.
			if change.Disposal.WithTenant && !change.Disposal.WithCluster && isWorkload(change.Object()) {
				effects = append(effects, c.newWorkloadEffect([]*match.Change{change}))
			}
		}
		return effects
	},
}

// partKinds are kinds that a component consists of, of which nothing is known to matter to others. What a chart brings beside them, and
// beside plain objects and what other rules know, is told as what no rule understands.
var partKinds = []string{"PodDisruptionBudget", "HorizontalPodAutoscaler", "Certificate"}

func isRendered(o *object.Object) bool { return o.Rule != nil && o.Rule.Kind == origin.Rendered }

func (c *Cluster) componentEffect(part []*match.Change) Effect {
	first := part[0]
	kind := first.Kind()
	definition, workload := kind == "CustomResourceDefinition", isWorkload(first.Object())
	switch {
	case first.Whole() && first.Added() && workload:
		return c.newWorkloadEffect(part)
	case first.Whole() && first.Added():
		return c.effect(part, AddsObjects, Info, "a component is new: "+kind).withClause("get", "new components")
	case first.Whole() && definition:
		return c.effect(part, DeletesData, Critical, "a kind of objects goes, and all objects of the kind with it").withClause("lose", "all objects of a kind").withJobs(JobsStopped)
	case first.Whole() && isController(first.Before):
		return c.effect(part, DeletesObjects, Critical, "the controller is gone: nobody runs jobs").withClause("have", "no controller, so that nobody runs jobs").withJobs(JobsHampered)
	case first.Whole() && workload:
		return c.effect(part, DeletesObjects, Warning, "a component is gone: "+kind).withClause("lose", "a component")
	case first.Whole():
		return c.effect(part, DeletesObjects, Notice, "a component has one object less: "+kind).withClause("lose", "a part of a component")
	case workload:
		e := c.aspectEffect(part)
		e.Aspect = aspectOf(first)
		return e
	case definition:
		return c.effect(part, RestartsNothing, Warning, "a kind of objects has another schema: those that exist may no longer be valid").withClause("get", "another schema of a kind")
	}
	return c.componentContentEffect(part)
}

// componentContentEffect is a part of a component that has another content. In a namespace of the cluster itself it may be anything.
func (c *Cluster) componentContentEffect(part []*match.Change) Effect {
	o := part[0].Object()
	if isSystemNamespace(o.ID.Namespace) {
		return c.effect(part, RestartsNothing, Warning, "what the cluster itself runs by changes: "+objectName(o.ID)).withClauseOf("cluster "+c.Name, "set up", "its own "+objectName(o.ID)+" in another way")
	}
	return c.effect(part, RestartsNothing, Notice, "a component is set up in another way: "+o.ID.Kind).withClause("set up", "components in another way")
}

// isController reports whether an object is the controller, without which nobody runs jobs.
func isController(o *object.Object) bool { return isWorkload(o) && o.ID.Name == mpi.ControllerName }

// stopsPods reports whether a change leaves a workload without pods: no replicas, a schedule that is suspended.
func stopsPods(change *match.Change) bool {
	return change.Path.Is("spec", "replicas") && change.New.Scalar() == "0" || change.Path.Is("spec", "suspend") && change.New.Scalar() == "true"
}

// leavesPodsAlone reports whether a change leaves the pods of a workload as they are, whatever changes afterwards.
func leavesPodsAlone(change *match.Change) bool {
	return change.Path.Is("spec", "paused") && change.New.Scalar() == "true"
}

// stoppedEffect is a component that runs no pods any more, or whose pods do not follow it any more.
func (c *Cluster) stoppedEffect(part []*match.Change) Effect {
	o := part[0].After
	if !slices.ContainsFunc(part, stopsPods) {
		return c.effect(part, RestartsNothing, Warning, "changes of a component no longer reach its pods: "+o.ID.Name).withClauseOf(objectName(o.ID), "keep", "its pods, whatever changes")
	}
	if isController(o) {
		return c.effect(part, RestartsPlatform, Critical, "the controller runs no pods: nobody runs jobs").withClause("have", "a controller without pods, so that nobody runs jobs").withJobs(JobsHampered)
	}
	return c.effect(part, RestartsPlatform, Warning, "a component runs no pods any more: "+o.ID.Name).withClauseOf(objectName(o.ID), "run", "no pods any more")
}

// The aspects.
const (
	itsImage     Aspect = "image"
	itsAccount   Aspect = "account"
	itsArguments Aspect = "arguments"
	itsVariables Aspect = "environment"
	itsCount     Aspect = "count"
	itsPods      Aspect = "pods"
	itself       Aspect = "itself"
)

// aspectOf is "" for what is not a workload, or comes or goes as a whole.
func aspectOf(c *match.Change) Aspect {
	if c.Whole() || !isWorkload(c.Object()) {
		return ""
	}
	switch key := c.Path.Last(); {
	case stopsPods(c) || leavesPodsAlone(c):
		return itsCount
	case c.Path[0] != "spec" || c.Kind() != "Pod" && !c.Path.Has("template"):
		// The template is what pods are made of: how many there are, and how they follow each other, replaces none.
		return itself
	case namesImage(c.Path) || len(newImages(c)) > 0:
		return itsImage
	case key == "serviceAccountName" || key == "serviceAccount":
		return itsAccount
	}
	return itsPods
}

func (c *Cluster) aspectEffect(part []*match.Change) Effect {
	first := part[0]
	name := first.Object().ID.Name
	switch aspectOf(first) {
	case itself:
		return c.componentContentEffect(part)
	case itsCount:
		return c.stoppedEffect(part)
	case itsImage:
		return c.otherImageEffect(part)
	case itsAccount:
		account, severity := cmp.Or(first.New.Scalar(), "default"), Warning
		if c.powerfulAccount(first.After) != "" {
			severity = Critical
		} else if c.unknownAccount(first.After) != "" {
			account += ", whose rights are not known here"
		}
		return c.effect(part, RestartsPlatform, severity, "pods of "+name+" run as another service account, with its rights: "+account).
			withClause("replace", "pods of "+name+", which run as the service account "+account)
	}
	if words := otherPods(part); words != "" {
		severity := Warning
		if c.tenantOf(first.After) != "" {
			severity = c.severityOfMounts(first, missingFrom(c.existingMounts(first.After), usedOfNamespace(&first.Before.Root)))
		}
		return c.effect(part, RestartsPlatform, severity, "pods of "+name+" "+words).withClause("replace", "pods of "+name+", which "+words)
	}
	if slices.ContainsFunc(part, neverPulls) {
		return c.effect(part, RestartsPlatform, Warning, "pods of "+name+" never pull their image: where a machine does not have it they do not start").
			withClause("replace", "pods of "+name+", which never pull their image")
	}
	if isController(first.After) && slices.ContainsFunc(part, changesPlacement) {
		return c.effect(part, RestartsPlatform, Warning, "the controller may start on other machines: where none fits nobody runs jobs").
			withClause("replace", "the controller, which may start on other machines")
	}
	if isController(first.After) && slices.ContainsFunc(part, func(change *match.Change) bool { return change.Path.Has("resources") && !amountGrows(change) }) {
		return c.effect(part, RestartsPlatform, Warning, "the controller has other resources: where they are not enough nobody runs jobs").
			withClause("replace", "the controller, with other resources")
	}
	return c.effect(part, RestartsPlatform, Notice, "pods of a component are replaced: "+name).withClause("replace", "pods of "+name)
}

// amountGrows reports whether an amount grows.
func amountGrows(change *match.Change) bool {
	return change.Old != nil && change.New != nil && trendOf(change.Old, change.New) == more
}

// otherImageEffect is another program with the rights of a component: who may push to its registry decides over the cluster.
func (c *Cluster) otherImageEffect(part []*match.Change) Effect {
	name := part[0].Object().ID.Name
	severity, title, image := Notice, "pods of a component are replaced, with another image: "+name, ""
	for _, change := range part {
		brought := newImages(change)
		was, is := change.Old.Scalar(), change.New.Scalar()
		if is != "" {
			brought = []string{is}
		}
		image = cmp.Or(image, severalText(brought))
		comes := was == "" && len(newImages(change)) > 0
		switch host := c.newRegistry(brought); {
		case host != "":
			severity, title, image = Critical, "pods of "+name+" start with an image from a registry that nothing on the cluster came from: "+host, severalText(brought)
		case severity < Warning && comes && (isController(change.After) || c.powerfulAccount(change.After) != ""):
			severity, title = Warning, "pods of "+name+" get another container, with what the component may do: "+image
		case severity < Warning && was != "" && is != "" && registryOf(was) != registryOf(is):
			severity, title = Warning, "pods of "+name+" start with an image from another registry: "+registryOf(is)
		case severity < Warning && strings.Contains(was, "@sha256:") && !strings.Contains(is, "@sha256:"):
			severity, title = Warning, "pods of "+name+" start with an image without digest: all who can push the tag decide what runs"
		}
	}
	rest := "pods of " + name + ", with the image " + cmp.Or(image, "none")
	if found := risksOf(part); len(found) > 0 {
		severity, title, rest = max(severity, c.severityOfRisks(found, part[0].After)), title+", which "+found[0].description, rest+", which "+found[0].description
	}
	return c.effect(part, RestartsPlatform, severity, title).withClause("replace", rest)
}

// argumentChanges are those that come and go, each with a sign.
func argumentChanges(part []*match.Change) string {
	var words []string
	for _, change := range part {
		was, is := change.Old.Strings(), change.New.Strings()
		for _, added := range missingFrom(is, was) {
			words = append(words, "+ "+valueText(textNode(added)))
		}
		for _, gone := range missingFrom(was, is) {
			words = append(words, "- "+valueText(textNode(gone)))
		}
	}
	if len(words) == 0 {
		return "their order"
	}
	return severalText(words)
}
