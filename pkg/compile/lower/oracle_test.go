package lower_test

import (
	"maps"
	"slices"
	"testing"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/attacker"
)

// TestOracle: the runtime itself and honest jobs are not dangerous, or the oracle would prove little.
func TestOracle(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	for _, o := range []*attacker.Oracle{attacker.NewOracle(t, c, "gpu"), attacker.NewExternalOracle(t, c)} {
		for _, name := range slices.Sorted(maps.Keys(honest)) {
			written := attacker.Decoded[trainer.TrainJob](t, job(t, honest[name]).Object)
			if found := o.Dangers(written); len(found) > 0 && (o.Runtime() == "gpu" || name != "OwnProfile") {
				t.Errorf("%s with %s: %v", name, o.Runtime(), found)
			}
		}
	}
}
