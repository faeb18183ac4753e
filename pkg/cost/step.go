package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Step is what is read of a step of a job's life, as pkg/jobs/audit tells it.
type Step struct {
	Time                 time.Time
	Namespace, Job, What string
	By                   string
	Runtime, Queue       string
	// Nodes is 0 for as many as the runtime has.
	Nodes int64
}

// ReadSteps reads a list of steps, and sorts them by time.
func ReadSteps(in io.Reader) ([]Step, error) {
	var list struct{ Items *[]Step }
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return nil, fmt.Errorf("read the steps of jobs: %w", err)
	}
	if list.Items == nil {
		return nil, fmt.Errorf("read the steps of jobs: there is no list of `items`, as `kubectl mpi audit -o json` prints it")
	}
	steps := *list.Items
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Time.Compare(b.Time) })
	return steps, nil
}
