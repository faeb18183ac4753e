package act_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/act"
)

func TestRefuseSuspend(t *testing.T) {
	over := trainer.TrainJobStatus{Conditions: []metav1.Condition{{Type: "Complete", Status: metav1.ConditionTrue}}}
	for name, tc := range map[string]struct {
		job     trainer.TrainJob
		suspend bool
		want    string
	}{
		"runs":   {trainer.TrainJob{}, true, ""},
		"over":   {trainer.TrainJob{Status: over}, true, "cannot be suspended"},
		"resume": {trainer.TrainJob{Status: over}, false, "cannot be resumed"},
		"queued": {trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"kueue.x-k8s.io/queue-name": "lockstep"},
		}}, false, "queue `lockstep`"},
	} {
		t.Run(name, func(t *testing.T) {
			err := act.RefuseSuspend(&tc.job, tc.suspend)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
