package isolation_test

import (
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// externalSpecs let a tenant use a runtime that others installed.
var externalSpecs = strings.NewReplacer("  platform: Kubernetes\n", "  platform: Kubernetes\n  executor: KubeflowTrainer\n", "  namespaces: [speech]\n", "  namespaces: [speech]\n  externalRuntimes: [torch-distributed]\n").Replace(specs)

// TestExternalJobs: pods of JobSets without the label of compiled runtimes reach each other, nobody else, and in no namespace but their own.
func TestExternalJobs(t *testing.T) {
	s := prooftest.CompileSample(t, externalSpecs, nil)
	found, reach := prove(s, s.Objects)
	if len(found) > 0 {
		t.Fatalf("not isolated: %s", found[0].Message)
	}
	const pods = "jobset.sigs.k8s.io/jobset-name,!lockstep.dev/mpi-implementation"
	jobs := isolation.Flow{Pods: pods, Namespaces: isolation.Own, Peers: pods, Ports: "all ports"}
	for _, r := range reach.Of {
		if got := slices.Contains(r.Ingress, jobs) && slices.Contains(r.Egress, jobs); got != (r.Tenant == "speech") {
			t.Errorf("%s: in %v, out %v", r.Namespace, r.Ingress, r.Egress)
		}
	}
}

// TestExternalJobMutations breaks the policy that opens it, in every way that is known here.
func TestExternalJobMutations(t *testing.T) {
	s := prooftest.CompileSample(t, externalSpecs, nil)
	i := slices.IndexFunc(s.Objects, func(o object.Object) bool { return o.ID.Name == "lockstep-external-jobs" })
	all := mutations(s.Objects[i])
	for _, m := range all {
		objects := slices.Clone(s.Objects)
		objects[i] = m.object
		if m.object.Root.Kind == object.Nothing {
			objects = prooftest.WithoutObject(s.Objects, i)
		}
		said, _ := prove(s, objects)
		// Without types a policy is about what it has rules for.
		if harmless := m.name == "drop policyTypes"; (len(said) == 0) != harmless {
			t.Errorf("%s: %d findings", m.name, len(said))
		}
	}
	if len(all) < 40 {
		t.Errorf("only %d mutations", len(all))
	}
}

// TestExternalJobsNotDeclared: the same opening for a tenant that uses no such runtime is more than its spec says.
func TestExternalJobsNotDeclared(t *testing.T) {
	s, plain := prooftest.CompileSample(t, externalSpecs, nil), prooftest.CompileSample(t, strings.Replace(externalSpecs, "  externalRuntimes: [torch-distributed]\n", "", 1), nil)
	said, _ := prove(prooftest.Sample{Plan: plain.Plan}, s.Objects)
	if len(said) == 0 || slices.ContainsFunc(said, func(d *diag.Diagnostic) bool { return d.Code != diag.OpensMore }) {
		t.Errorf("%v", said)
	}
}
