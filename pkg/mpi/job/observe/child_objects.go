package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Deletion names an object to delete in the background.
type Deletion struct {
	metav1.TypeMeta
	Name string
	UID  types.UID
}

// ChildrenWithClaim returns the children with a claim.
func (o Observed) ChildrenWithClaim(claim job.Claim) []Deletion {
	var deletions []Deletion
	for _, child := range o.Children {
		if job.ClaimOf(o.TrainJob, &child) == claim {
			deletions = append(deletions, DeletionOf(child.TypeMeta, &child))
		}
	}
	return deletions
}

// WithoutChildren returns the same when these children are gone.
func (o Observed) WithoutChildren(gone []Deletion) Observed {
	o.Children = slices.DeleteFunc(slices.Clone(o.Children), func(child metav1.PartialObjectMetadata) bool {
		return slices.ContainsFunc(gone, func(d Deletion) bool { return d.UID == child.UID })
	})
	return o
}

// HasKeySecret reports whether this job has its key already: then an earlier attempt had the same.
func (o Observed) HasKeySecret() bool { return len(o.KeySecrets()) > 0 }

// HasOwnObject reports whether an object of the kind and name is there and is the job's.
func (o Observed) HasOwnObject(object job.Object) bool {
	return slices.ContainsFunc(o.Children, func(child metav1.PartialObjectMetadata) bool {
		return child.Kind == object.GetObjectKind().GroupVersionKind().Kind && child.Name == object.GetName() && job.ClaimOf(o.TrainJob, &child) == job.Own
	})
}

// DeletionOf names an object.
func DeletionOf(kind metav1.TypeMeta, object metav1.Object) Deletion {
	return Deletion{TypeMeta: kind, Name: object.GetName(), UID: object.GetUID()}
}

// KeySecrets returns the key of the job, where it has one. It is worth nothing to a job that is over, but something to a thief.
func (o Observed) KeySecrets() []Deletion {
	return slices.DeleteFunc(o.ChildrenWithClaim(job.Own), func(d Deletion) bool { return d.Kind != job.KindOfSecret().Kind })
}

// StalePolicies reports whether policies of an earlier job of this name are still there. They go with it, and ours take their
// names then. Until ours are there, no status says that they are.
func (o Observed) StalePolicies() bool {
	return slices.ContainsFunc(o.ChildrenWithClaim(job.Stale), func(d Deletion) bool { return d.Kind == job.KindOfNetworkPolicy().Kind })
}

// hasPolicy reports whether a NetworkPolicy is there that will stay, whoever owns it.
func (o Observed) hasPolicy() bool {
	return slices.ContainsFunc(o.Children, func(child metav1.PartialObjectMetadata) bool {
		return child.Kind == job.KindOfNetworkPolicy().Kind && job.ClaimOf(o.TrainJob, &child) != job.Stale
	})
}

// HasObjectNamed reports whether an object of the kind and name is there, whoever owns it.
func (o Observed) HasObjectNamed(object job.Object) bool {
	for _, child := range o.Children {
		if child.Kind == object.GetObjectKind().GroupVersionKind().Kind && child.Name == object.GetName() {
			return true
		}
	}
	return false
}
