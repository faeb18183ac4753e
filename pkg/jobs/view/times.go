package view

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// Times of a job. Started is when its command began, or its launcher where nobody says more.
type Times struct {
	Created metav1.Time  `json:"created"`
	Started *metav1.Time `json:"started,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
}

func (s *subject) times(now phase.Phase) Times {
	t := Times{Created: s.TrainJob.CreationTimestamp}
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if s.toldTrue(kind) {
			t.Ended = s.at(kind)
		}
	}
	switch {
	case s.toldTrue(job.Running):
		t.Started = s.at(job.Running)
	case now != phase.Refused && now != phase.Creating:
		t.Started = s.launched()
	}
	return t
}

// afterEnd is how much later than its end the last lines of a job may be: the end is known to the second, and pods end behind it.
const afterEnd = time.Minute

// logsURL is where the logs of the job are kept, by what its runtime says.
func (s *subject) logsURL(t Times) string {
	if s.Runtime == nil || t.Ended == nil {
		return ""
	}
	at := func(when time.Time) string { return strconv.FormatInt(when.UnixMilli(), 10) }
	return strings.NewReplacer("{namespace}", url.QueryEscape(s.TrainJob.Namespace), "{job}", url.QueryEscape(s.TrainJob.Name),
		"{from}", at(t.Created.Time), "{to}", at(t.Ended.Add(afterEnd))).Replace(s.Runtime.Annotations[mpi.LogsAnnotation])
}

// launched is when the launcher's main container started, or its Job.
func (s *subject) launched() *metav1.Time {
	if launcher, nodes := s.pods(); launcher != nil {
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

func (s *subject) runsMPI() bool { return s.Runtime != nil && s.Runtime.IsMPI() }
