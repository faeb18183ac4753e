package phase

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// podsWithDefaults returns the pods of a job as the namespace completes them.
func (s Start) podsWithDefaults(made job.Job) []desired.PodSet {
	return podSetsWithDefaults(desired.PodSets(desired.JobSet(made)), s.Bounds.Limits)
}

// permanentHoldCause says why the job can never have its pods in this namespace as it is, or nil. No pod is made for it.
func (s Start) permanentHoldCause(sets []desired.PodSet) *diagnose.Cause {
	if text := limitRangeViolation(sets, s.Bounds.Limits); text != "" {
		return &diagnose.Cause{Reason: diagnose.LimitRangeViolated, Message: text + ": change resourcesPerNode, or ask the platform admin for another limit"}
	}
	for _, short := range findShortages(sets, s.Bounds.Quotas) {
		if short.isPermanent() {
			return &diagnose.Cause{Reason: diagnose.QuotaExceeded, Message: short.String() + remedyOfPermanentShortage(short)}
		}
	}
	return nil
}

func remedyOfPermanentShortage(s quotaShortage) string {
	if s.hint != "" {
		return ""
	}
	return ": ask for fewer or smaller nodes, or ask the platform admin for a larger quota"
}

// holdBeforePodsCause says what the job has to wait for before its pods are made, all at once or none, or nil. A suspended job needs
// nothing yet.
func (s Start) holdBeforePodsCause(sets []desired.PodSet) *diagnose.Cause {
	if s.SuspendWanted() {
		return nil
	}
	if len(s.Bounds.Missing) > 0 {
		return missingReferences(s.Bounds.Missing)
	}
	if short := findShortages(sets, s.Bounds.Quotas); len(short) > 0 {
		return &diagnose.Cause{Reason: diagnose.QuotaExceeded,
			Message: short[0].String() + ": the job waits until other pods of the namespace end, or the quota is raised, and then starts by itself"}
	}
	return nil
}

// holdBeforeResumeCause says what a job that is resumed has to wait for, or nil. Nothing makes it fail: it has run before, and may be
// suspended again.
func (s Start) holdBeforeResumeCause() *diagnose.Cause {
	if !s.IsResuming() || s.Runtime == nil {
		return nil
	}
	made, err := job.Resolve(s.TrainJob, *s.Runtime)
	if err != nil {
		return nil
	}
	sets := s.podsWithDefaults(made)
	if why := s.permanentHoldCause(sets); why != nil {
		why.Message += "; the job waits for it, and is then resumed by itself"
		return why
	}
	return s.holdBeforePodsCause(sets)
}

// missingReferences says what a job waits for. The first one gives the reason, all are named.
func missingReferences(references []job.ObjectReference) *diagnose.Cause {
	names := make([]string, 0, len(references))
	for _, reference := range references {
		names = append(names, reference.String())
	}
	return diagnose.MissingReference(references[0].Kind, names)
}

// namesTakenByOthers names the objects under our names that are somebody else's, and whose they are.
func (s Start) namesTakenByOthers() []string {
	var names []string
	for _, child := range s.Children {
		if job.ClaimOf(s.TrainJob, &child) == job.Foreign {
			names = append(names, job.NameWithOwner(child.Kind, &child))
		}
	}
	for _, child := range s.ChildJobs {
		if !job.IsOfJobSet(s.TrainJob, &child) {
			names = append(names, job.NameWithOwner("Job", &child))
		}
	}
	if s.JobSet != nil && job.ClaimOf(s.TrainJob, s.JobSet) == job.Foreign {
		names = append(names, job.NameWithOwner(job.KindOfJobSet().Kind, s.JobSet))
	}
	return names
}

// leftoversOfEarlierJob returns a JobSet of an earlier TrainJob and the Jobs of any earlier JobSet of this name. The new JobSet must
// not come before they are gone: it would want Jobs of the same names. The garbage collector would delete the Jobs too,
// but not before it has come by.
func (s Start) leftoversOfEarlierJob() []observe.Deletion {
	var deletions []observe.Deletion
	if s.JobSet != nil {
		deletions = append(deletions, observe.DeletionOf(job.KindOfJobSet(), s.JobSet))
	}
	for _, made := range s.Jobs {
		if job.IsOfJobSet(s.TrainJob, &made) {
			deletions = append(deletions, observe.DeletionOf(metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, &made))
		}
	}
	return deletions
}

// hasLingeringPods reports whether pods of an earlier job of this name are still there. As long as one is on a machine, its kubelet
// keeps the Secret of the earlier job, because that is immutable, and would mount it into our pods under the same name:
// they would get a key that nobody else has. A pod long past its grace is on a machine that does not answer, and where
// no pod of ours will be.
func (s Start) hasLingeringPods() bool {
	return !s.HasKeySecret() && slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		ours := !s.IsFetchPod(&pod) && owner != nil && owner.Kind == "Job" && strings.HasPrefix(owner.Name, s.TrainJob.Name+"-")
		return ours && (pod.DeletionTimestamp == nil || s.untilGivenUp(&pod) > 0)
	})
}
