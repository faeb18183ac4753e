package plan

import (
	"cmp"
	"slices"
	"time"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// Priority is a class of jobs.
type Priority struct {
	Name        Value[string]
	Level       Value[int32]
	Description Value[string]
	Default     Value[bool]
}

// Monitoring is who scrapes metrics.
type Monitoring struct {
	Namespace Value[string]
	Labels    []Named[string]
	Interval  Value[string]
}

// GitOps is who applies the compiled tree.
type GitOps struct {
	// Flux is true for Flux, false for Argo CD.
	Flux                       Value[bool]
	Namespace                  Value[string]
	Repository, Revision, Path Value[string]
	// Secret holds the credentials of the repository, or is "".
	Secret   Value[string]
	Interval Value[time.Duration]
	Prune    Value[bool]
}

// Waiver accepts a finding for a while.
type Waiver struct {
	Code, About, Reason, Expires Value[string]
}

// Priority returns a priority of the cluster, or nil.
func (c *Cluster) Priority(name string) *Priority {
	for i := range c.Priorities {
		if c.Priorities[i].Name.V == name {
			return &c.Priorities[i]
		}
	}
	return nil
}

// PriorityOf returns the priority of the jobs of a runtime: the one that it names, or the default one of the cluster. It is nil
// where the cluster has neither.
func (c *Cluster) PriorityOf(r *Runtime) *Priority {
	if named := r.Gang.Priority.V; named != "" {
		return c.Priority(named)
	}
	for i := range c.Priorities {
		if c.Priorities[i].Default.V {
			return &c.Priorities[i]
		}
	}
	return nil
}

func priorities(d *decode.Document, list []v1alpha1.Priority) []Priority {
	var result []Priority
	for i := range list {
		p := &list[i]
		result = append(result, Priority{
			Name: written(d, &p.Name), Level: written(d, &p.Value), Description: written(d, &p.Description),
			Default: orDefault(d, &p.Default, "jobs name the priority that they want"),
		})
	}
	slices.SortStableFunc(result, func(a, b Priority) int { return cmp.Compare(a.Name.V, b.Name.V) })
	return result
}

func monitoring(d *decode.Document, spec *v1alpha1.Monitoring) *Monitoring {
	if spec == nil {
		return nil
	}
	return &Monitoring{
		Namespace: written(d, &spec.Namespace), Labels: entries(d, &spec.Labels),
		Interval: orDefault(d, &spec.Interval, "often enough for jobs of minutes"),
	}
}

func gitOps(d *decode.Document, spec *v1alpha1.ClusterSpec) *GitOps {
	own := spec.GitOps
	if own == nil {
		return nil
	}
	g := &GitOps{
		Flux:       derived(d, &own.Engine, own.Engine == v1alpha1.Flux, ""),
		Namespace:  orDefault(d, &own.Namespace, "where the engine is installed when nothing else is chosen"),
		Repository: written(d, &own.Repository),
		Secret:     written(d, &own.Secret),
		Revision:   orDefault(d, &own.Revision, "the branch that holds what was merged"),
		Path:       orDefault(d, &own.Path, "where `runtime-compiler build` writes when nothing else is chosen"),
		Interval:   derived(d, &own.Interval, duration(own.Interval), "a change arrives within minutes, and the repository is not asked all the time"),
		Prune:      Value[bool]{V: true, Origin: origin.Origin{At: d.At(&own.Prune), Kind: origin.Default, Why: "what git no longer has is no longer wanted"}},
	}
	if own.Prune != nil {
		g.Prune = Value[bool]{V: *own.Prune, Origin: origin.Origin{At: d.At(&own.Prune)}}
	}
	if g.Namespace.V == "" {
		g.Namespace.V = engineNamespace(spec)
	}
	return g
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

func waivers(d *decode.Document, list []v1alpha1.Waiver) []Waiver {
	var result []Waiver
	for i := range list {
		w := &list[i]
		result = append(result, Waiver{
			Code: written(d, &w.Code), About: written(d, &w.About), Reason: written(d, &w.Reason), Expires: written(d, &w.Expires),
		})
	}
	return result
}

// duration is a length of time whose form was checked; "" is 0.
func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}
