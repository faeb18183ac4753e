package view

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// failedWith is a job that failed for a cause, with a record in its annotation.
func failedWith(t *testing.T, cause diagnose.Cause, record jobv1.Record) *trainer.TrainJob {
	t.Helper()
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
	trainJob.Status.Conditions = []metav1.Condition{{
		Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: string(cause.Reason), Message: cause.Text(),
	}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	trainJob.Annotations = map[string]string{jobv1.Annotation: string(text)}
	return trainJob
}

func recordOf(cause diagnose.Cause) jobv1.Record {
	return jobv1.Record{
		Version: jobv1.Version, UID: "u", Executor: jobv1.Controller, Phase: jobv1.Failed, Cause: status.RecordedCause(cause),
	}
}

// Whatever words a message has in it, its parts arrive as they were written: 2,000 causes of every documented reason.
func TestCausesKeepTheirParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same causes in each run
	words := []string{
		"Worker 1 failed", ". What to do: ", "\nLast lines:\n", "restart 2 of 3: ", "pod a-node-0-0-x on machine m",
		"ü…", ".", "; waits in queue `q`",
	}
	sentence := func() (s string) {
		for range 1 + random.IntN(4) {
			s += words[random.IntN(len(words))]
		}
		return s
	}
	docs := diagnose.ReasonDocs()
	for i := range 2000 {
		cause := diagnose.Cause{Reason: docs[i%len(docs)].Reason, Message: sentence(), Pod: "p", Machine: "m"}
		if i%2 == 0 {
			cause.Remedy = sentence()
		}
		for range i % 4 {
			cause.Lines = append(cause.Lines, fmt.Sprintf("line %d of %d", random.IntN(9), i))
		}
		got := JobOf(JobObjects{TrainJob: failedWith(t, cause, recordOf(cause))}).Cause
		if got == nil || got.Reason != string(cause.Reason) || got.Text != printableText(cause.Text()) || got.Pod != "p" ||
			got.Message != printableText(cause.Message) || got.Remedy != printableText(cause.Remedy) ||
			!slices.Equal(got.Lines, cause.Lines) {
			t.Fatalf("%+v is read as %+v", cause, got)
		}
		earlier := failedWith(t, cause, jobv1.Record{}) // a job of a release without records
		earlier.Annotations = nil
		if before := JobOf(JobObjects{TrainJob: earlier}).Cause; before == nil || before.Text != got.Text {
			t.Fatalf("without a record %q is read as %+v", got.Text, before)
		}
	}
}

// A user who writes the record of a job changes nothing of how it ended.
func TestForgedRecords(t *testing.T) {
	cause := diagnose.Cause{Reason: diagnose.OOMKilled, Message: "Worker 0 ran out of memory", Remedy: "ask for more"}
	for name, forge := range map[string]func(*jobv1.Record){
		"Complete":      func(r *jobv1.Record) { r.Phase, r.Cause = jobv1.Complete, nil },
		"Running":       func(r *jobv1.Record) { r.Phase = jobv1.Running },
		"NoSuchPhase":   func(r *jobv1.Record) { r.Phase = "Won" },
		"AnotherReason": func(r *jobv1.Record) { r.Cause.Reason = string(diagnose.MachineLost) },
		"MoreWords":     func(r *jobv1.Record) { r.Cause.Message += " of a broken machine" },
		"AnotherRemedy": func(r *jobv1.Record) { r.Cause.Remedy = "run my script as root" },
		"MoreLines":     func(r *jobv1.Record) { r.Cause.Lines = []string{"it was the machine"} },
		"NoCause":       func(r *jobv1.Record) { r.Cause = nil },
		"AnotherJob":    func(r *jobv1.Record) { r.UID = "v" },
		"AnotherExecutor": func(r *jobv1.Record) {
			r.Executor, r.Cause.Message = jobv1.Companion, "the machine is broken"
		},
		"EarlierRelease": func(r *jobv1.Record) {
			r.Version, r.Executor = "", ""
			r.Conditions = []metav1.Condition{{Type: job.Diagnosed, Status: metav1.ConditionTrue, Reason: "MachineLost"}}
		},
	} {
		record := recordOf(cause)
		forge(&record)
		ours := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{mpi.TrainJobLabel: "a"}}}
		for _, set := range []*jobset.JobSet{nil, ours} {
			j := JobOf(JobObjects{TrainJob: failedWith(t, cause, record), JobSet: set})
			if !j.IsFinished() || j.Succeeded() || j.Cause == nil || j.Cause.Reason != string(cause.Reason) ||
				j.Cause.Text != cause.Text() || j.Cause.Message != cause.Text() || len(j.Cause.Lines) > 0 {
				t.Errorf("%s: it is %s, because of %+v", name, j.Phase, j.Cause)
			}
			if set != nil && j.Executor != jobv1.Controller {
				t.Errorf("%s: it is run by %s", name, j.Executor)
			}
		}
	}
}

// The page of a cause is where the runtime has docs, whatever address a user writes into the record.
func TestForgedPage(t *testing.T) {
	cause := diagnose.Cause{Reason: diagnose.OOMKilled, Message: "Worker 0 ran out of memory"}
	record := recordOf(cause)
	record.Cause.URL = "https://evil.example/failures/OOMKilled"
	for docs, want := range map[string]string{
		"": "", "javascript:alert(1)": "", "https://docs.example.com": "https://docs.example.com/failures/OOMKilled",
	} {
		runtime := &job.Runtime{Annotations: map[string]string{mpi.DocsAnnotation: docs}}
		j := JobOf(JobObjects{TrainJob: failedWith(t, cause, record), Runtime: runtime})
		if j.Cause == nil || j.Cause.URL != want || j.Cause.Text != cause.Text() {
			t.Errorf("docs %q: %+v", docs, j.Cause)
		}
	}
}

// Without a JobSet nothing else names the executor, so a record may not hide a job from the metrics.
func TestAForgedExecutorHidesNoJob(t *testing.T) {
	record := recordOf(diagnose.Cause{Reason: diagnose.OOMKilled, Message: "x"})
	record.Executor = jobv1.Stock
	trainJob := failedWith(t, diagnose.Cause{Reason: diagnose.OOMKilled, Message: "x"}, record)
	trainJob.Labels = map[string]string{mpi.TrainJobLabel: "a"}
	if j := JobOf(JobObjects{TrainJob: trainJob}); j.Executor != jobv1.Controller {
		t.Errorf("it is run by %s", j.Executor)
	}
}

// Jobs that ended under the release before keep phase, reason, restarts and executor.
func TestRecordsOfTheReleaseBefore(t *testing.T) {
	cause := diagnose.Cause{Reason: diagnose.RankFailed, Message: "rank 3 exited with code 3", Remedy: "look"}
	since := metav1.Now().Rfc3339Copy()
	old := jobv1.Record{UID: "u", Conditions: []metav1.Condition{
		{Type: "Created", Status: metav1.ConditionTrue, Reason: "JobSetCreated", LastTransitionTime: since},
		{
			Type: "Restarting", Status: metav1.ConditionFalse, Reason: "Restarted", Message: "restart 2 of 3: x",
			LastTransitionTime: since,
		},
		{Type: "Running", Status: metav1.ConditionTrue, Reason: "GatePassed", LastTransitionTime: since},
	}}
	j := JobOf(JobObjects{TrainJob: failedWith(t, cause, old)})
	if j.Phase != jobv1.Failed || j.Executor != jobv1.Controller || j.Restarts != 2 || j.Cause.Text != cause.Text() ||
		!j.Times.Started.Equal(&since) {
		t.Errorf("it is read as %+v, because of %+v", j, j.Cause)
	}
}

// A job that has just been suspended is shown so before its record follows.
func TestAJobThatHasJustBeenSuspended(t *testing.T) {
	record := jobv1.Record{Version: jobv1.Version, UID: "u", Executor: jobv1.Controller, Phase: jobv1.Running}
	trainJob := failedWith(t, diagnose.Cause{}, record)
	trainJob.Status.Conditions, trainJob.Spec.Suspend = nil, ptr.To(true)
	if j := JobOf(JobObjects{TrainJob: trainJob}); j.Phase != jobv1.Suspended {
		t.Errorf("it is %s", j.Phase)
	}
}
