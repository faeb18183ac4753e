package status

import (
	"math"
	"strconv"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// usageOf returns how much the job of a new record has used, given its record before. As in a bill, it has its machines
// from the start of its command, also while it is started again, until it is suspended or over.
func usageOf(f *phase.Facts, r, before jobv1.Record, all []metav1.Condition) *jobv1.Usage {
	if before.Phase.IsFinal() {
		return before.Usage
	}
	var u jobv1.Usage
	if before.Usage != nil {
		u = *before.Usage
	}
	over := r.Phase.IsFinal()
	if running := apimeta.FindStatusCondition(all, job.Running); u.Since.IsZero() {
		switch {
		case running != nil && running.Status == metav1.ConditionTrue:
			u.Since = running.LastTransitionTime
		case over && !r.Started.Equal(&before.Started):
			u.Since = r.Started // it ended before that was seen
		}
	}
	if !u.Since.IsZero() && r.World != nil && (over || f.SuspendWanted()) {
		u.MachineSeconds += int64(r.World.Nodes) * max(0, int64(endOf(all, f.Now).Sub(u.Since.Time)/time.Second))
		u.Since = metav1.Time{}
	}
	if u == (jobv1.Usage{}) {
		return nil
	}
	if f.Runtime != nil {
		u.NodePrice = priceOf(f.Runtime.Annotations[mpi.PriceAnnotation])
	}
	if verdict := f.Run.Verdict(); over && verdict != nil && verdict.Usage != nil {
		v := verdict.Usage
		u.Pods, u.CPUPerPod, u.SentBytes = max(0, v.Pods), max(0, v.CPUPerPod), max(0, v.SentBytes)
		u.MemoryPeak, u.MemoryLimit = max(0, v.MemoryPeak), max(0, v.MemoryLimit)
		host, _, _ := strings.Cut(v.Host, ".")
		u.MemoryPod = ClipMessage(host, 63)
	}
	return &u
}

// priceOf reads the price of a node in an hour, 0 for none. Tenants may make runtimes too.
func priceOf(text string) float64 {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price > 0) || math.IsInf(price, 0) {
		return 0
	}
	return price
}

// endOf is when a job ended, now if it has not.
func endOf(all []metav1.Condition, now time.Time) time.Time {
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := apimeta.FindStatusCondition(all, kind); c != nil && c.Status == metav1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return now
}
