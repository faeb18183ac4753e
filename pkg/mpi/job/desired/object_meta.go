package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// ownerReference makes the garbage collector delete an object with the TrainJob.
func ownerReference(j job.Job) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         trainer.GroupVersion.String(),
		Kind:               trainer.TrainJobKind,
		Name:               j.Name,
		UID:                j.UID,
		Controller:         ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}
}

const managedByLabel = "app.kubernetes.io/managed-by"

func objectMeta(j job.Job, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: j.Namespace,
		Labels: map[string]string{
			mpi.TrainJobLabel: j.Name,
			managedByLabel:    mpi.ControllerName,
		},
		OwnerReferences: []metav1.OwnerReference{ownerReference(j)},
	}
}
