package fetch

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/overview"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// RuntimeDetails has all that a cluster knows of a runtime. Texts are empty if the runtime does not have them.
type RuntimeDetails struct {
	AvailableRuntime
	Profile string `json:"profile,omitempty"`
	// Machine lists what a machine of the profile has for pods: `cpu=8,memory=32Gi`.
	Machine  string `json:"machine,omitempty"`
	Price    string `json:"price,omitempty"`
	Restarts string `json:"restarts,omitempty"`
	// Certification describes what was measured when it was certified: pairs, round trip, bandwidth.
	Certification string `json:"certification,omitempty"`
	Fingerprint   string `json:"fingerprint,omitempty"`
	// Namespaces are those whose tenants may use it.
	Namespaces []string        `json:"namespaces"`
	Withheld   []view.Withheld `json:"withheld"`
}

// ReadRuntimeDetails reads a runtime of the cluster, or of a namespace, and who may use it.
func ReadRuntimeDetails(
	ctx context.Context, c client.Reader, kind, namespace, name string,
) (RuntimeDetails, *job.Runtime, error) {
	ref := &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Kind: ptr.To(kind), Name: name}}}
	ref.Namespace = namespace
	found, err := RuntimeOf(ctx, c, ref)
	if err != nil {
		return RuntimeDetails{}, nil, err
	}
	notes := maps.Clone(found.Annotations)
	d := RuntimeDetails{
		AvailableRuntime: availableRuntime(runtimeKeyOf(ref), found), Profile: found.Labels[overview.ProfileLabel],
		Machine: notes[mpi.MachineAnnotation], Price: notes[mpi.PriceAnnotation], Restarts: notes[mpi.RestartsAnnotation],
		Certification: notes[mpi.CertificationAnnotation], Fingerprint: notes[mpi.FingerprintAnnotation],
		Namespaces: []string{}, Withheld: []view.Withheld{},
	}
	d.Most = mostPerNode(found, corev1.Namespace{})
	if kind == trainer.TrainingRuntimeKind {
		d.Namespaces = append(d.Namespaces, namespace)
		return d, found, nil
	}
	r := &listReader{ctx: ctx, reader: c}
	var list corev1.NamespaceList
	r.listInto("namespaces that may use it", &list)
	for _, tenant := range list.Items {
		if slices.Contains(allowedRuntimes(tenant), name) {
			d.Namespaces = append(d.Namespaces, tenant.Name)
		}
	}
	d.Withheld = append(d.Withheld, r.noted.Withheld...)
	return d, found, r.err
}
