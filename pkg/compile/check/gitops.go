package check

import (
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// repositoryCanBeRead asks for credentials where Flux cannot do without
// (https://fluxcd.io/flux/components/source/gitrepositories/#secret-reference). Repositories behind https may be public.
func repositoryCanBeRead(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil || !g.Flux.V {
		return
	}
	canBeRead := func(repository, secret *plan.Value[string]) {
		if secret.V != "" || !strings.HasPrefix(strings.ToLower(repository.V), "ssh://") {
			return
		}
		list.Errorf(diag.RepositoryNeedsSecret, repository.At, "Flux cannot read `%s` without a key, and `gitops` names no `secret`", repository.V).
			Helpf("name a Secret in the namespace `%s` in `secret`, with `identity` and `known_hosts`, or use a https address", g.Namespace.V)
	}
	canBeRead(&g.Repository, &g.Secret)
	for _, t := range c.Tenants {
		if t.Jobs != nil {
			canBeRead(&t.Jobs.Repository, &t.Jobs.Secret)
		}
	}
}

// tenantJobsAreApplied warns of a repository of jobs on a cluster without an engine.
func tenantJobsAreApplied(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.Jobs != nil && c.GitOps == nil {
			list.Warnf(diag.SettingInVain, t.Jobs.Repository.At, "nothing applies the TrainJobs of this repository on the cluster `%s`, which has no `gitops`", c.Name.V).
				Also(c.Name.At, "the cluster").
				Helpf("add `gitops` to the cluster, with its engine")
		}
	}
}

// engineKnowsFields refuses an engine that does not know what is compiled for it.
func engineKnowsFields(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil || !plan.EarlierVersion(g.Version.V, g.OldestVersion()) {
		return
	}
	engine := engineName(g)
	list.Errorf(diag.EngineTooOld, g.Version.At, "%s %s is older than what is supported: %s or later", engine, g.Version.V, g.OldestVersion()).
		Helpf("upgrade %s, or let somebody apply the compiled tree without `gitops`", engine)
}

// engineIsKnown warns of a major version of an engine of which nothing is known: what the other engine has, or one that comes later.
func engineIsKnown(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil {
		return
	}
	if major, _, _ := strings.Cut(g.Version.V, "."); compareVersions(major, g.NewestMajor()) > 0 {
		list.Warnf(diag.EngineNotKnown, g.Version.At, "no %s %s is known here: the newest is of version %s", engineName(g), g.Version.V, g.NewestMajor()).
			Helpf("write the version of %s that is installed, as `flux version` or `argocd version` shows it", engineName(g))
	}
}

func engineName(g *plan.GitOps) string {
	if g.Flux.V {
		return "Flux"
	}
	return "Argo CD"
}

// engineSettingsMatter warns of settings that Argo CD keeps elsewhere.
func engineSettingsMatter(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil || g.Flux.V {
		return
	}
	if g.Interval.Kind != origin.Default {
		list.Warnf(diag.EngineSettingIgnored, g.Interval.At, "`interval` has no effect: Argo CD looks at all repositories at one interval of its own").
			Helpf("remove it, and set `timeout.reconciliation` of Argo CD")
	}
	if g.Secret.V != "" {
		list.Warnf(diag.EngineSettingIgnored, g.Secret.At, "`secret` has no effect: Argo CD finds the credentials of a repository by its URL").
			Helpf("remove it, and register the repository in Argo CD")
	}
}

// Each look fetches a repository, and tenants with jobs have one each: hosts of git slow down clients that ask every
// few seconds. After a day without an effect people look for the mistake elsewhere.
const (
	shortestLook = 30 * time.Second
	longestLook  = 24 * time.Hour
)

// engineLooksInTime warns of looks at the repository that a host of git refuses, or that come too late for people.
func engineLooksInTime(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	switch {
	case g == nil || !g.Flux.V:
	case g.Interval.V < shortestLook:
		list.Warnf(diag.Contradiction, g.Interval.At, "Flux fetches each repository every %s: hosts of git slow down such "+
			"clients", g.Interval.V).
			Helpf("write 1m or more; a webhook of the host, with a Receiver of Flux, brings a commit at once")
	case g.Interval.V > longestLook:
		list.Warnf(diag.Contradiction, g.Interval.At, "a commit takes up to %s to arrive", g.Interval.V).
			Helpf("write 24h or less, such as 5m; to hold back changes, suspend the GitRepository")
	}
}

// engineNamespacesNotTaken keeps tenants out of the namespaces of the GitOps engine, whose objects may do everything, and of the
// Prometheus that is admitted to the platform.
func engineNamespacesNotTaken(c *plan.Cluster, list *diag.List) {
	if c.GitOps != nil {
		namespaceNotTaken(c, c.GitOps.Namespace, "that of the GitOps engine", list)
	}
	if c.Monitoring != nil {
		namespaceNotTaken(c, c.Monitoring.Namespace, "that of the cluster's Prometheus", list)
	}
}

func namespaceNotTaken(c *plan.Cluster, taken plan.Value[string], whose string, list *diag.List) {
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			if namespace.V == taken.V {
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` is %s", namespace.V, whose).
					Also(taken.At, "chosen here").Helpf("choose another name")
			}
		}
	}
}
