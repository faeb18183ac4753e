package lower

import (
	"testing"

	"github.com/google/cel-go/cel"
)

// TestQueueWorks asks the expression by which Flux judges queues of Kueue about the conditions that Kueue writes
// (https://github.com/kubernetes-sigs/kueue/blob/v0.16.1/pkg/controller/core/localqueue_controller.go).
func TestQueueWorks(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Compile(queueWorks)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	condition := func(status, reason string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Active", "status": status, "reason": reason}}}
	}
	for name, c := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"Kueue has not looked at it": {map[string]any{}, false},
		"active":                     {condition("True", "Ready"), true},
		"stopped":                    {condition("False", "Stopped"), true},
		"of a stopped ClusterQueue":  {condition("False", "ClusterQueueIsInactive"), true},
		"without its machines":       {condition("False", "FlavorNotFound"), false},
		"another condition":          {map[string]any{"conditions": []any{map[string]any{"type": "Pending", "status": "True"}}}, false},
	} {
		got, _, err := program.Eval(map[string]any{"status": c.status})
		if err != nil || got.Value() != c.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}
