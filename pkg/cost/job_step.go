package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// JobStep is what is read of a step of a job's life, as pkg/jobs/audit tells it.
type JobStep struct {
	Time                 time.Time
	Namespace, Job, What string
	By                   string
	Runtime, Queue       string
	// Nodes is 0 for as many as the runtime has.
	Nodes int64
}

// ReadJobSteps reads a list of steps, and sorts them by time.
func ReadJobSteps(in io.Reader) ([]JobStep, error) {
	var list struct{ Items *[]JobStep }
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return nil, fmt.Errorf("read the steps of jobs: %w", err)
	}
	if list.Items == nil {
		return nil, fmt.Errorf("read the steps of jobs: there is no list of `items`, as `kubectl mpi audit -o json` prints it")
	}
	steps := *list.Items
	slices.SortStableFunc(steps, func(a, b JobStep) int { return a.Time.Compare(b.Time) })
	return steps, nil
}
