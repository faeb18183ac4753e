package fetch

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/overview"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// ReadOverview reads what package overview judges: of one namespace, or of the cluster for an empty one. Only jobs must
// be readable; another part that is not is noted.
func ReadOverview(ctx context.Context, c client.Reader, namespace string) (overview.Input, error) {
	objects, hidden, err := ListJobs(ctx, c, JobSelection{Namespace: namespace})
	if err != nil {
		return overview.Input{}, err
	}
	r := &listReader{ctx: ctx, reader: c, namespace: namespace}
	in := overview.Input{
		Now: time.Now(), Jobs: objects, Tenants: r.readTenants(), Runtimes: map[string]*job.Runtime{},
		ClusterQueues: r.listUnstructured("queues of the cluster (clusterqueues)", ClusterQueueKind),
		LocalQueues:   r.listUnstructured("localqueues", LocalQueueKind),
	}
	for key, runtime := range r.readRuntimes() {
		if key.kind == trainer.ClusterTrainingRuntimeKind {
			in.Runtimes[key.name] = runtime
		}
	}
	in.Workloads, err = ListWorkloads(ctx, c, namespace)
	if r.err == nil {
		r.err = withholdOrFail(&r.noted, "waits (workloads)", &err)
	}
	var machines corev1.NodeList
	r.listInto("machines (nodes)", &machines, client.InNamespace(""))
	in.Machines = machines.Items
	r.readPods(func(pod *corev1.Pod) { in.Pods = append(in.Pods, *pod) })
	in.Withheld = mergeWithheld(hidden, r.noted.Withheld)
	return in, r.err
}

// mergeWithheld returns both lists, each part once.
func mergeWithheld(lists ...[]view.Withheld) []view.Withheld {
	var merged []view.Withheld
	known := map[string]bool{}
	for _, list := range lists {
		for _, part := range list {
			if !known[part.What] {
				merged, known[part.What] = append(merged, part), true
			}
		}
	}
	return merged
}

// readTenants returns the names of tenants by namespace. Few may list namespaces; of one namespace its objects name it.
func (r *listReader) readTenants() map[string]string {
	tenants := map[string]string{}
	if r.namespace != "" {
		if tenant := TenantOf(r.ctx, r.reader, r.namespace); tenant.Name != "" {
			tenants[r.namespace] = tenant.Name
		}
		return tenants
	}
	var list corev1.NamespaceList
	r.listInto("names of tenants (namespaces)", &list)
	for i := range list.Items {
		if tenant := list.Items[i].Labels[mpi.TenantLabel]; tenant != "" {
			tenants[list.Items[i].Name] = tenant
		}
	}
	return tenants
}

// listUnstructured lists objects of Kueue, none in a cluster without it.
func (r *listReader) listUnstructured(what string, kind schema.GroupVersionKind) []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	options := []client.ListOption{client.InNamespace(r.namespace)}
	if clusterScoped[kind.Kind] {
		options = nil
	}
	err := r.reader.List(r.ctx, list, options...)
	if e := apierror.Explain(err); err != nil && e.Kind == apierror.NoKind {
		return nil
	}
	if r.err == nil {
		r.err = withholdOrFail(&r.noted, what, &err)
	}
	return list.Items
}

// readPods reads the pods of jobs, many at a time.
func (r *listReader) readPods(give func(*corev1.Pod)) {
	for next := ""; ; {
		var pods corev1.PodList
		ofJobs := client.HasLabels{mpi.JobSetNameLabel}
		if !r.listInto("pods", &pods, ofJobs, client.Limit(podsPerPage), client.Continue(next)) {
			return
		}
		for i := range pods.Items {
			give(&pods.Items[i])
		}
		if next = pods.Continue; next == "" {
			return
		}
	}
}
