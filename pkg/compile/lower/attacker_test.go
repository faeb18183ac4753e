package lower_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/test/attacker"
)

// How many TrainJobs the attacker writes. Of runtimes that others installed all fields are attacked twice, and parts not as often: most rules
// are the same.
const (
	tries         = 2100
	externalTries = 1400
)

// TestAttackerFindsNoWay writes each field of the TrainJob API twice, then one part of it as often as another, with values that could do
// harm, alone and with others. The oracle knows nothing of policies: it builds the pods and asks what they reach. What it calls dangerous
// must be refused.
func TestAttackerFindsNoWay(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	attackWith(t, attacker.NewOracle(t, c, "gpu"), attacker.NewServer(t, lower.PlatformObjects(c)), attacker.NamespaceOf(t, c, "vision"), tries)
}

// TestAttackerFindsNoWayByExternalRuntimes does so with a runtime of which nothing is compiled but its name.
func TestAttackerFindsNoWayByExternalRuntimes(t *testing.T) {
	c := attacker.PlanOf(t, attacker.ExternalSpecs)
	attackWith(t, attacker.NewExternalOracle(t, c), attacker.NewServer(t, lower.PlatformObjects(c)), attacker.NamespaceOf(t, c, "vision"), externalTries)
}

func attackWith(t *testing.T, o *attacker.Oracle, s *attacker.Server, vision *corev1.Namespace, tries int) {
	t.Helper()
	writer := attacker.NewWriter()
	dangerous, admitted := map[string]int{}, 0
	for try := range tries {
		written, field := writer.TrainJob(try, o.Runtime())
		dangers := o.Dangers(written)
		for _, danger := range dangers {
			kind, _, _ := strings.Cut(danger, ":")
			dangerous[kind]++
		}
		if s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, attacker.Untyped(t, written))) != "" {
			continue
		}
		if admitted++; len(dangers) > 0 {
			t.Errorf("%s, try %d: admitted, but %s", field, try, strings.Join(dangers, "; "))
		}
	}
	t.Logf("%d fields, %d admitted; dangers: %v", writer.Fields(), admitted, dangerous)
	if tries < 2*writer.Fields() || admitted < tries/10 || len(dangerous) < 18 {
		t.Errorf("%d fields, %d admitted, %d kinds of dangers: the attacker says little", writer.Fields(), admitted, len(dangerous))
	}
}
