package job

import (
	"fmt"
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const (
	// heldRetry is when to look again at what no watch tells of: an object that pods name and that is still missing.
	heldRetry = 5 * time.Second
	// quotaRetry is when to look again at a quota, which is watched.
	quotaRetry = time.Minute
	// quotaKnown is how long after its begin a job may miss news of a quota: they came before anybody knew that it waits for it.
	quotaKnown = 10 * time.Second
	// resumeTold is how long before JobSet says that it has resumed its Jobs their first pods may have been made, and how long after it
	// Jobs may still end the pods of the suspension, which they do by themselves; in whole seconds, as all these times are written.
	resumeTold = time.Second
)

// lookAgain returns when to look again at what a job waits for.
func (o Observed) lookAgain(p *problem) time.Duration {
	retry := heldRetry
	if p.reason == diagnose.QuotaExceeded && o.Now.Sub(o.begin()) > quotaKnown {
		retry = quotaRetry
	}
	return min(retry, o.untilDeadline(), o.untilGang())
}

// wanted returns the pods of a job as the namespace completes them.
func (o Observed) wanted(job Job) []podSet {
	return withDefaults(podSets(job.JobSet()), o.Bounds.Limits)
}

// impossible says why the job can never have its pods in this namespace as it is, or nil. No pod is made for it.
func (o Observed) impossible(sets []podSet) *problem {
	if text := violation(sets, o.Bounds.Limits); text != "" {
		return &problem{diagnose.LimitRangeViolated, text + ": change resourcesPerNode, or ask the platform admin for another limit"}
	}
	for _, s := range shortages(sets, o.Bounds.Quotas) {
		if s.never() {
			return &problem{diagnose.QuotaExceeded, s.String() + remedyNever(s)}
		}
	}
	return nil
}

func remedyNever(s shortage) string {
	if s.hint != "" {
		return ""
	}
	return ": ask for fewer or smaller nodes, or ask the platform admin for a larger quota"
}

// held says what the job has to wait for before its pods are made, all at once or none, or nil. A suspended job needs
// nothing yet.
func (o Observed) held(sets []podSet) *problem {
	if o.suspendWanted() {
		return nil
	}
	if len(o.Bounds.Missing) > 0 {
		return absent(o.Bounds.Missing)
	}
	if short := shortages(sets, o.Bounds.Quotas); len(short) > 0 {
		return &problem{diagnose.QuotaExceeded, short[0].String() + ": the job waits until other pods of the namespace end, or the quota is raised, and then starts by itself"}
	}
	return nil
}

// Resuming says whether a suspended job is to run again: its pods are made anew, so bounds matter as before the first ones.
func (o Observed) Resuming() bool {
	return o.Owns() && suspended(o.JobSet) && !o.suspendWanted() && !o.jobSetEnded()
}

// resumeHeld says what a job that is resumed has to wait for, or nil. Nothing makes it fail: it has run before, and may be
// suspended again.
func (o Observed) resumeHeld() *problem {
	if !o.Resuming() || o.Runtime == nil {
		return nil
	}
	job, err := Resolve(o.TrainJob, *o.Runtime)
	if err != nil {
		return nil
	}
	sets := o.wanted(job)
	if p := o.impossible(sets); p != nil {
		return &problem{p.reason, p.message + "; the job waits for it, and is then resumed by itself"}
	}
	return o.held(sets)
}

// begin is when the job was asked to run: created, resumed or restarted.
func (o Observed) begin() time.Time {
	begin := o.asked()
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, Restarting); c != nil && c.LastTransitionTime.After(begin) {
		begin = c.LastTransitionTime.Time
	}
	return begin
}

// asked is when the user, or a queue, asked for the job: it was created or resumed. A job that is being resumed in this
// very pass begins now.
func (o Observed) asked() time.Time {
	c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, "Suspended")
	switch {
	case c == nil:
		return o.TrainJob.CreationTimestamp.Time
	case c.Status == metav1.ConditionTrue:
		return o.Now
	}
	return c.LastTransitionTime.Time
}

// resumed returns when the job was resumed last, or its JobSet, which somebody may have suspended alone; zero for one that was
// never suspended or is so now.
func (o Observed) resumed() time.Time {
	var resumed time.Time
	if o.suspendWanted() {
		return resumed
	}
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended); c != nil {
		resumed = o.asked()
	}
	c := apimeta.FindStatusCondition(o.JobSet.Status.Conditions, string(jobset.JobSetSuspended))
	if c == nil || c.Status != metav1.ConditionFalse {
		return resumed
	}
	if c.LastTransitionTime.After(resumed) {
		return c.LastTransitionTime.Time
	}
	return resumed
}

// untilGang returns the time left until all pods must run, never without a limit or once they did.
func (o Observed) untilGang() time.Duration {
	if o.Runtime == nil || o.suspendWanted() || o.Runtime.GangTimeout() == 0 || o.Owns() && o.together() {
		return never
	}
	return o.begin().Add(o.Runtime.GangTimeout()).Sub(o.Now)
}

// together says whether all pods of the job have run at the same time: then the gang has started, whatever comes later. Those
// that are being deleted ran before.
func (o Observed) together() bool {
	if o.wasReady() {
		return true
	}
	pods := o.all()
	for _, pod := range pods {
		if pod.Status.Phase == "Pending" || pod.Status.Phase == "" {
			return false
		}
	}
	return len(pods) >= podCount(o.JobSet)
}

// wasReady says whether the status tells that all pods were ready once since the job was begun, resumed or restarted. The
// condition PodsReady comes with Created or earlier, a suspension and a restart take it back, and nothing but a gang that is
// ready makes it true: where it has changed after all of these, the gang was. All these times are of our own clock.
func (o Observed) wasReady() bool {
	conditions := o.TrainJob.Status.Conditions
	ready, created := apimeta.FindStatusCondition(conditions, PodsReady), apimeta.FindStatusCondition(conditions, Created)
	if ready == nil || created == nil || ready.Status == metav1.ConditionTrue {
		return ready != nil && ready.Status == metav1.ConditionTrue
	}
	return !slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		begins := c.Type == Created || c.Type == trainer.TrainJobSuspended || c.Type == Restarting
		return begins && !ready.LastTransitionTime.After(c.LastTransitionTime.Time)
	})
}

// gangOver ends a job whose pods did not come together in time. Why names what held them up, as far as it shows.
func (o Observed) gangOver(why *problem) *end {
	if o.untilGang() > 0 {
		return nil
	}
	text := fmt.Sprintf("the pods of the job did not all run within %s, which is the gang timeout of the runtime", o.Runtime.GangTimeout())
	if why != nil {
		text += ": " + why.message
	}
	return &end{reason: diagnose.GangTimeout, message: text, stop: true}
}
