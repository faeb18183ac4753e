package diagnose

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// references are the reasons of objects that pods name.
var references = map[string]mpi.Reason{
	"Secret":                SecretMissing,
	"ConfigMap":             ConfigMapMissing,
	"PersistentVolumeClaim": VolumeClaimMissing,
	"ServiceAccount":        ServiceAccountMissing,
}

// MissingReference is why a job is held back before its first pod: its pods name what does not exist. The kind of the first object
// gives the reason, which is the one that kubelet, scheduler or API server would give later; objects names all of them, for
// example "Secret `bucket`".
func MissingReference(kind string, objects []string) *Cause {
	reason, known := references[kind]
	if !known {
		reason = ContainerConfig
	}
	return causeWithRemedy(reason, "the pods of the job need what does not exist in this namespace: "+strings.Join(objects, ", "))
}
