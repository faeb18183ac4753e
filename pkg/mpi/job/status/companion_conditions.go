package status

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// CompanionConditions returns the conditions that a companion adds to those of Kubeflow Trainer, or nothing where there is nothing to say.
func CompanionConditions(f *phase.Facts, d decide.Decision, applied error) []metav1.Condition {
	over := job.IsFinished(f.TrainJob)
	if applied != nil || f.EndPublished() || over && d.End == nil || !over && f.StalePolicies() {
		return nil
	}
	c := newConditionBuilder(f, d.End)
	if why := missingPolicies(f.Observed); why != "" {
		c.add(job.Guarded, false, diagnose.NameTaken, why)
	}
	if waiting := c.state.Waiting; waiting != nil && d.End == nil {
		c.addFalse(waiting.Reason, waiting.Text(), job.PodsReady)
		c.addFalse(job.ReasonWaitingForPods, waitingForPods, job.Running)
	} else {
		c.addProgress(f, d.End)
	}
	if d.End != nil && !d.End.Succeeded {
		c.add(job.Diagnosed, true, d.End.Reason, cmp.Or(d.End.Text(), "nobody knows why"))
	}
	return c.list
}

// missingPolicies says which of what keeps strangers out is somebody else's, and what that means; the empty string when nothing is.
func missingPolicies(o observe.Observed) string {
	var found []string
	for _, child := range o.Children {
		if job.ClaimOf(o.TrainJob, &child) != job.Foreign {
			continue
		}
		switch child.Kind {
		case job.KindOfSecret().Kind:
			found = append(found, "Secret `"+child.Name+"` does not belong to this TrainJob, and Kubeflow Trainer uses it all the same: whoever made it has the key of the job")
		case job.KindOfNetworkPolicy().Kind:
			found = append(found, "NetworkPolicy `"+child.Name+"` does not belong to this TrainJob, and stands where that of the job would: nothing here keeps other pods from those of the job")
		}
	}
	if len(found) == 0 {
		return ""
	}
	return strings.Join(found, "; ") + ": delete it, and create the TrainJob again"
}
