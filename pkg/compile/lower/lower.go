// Package lower turns a plan into Kubernetes objects, one kind of output per file. The shape of a runtime comes from
// pkg/mpi/template, which the controller shares; everything else is built here, value by value, each with its origin.
//
// It sees the plan only, never a spec, and decides nothing: what could be wrong was checked before. An origin is a pointer into
// the plan where a spec decides a value, and into a rule of this package where the compiler does. Objects of tenants are built
// thousands of times: they are nodes from the start, without formatting and without reflection.
package lower

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Folders of a cluster, and the files in them. A tenant's folder is TenantFolder/<tenant>.
const (
	PlatformFolder = "platform"
	PlatformFile   = "platform"
	AdmissionFile  = "admission"
	RuntimeFolder  = "runtimes"
	RuntimeFile    = "runtimes"
	TenantFolder   = "tenants"
	TenantFile     = "tenant"
)

// managedByLabel and its value are on every object that is compiled from a spec.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "lockstep"
)

// PlatformObjects returns what a whole cluster shares, without its components, sorted.
func PlatformObjects(c *plan.Cluster) []object.Object {
	b := builder{place: object.Place{Folder: PlatformFolder, File: PlatformFile, Origin: c.Name.At}}
	b.sharedObjects(c)
	b.priorityClasses(c)
	b.queueing(c)
	b.securityContextConstraints(c)
	b.admissionPolicies(c)
	b.monitoring(c)
	b.gitOps(c)
	return b.sortedObjects()
}

// TenantObjects returns the objects of a tenant on a cluster, sorted.
func TenantObjects(c *plan.Cluster, t *plan.Tenant, list *diag.List) []object.Object {
	b := builder{place: object.Place{Folder: TenantFolder + "/" + t.Name.V, File: TenantFile, Origin: t.Name.At}}
	b.objects = make([]object.Object, 0, 1+maxPerNamespace*len(t.Namespaces))
	b.tenantRuntimeReaders(t)
	b.tenantRuntimes(c, t, list)
	b.clusterQueue(c, t)
	for i := range t.Namespaces {
		namespace := &t.Namespaces[i]
		b.namespace(c, t, namespace)
		b.resourceQuota(t, namespace)
		b.limitRange(c, t, namespace)
		b.localQueue(c, t, namespace)
		b.claims(t, namespace)
		b.alertReceivers(c, t, namespace)
		b.storedSecrets(t, namespace)
		b.networkPolicies(c, t, namespace)
		b.templates(t, namespace)
		b.roleBindings(t, namespace)
		b.controllerBinding(c, t, namespace)
		b.serviceAccounts(c, t, namespace)
		b.sccBindings(c, t, namespace)
	}
	b.tenantGitOps(c, t)
	return b.sortedObjects()
}

// maxPerNamespace is how many objects a namespace of a tenant may get. More than that costs time, nothing else.
const maxPerNamespace = 12

// builder collects objects for one place.
type builder struct {
	place   object.Place
	objects []object.Object
}

// add adds an object of an API with its entries beside apiVersion and kind.
func (b *builder) add(rule *origin.Origin, apiVersion, kind string, entries ...object.Node) {
	all := append(make([]object.Node, 0, 2+len(entries)), object.Text("apiVersion", apiVersion, nil), object.Text("kind", kind, nil))
	b.objects = append(b.objects, object.New(object.Map("", append(all, entries...)...), b.place, rule))
}

func (b *builder) sortedObjects() []object.Object {
	object.Sort(b.objects)
	return b.objects
}

var managed = origin.Rule("label managed-by", "people and tools see that the object is compiled, and that a change belongs into a spec")

// platformMeta names an object of the platform.
func platformMeta(name object.Node) object.Node {
	return object.Map("metadata", object.Map("labels", object.Text(managedByLabel, managedBy, managed)), name.Named("name"))
}

// tenantMeta names an object of a tenant; namespace is nil for one without.
func tenantMeta(t *plan.Tenant, namespace *plan.Value[string], name object.Node) object.Node {
	labels := object.Map("labels", object.Text(managedByLabel, managedBy, managed), planText(mpi.TenantLabel, &t.Name))
	if namespace == nil {
		return object.Map("metadata", labels, name.Named("name"))
	}
	return object.Map("metadata", labels, name.Named("name"), planText("namespace", namespace))
}

// constantText is a string that the rule around it decides.
func constantText(value string) object.Node { return object.Text("", value, nil) }

// planText is a string of the plan.
func planText(key string, value *plan.Value[string]) object.Node {
	return object.Text(key, value.V, &value.Origin)
}

// derivedOrigin is the origin of a value that is not the one of the spec, but follows from it; how says the way. What a default gives stays one.
func derivedOrigin(from *origin.Origin, how string) *origin.Origin {
	if from.Kind != origin.Written {
		return from
	}
	return &origin.Origin{At: from.At, Kind: origin.Derived, Why: how, Lost: from.Lost}
}

// The ways in which names and paths are made.
const (
	ofTenant = "the name of the tenant, and what the object is for"
	inPath   = "the path of the output, and the folder of the stage"
)
