package mpi

import "strings"

// Upstream marks a runtime as deprecated by SupportLabel with the value Deprecated (kubeflow/trainer pkg/constants);
// the annotations have its end: a runtime, a day as 2027-03-31, and a sentence.
const (
	SupportLabel                = "trainer.kubeflow.org/support"
	Deprecated                  = "deprecated"
	SuccessorAnnotation         = "lockstep.dev/successor"
	RetireOnAnnotation          = "lockstep.dev/retire-on"
	DeprecationReasonAnnotation = "lockstep.dev/deprecation-reason"
)

// Deprecation is the announced end of a runtime. Each part may be empty.
type Deprecation struct {
	Deprecated bool `json:"deprecated,omitempty"`
	// Successor is a runtime to use instead, RetireOn the last day.
	Successor string `json:"successor,omitempty"`
	RetireOn  string `json:"retireOn,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// DeprecationOf reads the end of a runtime from its labels and annotations.
func DeprecationOf(labels, annotations map[string]string) Deprecation {
	return Deprecation{
		labels[SupportLabel] == Deprecated,
		annotations[SuccessorAnnotation], annotations[RetireOnAnnotation], annotations[DeprecationReasonAnnotation],
	}
}

// Warning returns a sentence for people who submit to a runtime, empty unless it is deprecated. An admission policy
// (pkg/compile/lower, deprecated_runtime_policy.go) and Python (_checks.py) use the same words.
func (d Deprecation) Warning(runtime string) string {
	if !d.Deprecated {
		return ""
	}
	text := "runtime `" + runtime + "` is deprecated"
	if d.RetireOn != "" {
		text += " and retires on " + d.RetireOn
	}
	if d.Successor != "" {
		text += "; use `" + d.Successor + "` instead"
	}
	if d.Reason != "" {
		text += ": " + strings.ReplaceAll(strings.TrimSpace(d.Reason), "\n", " ")
	}
	return text
}
