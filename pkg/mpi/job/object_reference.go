package job

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObjectReference is something that pods name and that must exist before they can start.
type ObjectReference struct{ Kind, Name string }

// String names it for users.
func (r ObjectReference) String() string { return r.Kind + " `" + r.Name + "`" }

// TypeMeta returns the kind as the API knows it; all are of the core group.
func (r ObjectReference) TypeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind}
}
