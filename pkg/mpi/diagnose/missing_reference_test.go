package diagnose

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

// What does not exist has the same reason before the first pod as after it, and one text: what is missing and what to do.
func TestAbsent(t *testing.T) {
	for kind, want := range map[string]mpi.Reason{
		"Secret": SecretMissing, "ConfigMap": ConfigMapMissing, "PersistentVolumeClaim": VolumeClaimMissing, "ServiceAccount": ServiceAccountMissing,
	} {
		got := MissingReference(kind, []string{kind + " `a`", "Secret `b`"})
		if got.Reason != want || !strings.Contains(got.Text(), "this namespace: "+kind+" `a`, Secret `b`. What to do: create the ") {
			t.Errorf("%s: want %s, got %s: %s", kind, want, got.Reason, got.Text())
		}
	}
}
