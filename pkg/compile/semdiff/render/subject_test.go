package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// TestSamples: whom an effect happens to, in words that need no knowledge of Kubernetes' names.
func TestSamples(t *testing.T) {
	effect := func(s rule.Subject, detail string) rule.Effect {
		return rule.Effect{Subject: s, Detail: detail}
	}
	for name, test := range map[string]struct {
		reason  string
		effects []rule.Effect
		want    []string
	}{
		"object of a tenant": {
			"the group of the API and the path are for programs",
			[]rule.Effect{effect(rule.Subject{Cluster: "hpc", Tenant: "vision", Namespace: "vision", Object: "NetworkPolicy.networking.k8s.io vision/egress", Path: "spec.egress.0"}, "TCP 443")},
			[]string{"network policy egress of vision on hpc: TCP 443"},
		},
		"another namespace": {
			"a namespace is named where it is not called as its tenant",
			[]rule.Effect{effect(rule.Subject{Cluster: "lab", Tenant: "students", Namespace: "exam", Object: "LimitRange exam/limits"}, "")},
			[]string{"limit range limits of students in namespace exam on lab"},
		},
		"namespace of a tenant": {
			"the tenant says it",
			[]rule.Effect{effect(rule.Subject{Cluster: "hpc", Tenant: "vision", Namespace: "vision", Object: "Namespace vision"}, "a: 1 → 2")},
			[]string{"vision on hpc: a: 1 → 2"},
		},
		"called as its tenant": {
			"a name is said once",
			[]rule.Effect{effect(rule.Subject{Cluster: "hpc", Tenant: "vision", Object: "ClusterQueue.kueue.x-k8s.io vision"}, "64 → 48")},
			[]string{"queue of vision on hpc: 64 → 48"},
		},
		"comes as a whole": {
			"an object that is all there is to tell is told once",
			[]rule.Effect{effect(rule.Subject{Cluster: "hpc", Object: "ClusterRole.rbac.authorization.k8s.io edit"}, "ClusterRole.rbac.authorization.k8s.io edit")},
			[]string{"cluster role edit on hpc"},
		},
		"clusters": {
			"what differs in the cluster only is one line, and what differs in more is not",
			[]rule.Effect{
				effect(rule.Subject{Cluster: "a", Runtime: "small", Object: "ClusterTrainingRuntime.trainer.kubeflow.org small"}, "5 → 6"),
				effect(rule.Subject{Cluster: "b", Runtime: "small", Object: "ClusterTrainingRuntime.trainer.kubeflow.org small"}, "5 → 6"),
				effect(rule.Subject{Cluster: "c", Runtime: "small", Object: "ClusterTrainingRuntime.trainer.kubeflow.org small"}, "4 → 6"),
				effect(rule.Subject{Cluster: "d", Runtime: "small", Object: "ClusterTrainingRuntime.trainer.kubeflow.org small"}, "5 → 6"),
			},
			[]string{"runtime small on a, b and d: 5 → 6", "runtime small on c: 4 → 6"},
		},
		"nobody": {"a cluster alone", []rule.Effect{effect(rule.Subject{Cluster: "hpc"}, "x")}, []string{"on hpc: x"}},
	} {
		if diff := cmp.Diff(test.want, sampleLines(&group.Entry{Samples: test.effects})); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, test.reason, diff)
		}
	}
}

func TestWords(t *testing.T) {
	for kind, want := range map[string]string{
		"NetworkPolicy": "network policy", "Role": "role", "ClusterRoleBinding": "cluster role binding", "PersistentVolumeClaim": "volume",
		"APIService": "API service", "ConfigMap": "config map", "SSHKey": "SSH key", "": "", "x": "x",
	} {
		if got := kindWords(kind); got != want {
			t.Errorf("words(%q) = %q, want %q", kind, got, want)
		}
	}
}

func TestSeverities(t *testing.T) {
	r := &semdiff.Report{}
	r.Totals.BySeverity[rule.Critical], r.Totals.BySeverity[rule.Warning], r.Totals.BySeverity[rule.Notice], r.Totals.BySeverity[rule.Info] = 1, 3, 1, 1200
	if got := severityCounts(r); got != "1 critical, 3 warnings, 1 notice, 1,200 for information" {
		t.Error(got)
	}
}

// TestSubjectOfAStateThatDoesNotCompile: a report that compared nothing promises nothing, in every format with a heading.
func TestSubjectOfAStateThatDoesNotCompile(t *testing.T) {
	r := &semdiff.Report{Findings: group.Findings{Uncompiled: true}}
	for _, format := range []string{"markdown", "html"} {
		if text := render(t, format, r); !strings.Contains(text, "not compared") || strings.Contains(text, "no changes") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
