package plan

import (
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
)

// Waiver accepts a finding for a while.
type Waiver struct {
	Code, About, Reason, Expires Value[string]
}

func waivers(d *decode.Document, list []v1alpha1.Waiver) []Waiver {
	var result []Waiver
	for i := range list {
		w := &list[i]
		result = append(result, Waiver{
			Code: writtenValue(d, &w.Code), About: writtenValue(d, &w.About), Reason: writtenValue(d, &w.Reason), Expires: writtenValue(d, &w.Expires),
		})
	}
	return result
}
