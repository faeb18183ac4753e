package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

const argoGroup = "argoproj.io"

var gitopsRule = &Rule{
	Name: "gitops", Title: "How the GitOps engine applies it",
	Doc: "The objects of Flux and Argo CD, and the annotations that tell them how to treat an object: from where and in which order they apply, " +
		"whether they delete what git no longer has, with whose rights, and what they leave alone. Another repository is critical: whoever can write there " +
		"decides what runs. Where a stage is " +
		"removed that deletes what it applied, everything in it goes. What else is deleted because of the wiring is told by the rule for ownership.",
	Says: []Consequence{ChangesSync, WidensAccess, AddsObjects, DeletesObjects, RestartsNothing},
	claims: func(c *Change) bool {
		if isEngine(c) {
			return !c.tenancy() && (c.Whole() || c.Path[0] != "metadata" || isSyncKey(c.Path))
		}
		return !c.Whole() && isSyncKey(c.Path)
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			for _, group := range partedBy(part, topicOf) {
				if topicOf(group[0]) == keeping {
					// Whether the cluster has an engine is known when all units are.
					s.kept = append(s.kept, group)
					continue
				}
				effects = append(effects, s.sync(group))
			}
		}
		return effects
	},
}

func isEngine(c *Change) bool {
	group := c.Object().ID.Group
	return group == argoGroup || strings.HasSuffix(group, "toolkit.fluxcd.io")
}

func isSyncKey(p Path) bool {
	return p.Is("metadata", "annotations", "*") && (strings.HasPrefix(p[2], "argocd.argoproj.io/") || strings.HasPrefix(p[2], "kustomize.toolkit.fluxcd.io/")) ||
		len(p) > 1 && p[0] == "metadata" && p[1] == "finalizers"
}

// topic is what a change of the wiring is about.
type topic string

// The topics.
const (
	pruning  topic = "prune"
	keeping  topic = "keep"
	order    topic = "order"
	origins  topic = "source"
	follows  topic = "repository"
	identity topic = "identity"
	bounds   topic = "bounds"
	pausing  topic = "suspend"
	timing   topic = "timing"
	manner   topic = "manner"
	whole    topic = "whole"
)

func topicOf(c *Change) topic {
	p := c.Path
	switch {
	case c.Whole():
		return whole
	case p.Last() == "prune" && isEngine(c), p.Has("finalizers"):
		return pruning
	case p.Last() == fluxPrune || p.Last() == argoOptions && !isEngine(c):
		return keeping
	case p.Has("dependsOn") || p.Last() == "argocd.argoproj.io/sync-wave" || p.Last() == "wait" || p.Has("healthChecks"):
		return order
	case p.Has("clusterResourceWhitelist") || p.Has("namespaceResourceWhitelist") || p.Has("destinations") || p.Has("sourceRepos") ||
		p.Has("clusterResourceBlacklist") || p.Has("namespaceResourceBlacklist"):
		return bounds
	case slices.Contains([]string{"serviceAccountName", "project"}, p.Last()):
		return identity
	case (p.Last() == "repoURL" || p.Last() == "url" && c.Kind() != "Application") && isEngine(c) && c.Old != nil && c.New != nil:
		return follows
	case p.Has("source") || p.Has("sourceRef") || p.Last() == "path" || p.Has("ref") || p.Last() == "url" || p.Has("destination") || p.Has("verify") || p.Has("secretRef"):
		return origins
	case p.Last() == "suspend" || p.Has("automated"):
		return pausing
	case slices.Contains(times, p.Last()):
		return timing
	}
	return manner
}

// times are fields that say when an engine looks or retries.
var times = []string{"interval", "retryInterval", "timeout", "duration", "maxDuration", "factor", "limit", "revisionHistoryLimit"}

func (s *scope) sync(part []*Change) Effect {
	c := part[0]
	detail := shownAll(part)
	switch topicOf(c) {
	case whole:
		if c.Added() {
			return s.effect(part, AddsObjects, Info, "the GitOps engine is told more: "+c.Kind(), c.Object().ID.String()).with("are", "synced in a new stage")
		}
		if cascades(c.Before) {
			return s.effect(part, DeletesObjects, Critical, "a stage of the GitOps engine goes, and everything that it applied goes with it, running jobs too", c.Object().ID.String()).
				with("lose", "everything that a stage applied").to(Stopped).helped("suspend the stage and turn its pruning off before it is removed")
		}
		return s.effect(part, DeletesObjects, Warning, "the GitOps engine is told less: "+c.Kind(), c.Object().ID.String()).with("are", "no longer synced by a stage")
	case pruning:
		if on := c.New.Scalar() == "true" || c.Path.Has("finalizers") && c.Added(); on {
			return s.effect(part, ChangesSync, Warning, "the GitOps engine deletes from now on what git no longer has, what was left behind earlier too", detail).with("are", "pruned from now on").to(Hampered)
		}
		return s.effect(part, ChangesSync, Warning, "the GitOps engine no longer deletes what git no longer has", detail).with("are", "no longer pruned")
	case order:
		return s.effect(part, ChangesSync, Notice, "the GitOps engine applies in another order", detail).with("are", "applied in another order")
	case bounds:
		return s.bounds(part)
	case identity:
		return s.effect(part, ChangesSync, Warning, "the GitOps engine applies with other rights", detail).with("are", "applied with other rights")
	case follows:
		return s.followed(part)
	case origins:
		return s.effect(part, ChangesSync, Warning, "the GitOps engine applies from or to another place", detail).with("are", "applied from or to another place")
	case pausing:
		return s.effect(part, ChangesSync, Warning, "the GitOps engine is paused or goes on", detail).with("are", "paused, or synced again")
	}
	if topicOf(c) == manner {
		return s.effect(part, ChangesSync, Warning, "the GitOps engine applies or deletes in another way", detail).with("are", "applied in another way")
	}
	return s.effect(part, RestartsNothing, Info, "the GitOps engine looks or retries at other times", detail).with("are", "looked at at other times")
}

// keepings says what becomes of objects that an engine keeps, or kept.
func (c *cluster) keepings() []Effect {
	var effects []Effect
	for _, part := range c.kept {
		change, detail := part[0], shownAll(part)
		loses := change.Removed() || len(missing(entries(change.Old.Scalar()), entries(change.New.Scalar()))) > 0 || !strings.Contains(change.New.Scalar(), "Prune=false") && change.New.Scalar() != "disabled"
		switch {
		case len(c.was.sync.stages)+len(c.is.sync.stages) == 0:
			effects = append(effects, c.effect(part, RestartsNothing, Info, "what a GitOps engine would keep changes: the cluster has none", detail).with("have", "other annotations for a GitOps engine"))
		case loses:
			effects = append(effects, c.effect(part, ChangesSync, Warning, "the GitOps engine may delete what it kept until now", detail).with("have", "objects that are no longer kept"))
		default:
			effects = append(effects, c.effect(part, ChangesSync, Info, "the GitOps engine keeps what git no longer has", detail).with("have", "objects that are kept"))
		}
	}
	return effects
}

// followed is another repository: whoever can write there decides what runs on the cluster, with the rights of the engine.
func (s *scope) followed(part []*Change) Effect {
	was, is := part[0].Old.Scalar(), part[0].New.Scalar()
	if repositoryPlace(was) == repositoryPlace(is) {
		return s.effect(part, ChangesSync, Warning, "the GitOps engine reads its repository in another way", shownAll(part)).with("are", "applied from or to another place")
	}
	e := s.effect(part, ChangesSync, Critical, "the GitOps engine follows another repository: whoever can write to "+repositoryPlace(is)+" decides what runs on the cluster", shownAll(part)).
		withOf("cluster "+s.name, "follow", "the repository "+repositoryPlace(is)+" instead of "+repositoryPlace(was)).to(Included)
	return e.helped("merge it when you know who can write there")
}

// repositoryPlace is the host and the path of the address of a repository, however it is spelled: git.example.com/platform/mpi.
func repositoryPlace(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	} else if host, path, found := strings.Cut(address, ":"); found {
		address = host + "/" + path
	}
	host, path, _ := strings.Cut(address, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(host+"/"+path, "/"), ".git")
}

// cascades says whether an engine deletes what a stage applied when the stage itself is deleted
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#prune, https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/).
func cascades(o *object.Object) bool {
	if o.ID.Group == argoGroup {
		return strings.Contains(dump(o.Root.At("metadata", "finalizers")), "resources-finalizer.argocd.argoproj.io")
	}
	return o.ID.Kind == "Kustomization" && o.Root.Scalar("spec", "prune") == "true" && o.Root.Scalar("spec", "suspend") != "true"
}

// bounds are what a project of Argo CD may apply.
func (s *scope) bounds(part []*Change) Effect {
	widened := slices.ContainsFunc(part, func(c *Change) bool {
		return c.Added() != strings.HasSuffix(listName(c), "Blacklist") || !c.Added() && !c.Removed()
	})
	if widened {
		severity := Warning
		if slices.ContainsFunc(part, func(c *Change) bool {
			return strings.Contains(value(c.New), "*") || listName(c) == "clusterResourceWhitelist"
		}) {
			severity = Critical
		}
		return s.effect(part, WidensAccess, severity, "a project of the GitOps engine may apply more", shownAll(part)).with("may", "apply more through the GitOps engine")
	}
	return s.effect(part, ChangesSync, Notice, "a project of the GitOps engine may apply less: what it no longer may is refused", shownAll(part)).with("may", "apply less through the GitOps engine")
}

func listName(c *Change) string {
	if len(c.Path) > 1 {
		return c.Path[1]
	}
	return ""
}
