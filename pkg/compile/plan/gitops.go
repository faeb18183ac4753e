package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// GitOps is who applies the compiled tree.
type GitOps struct {
	// Flux is true for Flux, false for Argo CD.
	Flux Value[bool]
	// Version is the engine's minor version, such as 3.4.
	Version Value[string]
	// Refreshes reports whether Argo CD can retry with the newest commit.
	Refreshes                  Value[bool]
	Namespace                  Value[string]
	Repository, Revision, Path Value[string]
	// Secret holds the credentials of the repository, or is "".
	Secret   Value[string]
	Interval Value[time.Duration]
	Prune    Value[bool]
}

// The oldest versions of the engines for which we compile. Flux 2.7 is the first that waits for a stage by an expression, and Argo CD 3.1 is what
// is tested.
const (
	OldestFlux   = "2.7"
	OldestArgoCD = "3.1"
)

// The newest major versions of the engines that are known here.
const (
	newestFlux   = "2"
	newestArgoCD = "3"
)

// NewestMajor is the newest major version of the engine that is known here.
func (g *GitOps) NewestMajor() string {
	if g.Flux.V {
		return newestFlux
	}
	return newestArgoCD
}

// refreshes is the first version of Argo CD that can retry with the newest commit.
const refreshes = "3.2"

func gitOps(d *decode.Document, spec *v1alpha1.ClusterSpec) *GitOps {
	own := spec.GitOps
	if own == nil {
		return nil
	}
	g := &GitOps{
		Flux:       derivedValue(d, &own.Engine, own.Engine == v1alpha1.Flux, ""),
		Namespace:  orDefault(d, &own.Namespace, "where the engine is installed when nothing else is chosen"),
		Repository: writtenValue(d, &own.Repository),
		Secret:     writtenValue(d, &own.Secret),
		Revision:   orDefault(d, &own.Revision, "the branch that holds what was merged"),
		Path:       orDefault(d, &own.Path, "where `runtime-compiler build` writes when nothing else is chosen"),
		Interval:   derivedValue(d, &own.Interval, parseDuration(own.Interval), "a change arrives within minutes, and the repository is not asked all the time"),
		Prune:      boolOrDefault(d, &own.Prune, true, "what git no longer has is no longer wanted"),
	}
	g.setVersion(d, own)
	if g.Namespace.V == "" {
		g.Namespace.V = engineNamespace(spec)
	}
	return g
}

func (g *GitOps) setVersion(d *decode.Document, own *v1alpha1.GitOps) {
	g.Version = orDefault(d, &own.Version, "the oldest version that is supported")
	if g.Version.V == "" {
		g.Version.V = g.OldestVersion()
	}
	g.Refreshes = derivedValue(d, &own.Version, !g.Flux.V && !EarlierVersion(g.Version.V, refreshes), "Argo CD has `retry.refresh` from "+refreshes+" on")
}

// OldestVersion is the oldest version of the engine for which we compile.
func (g *GitOps) OldestVersion() string {
	if g.Flux.V {
		return OldestFlux
	}
	return OldestArgoCD
}

// EarlierVersion compares two minor versions whose form was checked.
func EarlierVersion(a, b string) bool {
	return version.MustParseGeneric(a).LessThan(version.MustParseGeneric(b))
}

// engineNamespace is where each engine is by its own installation guide.
func engineNamespace(spec *v1alpha1.ClusterSpec) string {
	switch {
	case spec.GitOps.Engine == v1alpha1.Flux:
		return "flux-system"
	case spec.Platform == v1alpha1.OpenShift:
		return "openshift-gitops"
	}
	return "argocd"
}
