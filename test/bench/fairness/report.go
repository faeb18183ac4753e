package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// target is the longest delay of a job of the calm tenant, in seconds.
const target = 2

// Report is what was measured.
type Report struct {
	Date  string `json:"date"`
	Cores int    `json:"cores"`
	// LoadBefore is the load average of the last minute: more than nothing means that others used the machine too.
	LoadBefore float64 `json:"loadBefore"`
	Jobs       int     `json:"jobs"`
	// JobSetsSeconds is from the first TrainJob of the noisy tenant to the last of its JobSets.
	JobSetsSeconds float64 `json:"jobSetsSeconds"`
	Alone          delays  `json:"aloneSeconds"`
	Beside         delays  `json:"besideSeconds"`
}

// delays of jobs of the calm tenant, in seconds, in the order of their creation.
type delays []float64

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s, %d cores, load %.1f before. %d jobs of the noisy tenant had their JobSets after %.1f s.\n", r.Date, r.Cores, r.LoadBefore, r.Jobs, r.JobSetsSeconds)
	_, _ = fmt.Fprintf(out, "one job of the calm tenant: alone %s, beside them %s (target: at most %d s)\n", r.Alone, r.Beside, target)
}

// Verdict is an error where a job waited too long, or none was created in time.
func (r Report) Verdict() error {
	switch {
	case len(r.Beside) == 0:
		return errors.New("no job of the calm tenant was created beside those of the noisy one")
	case slices.Max(r.Beside) > target:
		return fmt.Errorf("a job of the calm tenant waited %.1f s for its JobSet, at most %d are allowed", slices.Max(r.Beside), target)
	}
	return nil
}

func (d delays) String() string {
	if len(d) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(d))
	return fmt.Sprintf("median %.2f s, worst %.2f s of %d", sorted[len(d)/2], sorted[len(d)-1], len(d))
}
