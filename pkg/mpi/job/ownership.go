package job

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Object is what every Kubernetes object can say of itself.
type Object interface {
	metav1.Object
	runtime.Object
}

// claim is how an object under one of our names relates to a TrainJob.
type claim int

const (
	// foreign: somebody else's. We refuse rather than use a Secret whose key others may hold.
	foreign claim = iota
	// own: this TrainJob controls it.
	own
	// stale: a TrainJob of the same name that is gone controls it; the garbage collector has not come by yet.
	stale
)

// claimOf needs nothing but the controlling owner: two TrainJobs of one name in one namespace cannot exist at a time, so
// another UID under our name belongs to one that is gone.
func claimOf(trainJob *trainer.TrainJob, object metav1.Object) claim {
	owner := metav1.GetControllerOf(object)
	switch {
	case owner == nil:
		return foreign
	case owner.UID == trainJob.UID:
		return own
	case owner.Kind == trainer.TrainJobKind && owner.APIVersion == trainer.GroupVersion.String() && owner.Name == trainJob.Name:
		return stale
	}
	return foreign
}

// ofJobSet says whether a Job belongs to a JobSet of the name of a TrainJob, this one's or an earlier one's.
func ofJobSet(trainJob *trainer.TrainJob, job metav1.Object) bool {
	owner := metav1.GetControllerOf(job)
	return owner != nil && owner.Kind == jobSetType().Kind && owner.Name == trainJob.Name
}

// called is how a message names an object, and whose it is where it says so itself.
func called(kind string, object metav1.Object) string {
	text := kind + " `" + object.GetName() + "`"
	if owner := metav1.GetControllerOf(object); owner != nil {
		text += " of " + owner.Kind + " `" + owner.Name + "`"
	}
	return text
}

// ownerReference makes the garbage collector delete an object with the TrainJob.
func (j Job) ownerReference() metav1.OwnerReference {
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

func (j Job) objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: j.Namespace,
		Labels: map[string]string{
			mpi.TrainJobLabel: j.Name,
			managedByLabel:    mpi.ControllerName,
		},
		OwnerReferences: []metav1.OwnerReference{j.ownerReference()},
	}
}
