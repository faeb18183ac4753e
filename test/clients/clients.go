// Package clients says what the clients that exist make of a TrainJob: Kubeflow's SDK, OpenShift AI's dashboard and kubectl. They cannot be
// changed, and know nothing of us. Their rules are restated here from their source; tests hold what our controller writes against them.
package clients

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// SDK is the status in Kubeflow's SDK 0.5.0 (kubeflow/trainer/backends/kubernetes/backend.py) of a job of so many nodes, of which so many
// run: pods count only where there is no condition.
func SDK(conditions []metav1.Condition, nodes, running int) string {
	if len(conditions) == 0 {
		if nodes == running {
			return "Running"
		}
		return "Created"
	}
	for _, c := range conditions {
		if (c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobFailed) && c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return "Created"
}

// onDashboard are the types of conditions that the dashboard knows, and what it shows for them.
var onDashboard = map[string]string{"Complete": "Succeeded", "Failed": "Failed", "Running": "Running", "Created": "Created", "Restarting": "Restarting"}

// Dashboard is the status in OpenShift AI's dashboard of a job without a queue (opendatahub-io/odh-dashboard, packages/model-training).
// Active are child Jobs with pods.
func Dashboard(conditions []metav1.Condition, suspend bool, active int32) string {
	basic := "Unknown"
	if c := newest(conditions); c != nil {
		basic = onDashboard[c.Type]
	}
	switch {
	case basic == "Succeeded" || basic == "Failed":
		return basic
	case suspend:
		return "Paused"
	case active > 0:
		return "Running"
	}
	return cmp.Or(basic, "Unknown")
}

// newest returns the newest condition that is true, or nil.
func newest(conditions []metav1.Condition) *metav1.Condition {
	sorted := slices.Clone(conditions)
	slices.SortStableFunc(sorted, func(a, b metav1.Condition) int { return b.LastTransitionTime.Compare(a.LastTransitionTime.Time) })
	for i := range sorted {
		if sorted[i].Status == metav1.ConditionTrue {
			return &sorted[i]
		}
	}
	return nil
}

// Column is kubectl's column STATE.
func Column(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return ""
	}
	return conditions[len(conditions)-1].Type
}

// ofTrainer are the conditions that Kubeflow Trainer sets itself. What clients make of those is its affair.
var ofTrainer = []string{trainer.TrainJobSuspended, trainer.TrainJobComplete, trainer.TrainJobFailed}

// Misread says how clients would misread a status whatever the job does, nil where they would not. Ours says that our controller writes it, and not
// Kubeflow Trainer with our controller beside it.
func Misread(conditions []metav1.Condition, ours bool) error {
	if c := newest(conditions); c != nil && onDashboard[c.Type] == "" && c.Type != trainer.TrainJobSuspended { // which goes by spec.suspend
		return fmt.Errorf("the dashboard does not know %s, the newest condition that is true", c.Type)
	}
	for _, c := range conditions {
		switch {
		case ours && c.Status != metav1.ConditionTrue:
			return fmt.Errorf("the column STATE does not tell that %s is %s", c.Type, c.Status)
		case !ours && !slices.Contains(ofTrainer, c.Type):
			return fmt.Errorf("the SDK takes a job with the condition %s for one that does not run yet", c.Type)
		}
	}
	if ours && len(conditions) > 1 {
		return fmt.Errorf("clients choose differently among %d conditions", len(conditions))
	}
	return nil
}
