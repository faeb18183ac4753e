// Package lower turns a plan into Kubernetes objects, one kind of output per file. Upstream's Go types are the vocabulary;
// the shape of a runtime comes from pkg/mpi/template, which the controller shares.
//
// It sees the plan only, never a spec, and decides nothing: what could be wrong was checked before.
package lower

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Folders of a cluster, and the files in them. A tenant's folder is TenantFolder/<tenant>.
const (
	PlatformFolder = "platform"
	PlatformFile   = "platform"
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

// Cluster returns the objects of a plan, without its components.
func Cluster(c *plan.Cluster, list *diag.List) *object.Set {
	b := builder{set: &object.Set{}, list: list}
	b.platform(c)
	for _, r := range c.Runtimes {
		b.at(RuntimeFolder, RuntimeFile, r.Name.At)
		b.trainingRuntime(c, r)
	}
	for _, t := range c.Tenants {
		b.at(TenantFolder+"/"+t.Name.V, TenantFile, t.Name.At)
		b.tenant(c, t)
	}
	return b.set
}

// builder collects objects for the place that it was last pointed at.
type builder struct {
	set          *object.Set
	list         *diag.List
	folder, file string
	origin       source.Span
}

func (b *builder) at(folder, file string, origin source.Span) {
	b.folder, b.file, b.origin = folder, file, origin
}

func (b *builder) add(typed any) {
	content, err := object.FromTyped(typed)
	if err != nil {
		b.list.Errorf(diag.RenderFails, b.origin, "%v", err)
		return
	}
	o := object.Object{Content: content, Folder: b.folder, File: b.file, Origin: b.origin}
	if taken, ok := b.set.Add(o); !ok {
		b.list.Errorf(diag.ObjectCollision, b.origin, "%s is compiled twice", o.ID()).Also(taken.Origin, "first for this")
	}
}

// tenant adds the objects of a tenant.
func (b *builder) tenant(c *plan.Cluster, t *plan.Tenant) {
	b.tenantRuntimeReaders(t)
	for _, namespace := range t.Namespaces {
		b.namespace(t, namespace.V)
		b.resourceQuota(t, namespace.V)
		b.limitRange(t, namespace.V)
		b.networkPolicies(c, t, namespace.V)
		b.roleBindings(t, namespace.V)
		b.controllerBinding(c, t, namespace.V)
		b.serviceAccount(t, namespace.V)
	}
}

// meta names an object of the platform.
func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{managedByLabel: managedBy}}
}

// tenantMeta names an object of a tenant.
func tenantMeta(t *plan.Tenant, namespace, name string) metav1.ObjectMeta {
	m := meta(name)
	m.Namespace = namespace
	m.Labels[mpi.TenantLabel] = t.Name.V
	return m
}
