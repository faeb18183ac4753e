package plan

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// imageVolumesMinor is the first Kubernetes minor version with image volumes switched on
// (https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/, ImageVolume).
const imageVolumesMinor = 35

// anyUser is the identity of pods where nobody chose one: a UID from the range that OpenShift uses, group root, and a
// group for volumes so that the key of the job is readable.
var anyUser = template.User{UID: 1000650000, GID: 0, FSGroup: 1000650000}

// ownSpec returns what the spec of a tenant says, which its clusters share.
func (p planner) ownSpec(d *resolve.Definition[v1alpha1.Tenant]) *TenantSpec {
	if found, is := p.own.Load(d.Document); is {
		return found.(*TenantSpec)
	}
	made, _ := p.own.LoadOrStore(d.Document, tenantSpec(d))
	return made.(*TenantSpec)
}

// RequireCluster reports that there is no cluster, or none with a name. Where specs have mistakes, one of them may be why: it says nothing then.
func RequireCluster(b *resolve.Bundle, only string, list *diag.List) {
	switch {
	case list.Errors() > 0:
	case len(b.Clusters.Names()) == 0:
		list.Errorf(diag.NoCluster, source.Span{}, "there is no Cluster spec").
			Helpf("write overlays/<name>/cluster.yaml, or name the repository's root with --root")
	case only != "" && b.Clusters.Get(only) == nil:
		list.Errorf(diag.UnknownCluster, source.Span{}, "there is no Cluster `%s`", only).Suggest(only, b.Clusters.Names())
	}
}

// Clusters returns the plan of every sound cluster, or of the one with a name, sorted by name.
func Clusters(b *resolve.Bundle, only string) []*Cluster {
	return ClustersExcept(b, only, func(string) bool { return false })
}

// ClustersExcept returns these plans, but only the name of each cluster that is planned later, with other specs.
func ClustersExcept(b *resolve.Bundle, only string, later func(cluster string) bool) []*Cluster {
	p := planner{Bundle: b, own: &sync.Map{}}
	definitions := slices.DeleteFunc(slices.Clone(b.Clusters.All()), func(d *resolve.Definition[v1alpha1.Cluster]) bool {
		return !d.Valid || only != "" && d.Name != only
	})
	// Clusters do not see each other.
	clusters := make([]*Cluster, len(definitions))
	var all sync.WaitGroup
	for i, d := range definitions {
		all.Go(func() {
			if later(d.Name) {
				clusters[i] = &Cluster{Name: writtenValue(d.Document, &d.Spec.Metadata.Name)}
				return
			}
			clusters[i] = p.planCluster(d)
		})
	}
	all.Wait()
	return clusters
}

func (p planner) planCluster(d *resolve.Definition[v1alpha1.Cluster]) *Cluster {
	spec := &d.Spec.Spec
	c := &Cluster{
		Name:                writtenValue(d.Document, &d.Spec.Metadata.Name),
		OpenShift:           spec.Platform == v1alpha1.OpenShift,
		Version:             writtenValue(d.Document, &spec.Version),
		Minor:               minorVersion(spec.Version),
		Bundled:             derivedValue(d.Document, &spec.Executor, spec.Executor == v1alpha1.Bundled, "our own controller executes TrainJobs"),
		RequireDigests:      spec.RequireDigests,
		User:                podUser(d.Document, spec),
		DNS:                 dns(d.Document, spec),
		ControllerNamespace: orDefault(d.Document, &spec.Controller.Namespace, "the namespace of the platform's own pods"),
		Partial:             p.Profiles.Incomplete() || p.Runtimes.Incomplete() || p.Tenants.Incomplete(),
	}
	c.ImageVolumes = derivedValue(d.Document, &spec.Agent.ImageVolumes, c.Minor >= imageVolumesMinor, "Kubernetes has image volumes switched on from 1.35")
	if spec.Agent.ImageVolumes != nil {
		c.ImageVolumes.V = *spec.Agent.ImageVolumes
	}
	c.addPlatform(d)
	c.Components = c.components(d.Document, spec)
	c.AgentImage = c.Images.pulledImageOf(writtenValue(d.Document, &spec.Agent.Image))
	known := planProfiles(p.Bundle)
	c.Capacity = capacity(d.Document, spec, known)
	c.Queueing = queueing(d.Document, spec.Queueing, known)
	c.Catalog = planRuntimes(p.Bundle, c, known)
	for _, r := range c.Catalog {
		if !r.Retired && hasProfile(spec.Capacity, r.Profile.Name) {
			c.Runtimes = append(c.Runtimes, r)
		}
	}
	c.Accelerators = accelerators(p.Bundle, spec.Capacity)
	c.setQueueUnits()
	c.Templates = p.Templates
	c.Tenants = p.planTenants(c)
	return c
}

// addPlatform adds what tenants and runtimes refer to.
func (c *Cluster) addPlatform(d *resolve.Definition[v1alpha1.Cluster]) {
	spec := &d.Spec.Spec
	for i := range spec.Schedulers {
		c.Schedulers = append(c.Schedulers, derivedValue(d.Document, &spec.Schedulers[i], string(spec.Schedulers[i]), ""))
	}
	c.Priorities = priorities(d.Document, spec.Priorities)
	c.StorageClasses = sortedNames(d.Document, spec.StorageClasses)
	c.SecretStores = sortedNames(d.Document, spec.SecretStores)
	c.Images = images(d.Document, &spec.Images)
	c.Ranges = clusterRanges(d.Document, spec)
	c.Services = services(d.Document, spec.Network.Services)
	c.Reserved = sortedNames(d.Document, spec.ReservedNamespaces)
	c.Encryption = orDefault(d.Document, &spec.Network.Encryption, "most networks carry traffic as it is")
	c.Logs = writtenValue(d.Document, &spec.Logs)
	c.Docs = docsAddress(d.Document, spec)
	c.Monitoring = monitoring(d.Document, spec.Monitoring)
	c.GitOps = gitOps(d.Document, spec)
	c.History = history(d.Document, spec.History)
	c.Dashboard = dashboard(d.Document, spec.Dashboard)
	c.Certified = certifications(d.Document, spec.Certified)
	c.Waivers = waivers(d.Document, spec.Waivers)
}

func hasProfile(capacity []v1alpha1.Capacity, profile string) bool {
	return len(capacity) == 0 || slices.ContainsFunc(capacity, func(c v1alpha1.Capacity) bool { return c.Profile == profile })
}

// minorVersion returns the second number of a version whose form was checked.
func minorVersion(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(text)
	return n
}

func podUser(d *decode.Document, spec *v1alpha1.ClusterSpec) Value[*User] {
	result := Value[*User]{Origin: origin.Origin{At: d.Key(&spec.PodUser)}}
	switch {
	case spec.PodUser != nil:
		result.V = &User{
			UID:     writtenValue(d, &spec.PodUser.UID),
			GID:     orDefault(d, &spec.PodUser.GID, "the group root may read the key of a job"),
			FSGroup: writtenValue(d, &spec.PodUser.FSGroup),
		}
	case spec.Platform == v1alpha1.Kubernetes:
		result.Kind, result.Why = origin.Default, "a user without passwd entry, from the range that OpenShift uses, with a group that may read the key of a job"
		standard := func(id int64) Value[int64] { return Value[int64]{V: id, Origin: result.Origin} }
		result.V = &User{UID: standard(anyUser.UID), GID: standard(anyUser.GID), FSGroup: standard(anyUser.FSGroup)}
	}
	return result
}

// clusterRanges are the addresses of pods and Services. OpenShift's installer has defaults that hardly anybody changes
// (https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/installing_on_bare_metal/installation-config-parameters-bare-metal);
// Kubernetes has none: they are those of its network plugin.
func clusterRanges(d *decode.Document, spec *v1alpha1.ClusterSpec) []Value[string] {
	if spec.Platform != v1alpha1.OpenShift || len(spec.Network.Ranges) > 0 {
		return sortedNames(d, spec.Network.Ranges)
	}
	usual := origin.Origin{At: d.Key(&spec.Network.Ranges), Kind: origin.Default, Why: "what OpenShift's installer gives pods and Services"}
	return []Value[string]{{V: "10.128.0.0/14", Origin: usual}, {V: "172.30.0.0/16", Origin: usual}}
}

func dns(d *decode.Document, spec *v1alpha1.ClusterSpec) DNS {
	if own := spec.Network.DNS; own != nil {
		return DNS{
			Namespace: writtenValue(d, &own.Namespace),
			PodLabels: namedEntries(d, &own.PodLabels),
			Port:      orDefault(d, &own.Port, "the port of DNS"),
		}
	}
	standard, why := mpi.KubernetesDNS, "where Kubernetes runs its DNS"
	if spec.Platform == v1alpha1.OpenShift {
		standard, why = mpi.OpenShiftDNS, "where OpenShift runs its DNS"
	}
	from := origin.Origin{At: d.At(&spec.Network.DNS), Kind: origin.Default, Why: why}
	return DNS{
		Namespace: Value[string]{V: standard.Namespace, Origin: from},
		PodLabels: []Named[string]{{Name: standard.Label, Value: Value[string]{V: standard.Value, Origin: from}}},
		Port:      Value[int32]{V: standard.Port, Origin: from},
	}
}
