package plan

import (
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// Variable is an environment variable.
type Variable struct {
	Name, Value Value[string]
	// Why is the reason that the spec gives, or "".
	Why string
}

func variables(d *decode.Document, list []v1alpha1.Variable) []Variable {
	var result []Variable
	for i := range list {
		v := Variable{
			Name: writtenValue(d, &list[i].Name), Value: orDefault(d, &list[i].Value, "a variable without a value is empty"), Why: list[i].Reason,
		}
		if v.Why != "" {
			v.Value.Why = v.Why
		}
		result = append(result, v)
	}
	return result
}
