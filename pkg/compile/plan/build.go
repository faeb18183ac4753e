package plan

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// imageVolumesMinor is the first Kubernetes minor version with image volumes switched on
// (https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/, ImageVolume).
const imageVolumesMinor = 35

// anyUser is the identity of pods where nobody chose one: a UID from the range that OpenShift uses, group root, and a
// group for volumes so that the key of the job is readable.
var anyUser = template.User{UID: 1000650000, GID: 0, FSGroup: 1000650000}

// Clusters returns the plan of every sound cluster, or of the one with a name, sorted by name.
func Clusters(b *resolve.Bundle, only string, list *diag.List) []*Cluster {
	switch {
	case len(b.Clusters.Names()) == 0 && list.Errors() == 0:
		list.Errorf(diag.NoCluster, source.Span{}, "there is no Cluster spec").
			Helpf("write overlays/<name>/cluster.yaml, or name the repository's root with --root")
		return nil
	case only != "" && b.Clusters.Get(only) == nil:
		list.Errorf(diag.UnknownCluster, source.Span{}, "there is no Cluster `%s`", only).Suggest(only, b.Clusters.Names())
		return nil
	}
	var clusters []*Cluster
	for _, definition := range b.Clusters.All() {
		if definition.Sound && (only == "" || definition.Name == only) {
			clusters = append(clusters, cluster(b, definition))
		}
	}
	return clusters
}

// from pairs a field with its place.
func from[T any](d *decode.Document, field *T) Value[T] { return Value[T]{V: *field, At: d.At(field)} }

// derived pairs a computed value with the place of the field that it stands for.
func derived[T, F any](d *decode.Document, field *F, value T) Value[T] {
	return Value[T]{V: value, At: d.At(field)}
}

func cluster(b *resolve.Bundle, d *resolve.Definition[v1alpha1.Cluster]) *Cluster {
	spec := &d.Spec.Spec
	c := &Cluster{
		Name:                from(d.Document, &d.Spec.Metadata.Name),
		OpenShift:           spec.Platform == v1alpha1.OpenShift,
		Version:             from(d.Document, &spec.Version),
		Minor:               minor(spec.Version),
		Bundled:             derived(d.Document, &spec.Executor, spec.Executor == v1alpha1.Bundled),
		AgentImage:          from(d.Document, &spec.Agent.Image),
		RequireDigests:      spec.RequireDigests,
		User:                user(d.Document, spec),
		DNS:                 dns(d.Document, spec),
		ControllerNamespace: from(d.Document, &spec.Controller.Namespace),
		Components:          components(d.Document, spec),
	}
	c.ImageVolumes = derived(d.Document, &spec.Agent.ImageVolumes, c.Minor >= imageVolumesMinor)
	if spec.Agent.ImageVolumes != nil {
		c.ImageVolumes.V = *spec.Agent.ImageVolumes
	}
	catalog := runtimes(b, c)
	for _, r := range catalog {
		if !r.Retired && hasProfile(spec.Capacity, r.Profile.Name) {
			c.Runtimes = append(c.Runtimes, r)
		}
	}
	c.Accelerators = accelerators(b, spec.Capacity)
	c.Tenants = tenants(b, c, catalog)
	return c
}

func hasProfile(capacity []v1alpha1.Capacity, profile string) bool {
	return len(capacity) == 0 || slices.ContainsFunc(capacity, func(c v1alpha1.Capacity) bool { return c.Profile == profile })
}

// minor returns the second number of a version whose form was checked.
func minor(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(text)
	return n
}

func user(d *decode.Document, spec *v1alpha1.ClusterSpec) Value[*template.User] {
	result := Value[*template.User]{At: d.Key(&spec.PodUser)}
	switch {
	case spec.PodUser != nil:
		result.V = &template.User{UID: spec.PodUser.UID, GID: spec.PodUser.GID, FSGroup: spec.PodUser.FSGroup}
	case spec.Platform == v1alpha1.Kubernetes:
		standard := anyUser
		result.V = &standard
	}
	return result
}

// The namespaces of the pods that answer DNS where nothing else is written.
const (
	kubernetesDNS = "kube-system"
	openShiftDNS  = "openshift-dns"
)

func dns(d *decode.Document, spec *v1alpha1.ClusterSpec) DNS {
	switch written := spec.Network.DNS; {
	case written != nil:
		return DNS{Namespace: from(d, &written.Namespace), PodLabels: written.PodLabels, Port: written.Port}
	case spec.Platform == v1alpha1.OpenShift:
		return DNS{Namespace: derived(d, &spec.Network.DNS, openShiftDNS), PodLabels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"}, Port: 5353}
	}
	return DNS{Namespace: derived(d, &spec.Network.DNS, kubernetesDNS), PodLabels: map[string]string{"k8s-app": "kube-dns"}, Port: 53}
}

func components(d *decode.Document, spec *v1alpha1.ClusterSpec) []Component {
	var result []Component
	for i := range spec.Components {
		written := &spec.Components[i]
		component := Component{
			Chart:     from(d, &written.Chart),
			Release:   from(d, &written.Release),
			Namespace: from(d, &written.Namespace),
			Values:    written.Values,
		}
		component.Release.V = cmp.Or(component.Release.V, path.Base(written.Chart))
		component.Namespace.V = cmp.Or(component.Namespace.V, spec.Controller.Namespace)
		result = append(result, component)
	}
	slices.SortStableFunc(result, func(a, b Component) int { return cmp.Compare(a.Release.V, b.Release.V) })
	return result
}
