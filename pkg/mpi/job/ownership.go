package job

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// Object is what every Kubernetes object can say of itself.
type Object interface {
	metav1.Object
	runtime.Object
}

// Claim is how an object under one of our names relates to a TrainJob.
type Claim int

// The claims.
const (
	// Foreign: somebody else's. We refuse rather than use a Secret whose key others may hold.
	Foreign Claim = iota
	// Own: this TrainJob controls it.
	Own
	// Stale: a TrainJob of the same name that is gone controls it; the garbage collector has not come by yet.
	Stale
)

// ClaimOf needs nothing but the controlling owner: two TrainJobs of one name in one namespace cannot exist at a time, so
// another UID under our name belongs to one that is gone.
func ClaimOf(trainJob *trainer.TrainJob, object metav1.Object) Claim {
	owner := metav1.GetControllerOf(object)
	switch {
	case owner == nil:
		return Foreign
	case owner.UID == trainJob.UID:
		return Own
	case owner.Kind == trainer.TrainJobKind && owner.APIVersion == trainer.GroupVersion.String() && owner.Name == trainJob.Name:
		return Stale
	}
	return Foreign
}

// IsOfJobSet reports whether a Job belongs to a JobSet of the name of a TrainJob, this one's or an earlier one's.
func IsOfJobSet(trainJob *trainer.TrainJob, job metav1.Object) bool {
	owner := metav1.GetControllerOf(job)
	return owner != nil && owner.Kind == KindOfJobSet().Kind && owner.Name == trainJob.Name
}

// NameWithOwner is how a message names an object, and whose it is where it says so itself.
func NameWithOwner(kind string, object metav1.Object) string {
	text := kind + " `" + object.GetName() + "`"
	if owner := metav1.GetControllerOf(object); owner != nil {
		text += " of " + owner.Kind + " `" + owner.Name + "`"
	}
	return text
}

// KindOfSecret is the kind of the key.
func KindOfSecret() metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"} }

// KindOfJobSet is the kind of JobSets.
func KindOfJobSet() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: jobset.SchemeGroupVersion.String(), Kind: "JobSet"}
}

// KindOfNetworkPolicy is the kind of network policies.
func KindOfNetworkPolicy() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"}
}
