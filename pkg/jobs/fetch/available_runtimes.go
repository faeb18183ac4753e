package fetch

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// AvailableRuntimes is what jobs can be made from in a namespace.
type AvailableRuntimes struct {
	Runtimes []AvailableRuntime `json:"runtimes"`
	// Queue is the local queue of the namespace; empty where there is none, several, or they cannot be read.
	Queue    string          `json:"queue,omitempty"`
	Withheld []view.Withheld `json:"withheld,omitempty"`
}

// AvailableRuntime is one that jobs can be made from.
type AvailableRuntime struct {
	Kind           string `json:"kind"`
	Name           string `json:"name"`
	Description    string `json:"description,omitempty"`
	Documentation  string `json:"documentation,omitempty"`
	Framework      string `json:"framework,omitempty"`
	Implementation string `json:"implementation,omitempty"`
	Version        string `json:"version,omitempty"`
	// Default: a job that names no runtime gets this one.
	Default bool `json:"default,omitempty"`
	mpi.Deprecation
	// Certified is the day on which a probe of it held on this cluster, or `stale` where it has changed since; empty where nobody has tested it.
	Certified string `json:"certified,omitempty"`
	// Nodes is how many a job gets that asks for none, MinNodes and MaxNodes what it may ask for; 0 where nothing says.
	Nodes    int32 `json:"nodes,omitempty"`
	MinNodes int32 `json:"minNodes,omitempty"`
	MaxNodes int32 `json:"maxNodes,omitempty"`
	// SlotsPerNode is the default.
	SlotsPerNode int32  `json:"slotsPerNode,omitempty"`
	Image        string `json:"image,omitempty"`
	// Resources are what a node requests, which a job may ask for, too: `cpu 2, memory 4Gi`.
	Resources string `json:"resources,omitempty"`
	// Most is the largest request of a node that is allowed, in the same form; empty if nothing limits it.
	Most string `json:"most,omitempty"`
}

// ImplementationName is how people call the implementation, or the framework of a runtime without one.
func (r AvailableRuntime) ImplementationName() string {
	if r.Implementation == "" {
		return r.Framework
	}
	return strings.TrimSpace(r.Implementation + " " + r.Version)
}

// The annotations of a tenant's namespace that limit its jobs (pkg/compile/lower, trainjob_policy.go).
const (
	allowedAnnotation   = "lockstep.dev/runtimes"
	externalAnnotation  = "lockstep.dev/external-runtimes"
	containerAnnotation = "lockstep.dev/max-container"
	queueAnnotation     = "lockstep.dev/queue"
)

// AvailableIn reads what jobs can be made from in a namespace. Where the namespace can be read, runtimes that its tenant may not use are left out.
func AvailableIn(ctx context.Context, c client.Reader, namespace string) (AvailableRuntimes, error) {
	r := &listReader{ctx: ctx, reader: c, namespace: namespace}
	found := r.readRuntimes()
	if r.err != nil {
		return AvailableRuntimes{}, r.err
	}
	tenant := readNamespace(ctx, c, namespace)
	allowed := allowedRuntimes(tenant)
	offer := AvailableRuntimes{Runtimes: []AvailableRuntime{}, Queue: r.onlyQueue()}
	for key, runtime := range found {
		if key.kind == trainer.TrainingRuntimeKind || allowed == nil || slices.Contains(allowed, key.name) {
			found := availableRuntime(key, runtime)
			if found.Most = mostPerNode(runtime, tenant); tenant.Annotations[queueAnnotation] != "" {
				found.Most = found.Resources // Kueue counts a node as the runtime has it
			}
			offer.Runtimes = append(offer.Runtimes, found)
		}
	}
	slices.SortFunc(offer.Runtimes, func(a, b AvailableRuntime) int {
		return strings.Compare(a.Name+a.Kind, b.Name+b.Kind)
	})
	if allowed == nil {
		r.noted.Withheld = append(r.noted.Withheld, view.Withheld{What: "the choice of the tenant", Why: "its namespace cannot be read, or names none: a job of a runtime that is not for it is refused"})
	}
	offer.Withheld = r.noted.Withheld
	return offer, nil
}

// readNamespace returns a namespace, without annotations if it cannot be read.
func readNamespace(ctx context.Context, c client.Reader, name string) corev1.Namespace {
	var found corev1.Namespace
	_ = c.Get(ctx, client.ObjectKey{Name: name}, &found)
	return found
}

// allowedRuntimes returns the names of the runtimes that jobs of a namespace may use, or nil if it does not limit them.
func allowedRuntimes(tenant corev1.Namespace) []string {
	names, limited := tenant.Annotations[allowedAnnotation]
	if !limited {
		return nil
	}
	return append(strings.Split(names, ","), strings.Split(tenant.Annotations[externalAnnotation], ",")...)
}

// mostPerNode returns the smaller amounts of the machine of a runtime and the limits of a tenant.
func mostPerNode(runtime *job.Runtime, tenant corev1.Namespace) string {
	most := corev1.ResourceList{}
	for _, list := range []string{runtime.Annotations[mpi.MachineAnnotation], tenant.Annotations[containerAnnotation]} {
		for _, text := range strings.Split(list, ",") {
			name, amount, _ := strings.Cut(text, "=")
			quantity, err := resource.ParseQuantity(amount)
			if known, is := most[corev1.ResourceName(name)]; err == nil && (!is || quantity.Cmp(known) < 0) {
				most[corev1.ResourceName(name)] = quantity
			}
		}
	}
	return resourcesText(corev1.ResourceRequirements{Requests: most})
}

// onlyQueue returns the only local queue of the namespace.
func (r *listReader) onlyQueue() string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(LocalQueueKind.GroupVersion().WithKind("LocalQueueList"))
	if r.reader.List(r.ctx, list, client.InNamespace(r.namespace)) != nil || len(list.Items) != 1 {
		return ""
	}
	return list.Items[0].GetName()
}

func availableRuntime(key runtimeKey, runtime *job.Runtime) AvailableRuntime {
	r := AvailableRuntime{
		Kind: key.kind, Name: key.name, Framework: runtime.Labels[mpi.FrameworkLabel],
		Description:    runtime.Annotations[mpi.DescriptionAnnotation],
		Documentation:  runtime.Annotations[mpi.DocumentationAnnotation],
		Implementation: runtime.Labels[mpi.ImplementationLabel], Version: runtime.Labels[mpi.VersionLabel],
		Default: runtime.Labels[defaultLabel] == "true", Certified: runtime.Labels[mpi.CertifiedLabel],
		Deprecation: runtime.Deprecation(),
		MinNodes:    intAnnotation(runtime, mpi.MinNodesAnnotation), MaxNodes: intAnnotation(runtime, mpi.MaxNodesAnnotation),
	}
	// A job that asks for nothing shows the defaults.
	if runtime.IsMPI() {
		if made, err := job.Resolve(&trainer.TrainJob{}, *runtime); err == nil {
			r.Nodes, r.SlotsPerNode = made.World.Nodes, made.World.SlotsPerNode
		}
	}
	if part := job.ReplicatedJob(runtime.Spec.Template.Spec, mpi.NodeJob); part != nil {
		if main := job.MainContainer(&part.Template.Spec.Template.Spec); main != nil {
			r.Image, r.Resources = main.Image, resourcesText(main.Resources)
		}
	}
	return r
}

func intAnnotation(runtime *job.Runtime, annotation string) int32 {
	n, err := strconv.ParseInt(runtime.Annotations[annotation], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func resourcesText(resources corev1.ResourceRequirements) string {
	all := maps.Clone(resources.Limits)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, resources.Requests) // a limit of CPU is more than a machine has
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		amount := all[name]
		parts = append(parts, string(name)+" "+amount.String())
	}
	return strings.Join(parts, ", ")
}
