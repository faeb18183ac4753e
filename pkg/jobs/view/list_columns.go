package view

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// none stands where there is nothing to say.
const none = "-"

// ListColumns are the cells of one job in a list. The Python package and a dashboard have the same ones.
type ListColumns struct {
	Name     string `json:"name"`
	Runtime  string `json:"runtime"`
	State    string `json:"state"`
	Ready    string `json:"ready"`
	Slots    string `json:"slots"`
	Progress string `json:"progress"`
	Queue    string `json:"queue"`
	Duration string `json:"duration"`
	Age      string `json:"age"`
}

// ColumnHeadings are those of ListColumns, in order.
func ColumnHeadings() []string {
	return []string{"NAME", "RUNTIME", "STATE", "READY", "SLOTS", "PROGRESS", "QUEUE", "DURATION", "AGE"}
}

// Cells returns the columns in the order of ColumnHeadings.
func (c ListColumns) Cells() []string {
	return []string{c.Name, c.Runtime, c.State, c.Ready, c.Slots, c.Progress, c.Queue, c.Duration, c.Age}
}

// Columns returns the cells of a job.
func (j Job) Columns(now time.Time) ListColumns {
	c := ListColumns{
		Name: j.Name, Runtime: j.Runtime.Name, State: string(j.Phase), Ready: none, Slots: j.Slots(), Progress: none, Queue: none, Duration: none,
		Age: duration.HumanDuration(max(0, now.Sub(j.Times.Created.Time))),
	}
	if j.Runtime.MPI {
		c.Runtime += " (MPI)"
	}
	if j.Cause != nil {
		c.State += ": " + j.Cause.Reason
	}
	if j.Pods != nil {
		c.Ready = fmt.Sprintf("%d/%d", j.Pods.Ready, j.Pods.Want)
	}
	if j.Progress != nil && j.Progress.Percent != nil {
		c.Progress = fmt.Sprintf("%d%%", *j.Progress.Percent)
	}
	if j.Queue != nil {
		c.Queue = j.Queue.Name
		if j.Queue.Position > 0 {
			c.Queue += " #" + strconv.Itoa(j.Queue.Position)
		}
	}
	if j.Times.Started != nil {
		c.Duration = duration.HumanDuration(j.Duration(now))
	}
	return c
}
