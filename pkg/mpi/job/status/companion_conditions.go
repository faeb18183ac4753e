package status

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// ComputeBeside returns the conditions that a companion adds to those of Kubeflow Trainer, and the record of the job;
// nothing if there is nothing to add.
func ComputeBeside(f *phase.Facts, d decide.Decision, applied error) ([]metav1.Condition, *jobv1.Record) {
	c := companionConditions(f, d, applied)
	if len(c.list) == 0 {
		return nil, nil
	}
	all := slices.Clone(f.TrainJob.Status.Conditions)
	for _, ours := range c.list {
		all = append(slices.DeleteFunc(all, func(old metav1.Condition) bool { return old.Type == ours.Type }), ours)
	}
	r := newRecord(f, d, all, c.causes)
	// Its status is Kubeflow Trainer's, and stays in the status.
	r.Conditions = slices.DeleteFunc(r.Conditions, func(c metav1.Condition) bool {
		return slices.ContainsFunc(f.Shown, func(shown metav1.Condition) bool { return shown.Type == c.Type })
	})
	return c.list, &r
}

func companionConditions(f *phase.Facts, d decide.Decision, applied error) *conditionBuilder {
	over := job.IsFinished(f.TrainJob)
	if applied != nil || f.EndPublished() || over && d.End == nil || !over && f.StalePolicies() {
		return &conditionBuilder{}
	}
	c := newConditionBuilder(f, d.End)
	if why := missingPolicies(f.Observed); why != "" {
		c.add(job.Guarded, false, diagnose.NameTaken, why)
	}
	if waiting := c.state.Waiting; waiting != nil && d.End == nil {
		c.addCause(job.PodsReady, false, "", *waiting)
		c.addFalse(job.ReasonWaitingForPods, waitingForPods, job.Running)
	} else {
		c.addProgress(f, d.End)
	}
	if d.End != nil && !d.End.Succeeded {
		why := d.End.Full()
		why.Message = cmp.Or(why.Message, "nobody knows why")
		c.addCause(job.Diagnosed, true, "", withPage(f, why))
	}
	return c
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
