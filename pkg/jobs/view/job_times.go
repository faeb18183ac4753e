package view

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// JobTimes of a job. Started is when its command began, or its launcher where nobody says more.
type JobTimes struct {
	Created metav1.Time  `json:"created"`
	Started *metav1.Time `json:"started,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
}

func (s *jobView) findTimes(now jobv1.Phase) JobTimes {
	t := JobTimes{Created: s.TrainJob.CreationTimestamp}
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if s.conditionIsTrue(kind) {
			t.Ended = s.conditionTime(kind)
		}
	}
	switch {
	case !s.record.Started.IsZero():
		t.Started = &s.record.Started
	case s.conditionIsTrue(job.Running):
		t.Started = s.conditionTime(job.Running)
	case now != jobv1.Refused && now != jobv1.Creating:
		t.Started = s.launcherStart()
	}
	return t
}

// afterEnd is how much later than its end the last lines of a job may be: the end is known to the second, and pods end behind it.
const afterEnd = time.Minute

// logsURL is where the logs of the job are kept, by what its runtime says.
func (s *jobView) logsURL(t JobTimes) string {
	if s.Runtime == nil || t.Ended == nil {
		return ""
	}
	at := func(when time.Time) string { return strconv.FormatInt(when.UnixMilli(), 10) }
	return strings.NewReplacer("{namespace}", url.QueryEscape(s.TrainJob.Namespace), "{job}", url.QueryEscape(s.TrainJob.Name),
		"{from}", at(t.Created.Time), "{to}", at(t.Ended.Add(afterEnd))).Replace(s.Runtime.Annotations[mpi.LogsAnnotation])
}

// launcherStart is when the launcher's main container started, or its Job.
func (s *jobView) launcherStart() *metav1.Time {
	if launcher, nodes := s.viewPods(); launcher != nil {
		return launcher.Started
	} else if !s.runsMPI() && len(nodes) > 0 {
		return nodes[0].Started
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if role := j.Labels[mpi.ReplicatedJobLabel]; role == mpi.LauncherJob || role == mpi.NodeJob && !s.runsMPI() {
			return j.Status.StartTime
		}
	}
	return nil
}

func (s *jobView) runsMPI() bool { return s.Runtime != nil && s.Runtime.IsMPI() }
