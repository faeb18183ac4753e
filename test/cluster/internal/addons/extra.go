package addons

import (
	"context"
	_ "embed" // a manifest
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/images"
)

// Extra is an add-on that a cluster has only when it is asked for.
type Extra struct {
	Name string
	// About is one line for people.
	About string
	// Module is the family of programs whose pinned module holds the manifests.
	Module string
	// Program runs it, or is empty when it is definitions of kinds only.
	Program string

	// manifests are the folders below the module's that are copied, and target
	// is the one that kustomize reads.
	manifests, target string
	// own is a manifest of ours beside the module's.
	own        []byte
	namespace  string
	deployment string
	// lease is what the manager holds while it leads, and leaves behind.
	lease string
	// probe is an object that its webhooks look at, or nil.
	probe *unstructured.Unstructured
	adapt adaptation
}

//go:embed coscheduling.yaml
var coscheduling []byte

// Extras are all that can be asked for, in order of their names.
func Extras() []Extra {
	return []Extra{
		{
			Name: "coscheduling", About: "scheduler-plugins' gang scheduler, for pods that name the scheduler `coscheduling` and a PodGroup",
			Module: "scheduler-plugins", Program: "coscheduler", manifests: "config/crd/bases", target: ".", own: coscheduling,
			namespace: "kube-system", deployment: "coscheduling", adapt: adaptation{image: images.Coscheduler},
		},
		{
			Name: "kueue", About: "Kueue's controller, for TrainJobs, JobSets and Jobs that name a queue",
			Module: "kueue", Program: "kueue-manager", manifests: "config", target: "default",
			namespace: "kueue-system", deployment: "kueue-controller-manager", adapt: kueue,
			probe: object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", ""),
		},
		{
			Name: "kwok", About: "KWOK's controller: nodes with the annotation kwok.x-k8s.io/node=fake are simulated",
			Module: "kwok", Program: "kwok", manifests: "kustomize", target: "kwok",
			namespace: "kube-system", deployment: "kwok-controller", adapt: kwok,
		},
		{
			Name: "mpi-operator", About: "Kubeflow's mpi-operator, for MPIJobs",
			Module: "mpi-operator", Program: "mpi-operator", manifests: "manifests", target: "overlays/standalone",
			namespace: "mpi-operator", deployment: "mpi-operator", lease: "mpi-operator", adapt: adaptation{image: images.MPIOperator},
		},
		{
			Name: "podgroup", About: "scheduler-plugins' definition of the kind PodGroup, without a scheduler that heeds it",
			Module: "scheduler-plugins", manifests: "config/crd/bases", target: ".",
		},
		{
			Name: "trainer", About: "Kubeflow Trainer's own controller manager; only one TrainJob controller may run in a cluster",
			Module: "trainer", Program: "trainer-manager", manifests: "manifests", target: "overlays/manager",
			namespace: "kubeflow-system", deployment: "kubeflow-trainer-controller-manager", adapt: trainer,
			lease: "trainer.kubeflow.org", probe: object("trainer.kubeflow.org/v1alpha1", "TrainJob", "default"),
		},
	}
}

// ExtraNames are the names of all extras.
func ExtraNames() []string {
	var names []string
	for _, e := range Extras() {
		names = append(names, e.Name)
	}
	return names
}

// FindExtra returns the extra of a name.
func FindExtra(name string) (Extra, error) {
	extras := Extras()
	i := slices.IndexFunc(extras, func(e Extra) bool { return e.Name == name })
	if i < 0 {
		return Extra{}, fmt.Errorf("unknown add-on %q: known are %s", name, strings.Join(ExtraNames(), ", "))
	}
	return extras[i], nil
}

// Render makes the objects of an extra from the folder of its module.
func (e Extra) Render(module string, now time.Time) (*Addons, error) {
	dir, err := os.MkdirTemp("", "lockstep-"+e.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", e.Name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := copyWritable(dir, filepath.Join(module, e.manifests)); err != nil {
		return nil, fmt.Errorf("copy the manifests of %s: %w", e.Name, err)
	}
	if err := e.adapt.folder(dir); err != nil {
		return nil, fmt.Errorf("prepare the manifests of %s: %w", e.Name, err)
	}
	var objects []*unstructured.Unstructured
	for _, target := range append([]string{e.target}, e.adapt.more...) {
		some, err := kustomize(filepath.Join(dir, target))
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", e.Name, err)
		}
		objects = append(objects, some...)
	}
	own, err := decode(e.own)
	if err != nil {
		return nil, fmt.Errorf("read our manifest of %s: %w", e.Name, err)
	}
	objects = append(objects, own...)
	if objects, err = e.adapt.objects(objects, e.namespace, now); err != nil {
		return nil, fmt.Errorf("adapt %s: %w", e.Name, err)
	}
	a := split(objects)
	a.hooks, a.ground = partition(a.ground, isWebhook)
	if e.lease != "" {
		a.made = append(a.made, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": e.lease, "namespace": e.namespace},
		}})
	}
	return a, nil
}

func object(version, kind, namespace string) *unstructured.Unstructured {
	metadata := map[string]any{"name": "probe"}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": kind, "metadata": metadata, "spec": map[string]any{"runtimeRef": map[string]any{"name": "probe"}},
	}}
}

// WaitStarted returns when the extra runs.
func (e Extra) WaitStarted(ctx context.Context, client *api.Client) error {
	if e.deployment == "" {
		return nil
	}
	return api.Until(ctx, limit, e.Name+" does not start", func(ctx context.Context) error {
		return client.Available(ctx, e.namespace, e.deployment)
	})
}

// WaitAnswers returns when the webhooks of the extra answer.
func (e Extra) WaitAnswers(ctx context.Context, client *api.Client) error {
	if e.probe == nil {
		return nil
	}
	return api.Until(ctx, limit, "the webhooks of "+e.Name+" do not answer", func(ctx context.Context) error {
		return answered(client.DryRun(ctx, resourceOf(e.probe), e.probe))
	})
}

// answered is nil when webhooks have answered, be it with a refusal.
func answered(err error) error {
	if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
		return err
	}
	return nil
}

// resourceOf is right for the kinds of the probes.
func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	return object.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(object.GetKind()) + "s")
}

// Add applies everything but what InstallWebhooks does, and returns when kinds are served; workloads still start.
func (a *Addons) Add(ctx context.Context, client *api.Client) error {
	if err := a.Define(ctx, client); err != nil {
		return err
	}
	return errors.Join(a.Install(ctx, client), a.Start(ctx, client))
}

// InstallWebhooks applies webhooks and aggregated APIs. Before what serves them runs, the API server would refuse objects of others.
func (a *Addons) InstallWebhooks(ctx context.Context, client *api.Client) error {
	return client.Apply(ctx, a.hooks)
}

// Remove deletes everything but definitions of kinds and namespaces, because
// objects of other owners would go with them. Webhooks and aggregated APIs go
// before what serves them.
func (a *Addons) Remove(ctx context.Context, client *api.Client) error {
	_, rest := partition(a.ground, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	for _, objects := range [][]*unstructured.Unstructured{a.hooks, a.workloads, rest, a.made} {
		if err := client.Delete(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

func isWebhook(object *unstructured.Unstructured) bool {
	return strings.HasSuffix(object.GetKind(), "WebhookConfiguration") || object.GetKind() == "APIService"
}

func partition(all []*unstructured.Unstructured, is func(*unstructured.Unstructured) bool) (those, others []*unstructured.Unstructured) {
	for _, object := range all {
		if is(object) {
			those = append(those, object)
		} else {
			others = append(others, object)
		}
	}
	return those, others
}

// What the extras change about upstream's manifests.
var (
	// The cluster has JobSet already.
	trainer = adaptation{
		image: images.Trainer, secret: "kubeflow-trainer-webhook-cert", service: "kubeflow-trainer-controller-manager",
		without: map[string][]string{"overlays/manager": {"../../third-party/jobset"}},
		config:  [2]string{"certManagement:\n  enable: true", "certManagement:\n  enable: false"},
	}
	// Webhooks for kinds that this cluster lacks, or that Kueue shall not manage
	// here, would only keep pods from starting while Kueue does.
	kueue = adaptation{
		image: images.Kueue, secret: "kueue-webhook-server-cert", service: "kueue-webhook-service",
		hooks:  []string{"trainjobs", "jobsets", "jobs", "workloads", "clusterqueues", "localqueues", "resourceflavors", "cohorts"},
		config: [2]string{"integrations:\n  frameworks:", kueueConfig},
		mounts: []string{"/etc/kueue/metrics/certs", "/visibility"},
	}
	kwok = adaptation{image: images.Kwok, more: []string{"stage/node/fast", "stage/node/heartbeat-with-lease"}}
)

const kueueConfig = `internalCertManagement:
  enable: false
integrations:
  frameworks:
  - "batch/job"
  - "jobset.x-k8s.io/jobset"
  - "trainer.kubeflow.org/trainjob"
`
