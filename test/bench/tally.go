package bench

import "fmt"

// maxFailures are listed whole: more say no more.
const maxFailures = 20

// Tally is how far a number of jobs has come. They are all through when Complete and Failed are Jobs.
type Tally struct {
	Jobs    int `json:"jobs"`
	Created int `json:"created"`
	// Complete did what was asked; Failed did not.
	Complete int `json:"complete"`
	Failed   int `json:"failed"`
	// Failures are those of the first 20 that failed.
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is why one job failed.
type Failure struct {
	Job string `json:"job"`
	// Reason is that of the job's terminal condition; empty where it had none.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// RecordEnd counts a job that has ended, with what was wrong with it or nil.
func (t *Tally) RecordEnd(failure *Failure) {
	if failure == nil {
		t.Complete++
		return
	}
	t.RecordFailure(*failure)
}

// RecordFailure counts a job that failed.
func (t *Tally) RecordFailure(f Failure) {
	t.Failed++
	if len(t.Failures) < maxFailures {
		t.Failures = append(t.Failures, f)
	}
}

// Done says that every job has ended.
func (t *Tally) Done() bool { return t.Complete+t.Failed == t.Jobs }

// Progress is one line; jobs that run are those that were created and have not ended.
func (t *Tally) Progress() string {
	return fmt.Sprintf("%d created, %d running, %d complete, %d failed of %d jobs", t.Created, t.Created-t.Complete-t.Failed, t.Complete, t.Failed, t.Jobs)
}

// Err is an error when jobs failed.
func (t *Tally) Err() error {
	if t.Failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d jobs failed, the first: %s", t.Failed, t.Jobs, t.Failures[0])
}

func (f Failure) String() string {
	if f.Reason == "" {
		return f.Job + ": " + f.Message
	}
	return fmt.Sprintf("%s (%s): %s", f.Job, f.Reason, f.Message)
}
