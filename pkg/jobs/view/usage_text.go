package view

import (
	"fmt"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// UsageCells are the cells of a wide list about the use of a job, `-` if nothing is known.
type UsageCells struct {
	// MachineHours are a number such as `0.53`, Cost is their price.
	MachineHours, Cost string
	// Memory is the peak of the pod that needed most, and its limit: `3.97 GiB of 4 GiB`.
	Memory string
	// CPU is the mean of busy processors in each pod, Network how much all pods sent.
	CPU, Network string
}

// UsageCells describes what a job has used until now.
func (j Job) UsageCells(now time.Time) UsageCells {
	c := UsageCells{none, none, none, none, none}
	u := j.Usage
	if u == nil || j.World == nil {
		return c
	}
	hours := u.MachineHours(j.World.Nodes, now)
	c.MachineHours = fmt.Sprintf("%.2f", hours)
	if hours < 0.1 {
		c.MachineHours = fmt.Sprintf("%.4f", hours)
	}
	if u.NodePrice > 0 {
		c.Cost = fmt.Sprintf("%.2f", hours*u.NodePrice)
	}
	if u.Pods == 0 {
		return c
	}
	c.Memory = mpi.FormatBytes(u.MemoryPeak)
	if u.MemoryLimit > 0 {
		c.Memory += " of " + mpi.FormatBytes(u.MemoryLimit)
	}
	c.CPU, c.Network = fmt.Sprintf("%.1f", u.CPUPerPod), mpi.FormatBytes(u.SentBytes)
	return c
}

// UsedText has all of it in a line, empty if nothing is known.
func (j Job) UsedText(now time.Time) string {
	c := j.UsageCells(now)
	if c.MachineHours == none {
		return ""
	}
	text := c.MachineHours + " machine-hours"
	if c.Cost != none {
		text += ", cost " + c.Cost
	}
	if j.Usage.Pods > 0 {
		text += fmt.Sprintf(", memory %s (%s), CPU %s per pod, %s sent", c.Memory, j.Usage.MemoryPod, c.CPU, c.Network)
	}
	return text
}
