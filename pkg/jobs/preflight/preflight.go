// Package preflight says before a job exists what would become of it: it fits now, it waits, or it can never run as it is, and then the
// largest number of nodes that could. It judges what was read and asks nobody; what could not be read is named, and never a reason to fail.
//
// Quota, LimitRange and references are judged by the code with which the controller judges the job later (phase.Preflight).
package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// Input is what was read.
type Input struct {
	TrainJob *trainer.TrainJob
	// Runtime is the one that the job names, nil where it could not be read.
	Runtime *mpijob.Runtime
	// Bounds are quotas, LimitRanges and what the job refers to and does not exist.
	Bounds observe.NamespaceBounds
	// Queue is where the job would wait, nil where nothing queues.
	Queue *QueueState
	// Denied is why the API server would not take the job, by a dry run; empty where it would.
	Denied string
	// Rights say which ones the user lacks, a sentence each.
	Rights []string
	// Machines are those on which ranks of this runtime may run, nil where they could not be read.
	Machines *MatchingMachines
	// Unseen are what could not be read, and why.
	Unseen []string
}

// QueueState is a queue of Kueue.
type QueueState struct {
	Name string
	// Missing: there is no such LocalQueue. Waiting is how many jobs wait in it, of all users.
	Missing bool
	Waiting int
}

// Verdict is what becomes of the job.
type Verdict string

// The verdicts, from the best.
const (
	Fits  Verdict = "fits"
	Waits Verdict = "waits"
	Never Verdict = "never"
)

// Finding is one thing that was looked at.
type Finding struct {
	// About is quota, limits, admission, rights, queue, machines, volumes, image, runtime, price.
	About   string  `json:"about"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Text    string  `json:"text"`
}

// Answer is the result. It is stable as JSON.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	// Position is where the job would wait in its queue, 0 where it would not.
	Position int `json:"position,omitempty"`
	// LargestNodes is how many nodes could run at once now, of the same size, 0 for none; nil where it is not known or the job fits.
	LargestNodes *int32    `json:"largestNodes,omitempty"`
	Findings     []Finding `json:"findings"`
	// Unseen are what could not be read.
	Unseen []string `json:"unseen,omitempty"`
}

// Summary is the answer in one line: `fits now`, `waits at position 3 of queue …`, `never: …`.
func (a Answer) Summary() string {
	var text string
	switch a.Verdict {
	case Fits:
		text = "fits now"
	case Waits:
		text = "waits"
		if a.Position > 0 {
			text += " at position " + strconv.Itoa(a.Position)
		}
	default:
		text = "never"
	}
	if a.LargestNodes == nil {
		return text
	}
	if *a.LargestNodes == 0 {
		return text + "; not even the smallest job of this runtime fits now"
	}
	return fmt.Sprintf("%s; the largest that fits now has %d %s", text, *a.LargestNodes, pluralOf(*a.LargestNodes, "node"))
}

func pluralOf(n int32, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// JudgeInput answers.
func JudgeInput(in Input) Answer {
	a := Answer{Verdict: Fits, Unseen: in.Unseen}
	for _, right := range in.Rights {
		a.addFinding("rights", Never, "", right)
	}
	if in.Denied != "" {
		a.addFinding("admission", Never, "", in.Denied)
	}
	switch {
	case in.Runtime == nil:
	case in.Runtime.IsMPI():
		a.addRoom(in)
	default:
		a.Unseen = append(a.Unseen, fmt.Sprintf("room: how many pods a job of runtime `%s` has, only its framework knows", in.TrainJob.Spec.RuntimeRef.Name))
	}
	a.addQueue(in.Queue)
	a.addMachines(in)
	if len(a.Findings) == 0 {
		a.addFinding("all", Fits, "", "nothing found that stops it")
	}
	a.addPrice(in)
	return a
}

// addPrice tells what an hour of the job costs, where the platform says what a node does.
func (a *Answer) addPrice(in Input) {
	if in.Runtime == nil {
		return
	}
	each, err := strconv.ParseFloat(in.Runtime.Annotations[mpi.PriceAnnotation], 64)
	nodes := nodesAsked(in)
	if err != nil || nodes == 0 {
		return
	}
	a.addFinding("price", Fits, "", fmt.Sprintf("an hour costs %.2f: %d %s at %.2f", float64(nodes)*each, nodes, pluralOf(nodes, "node"), each))
}

func (a *Answer) addFinding(about string, verdict Verdict, reason mpi.Reason, text string) {
	a.Findings = append(a.Findings, Finding{about, verdict, string(reason), text})
	if order := []Verdict{Fits, Waits, Never}; slices.Index(order, verdict) > slices.Index(order, a.Verdict) {
		a.Verdict = verdict
	}
}

// addRoom reports whether the namespace has room, and how many nodes it has room for where it has too little.
func (a *Answer) addRoom(in Input) {
	never, waits, err := phase.Preflight(in.TrainJob, *in.Runtime, in.Bounds)
	switch {
	case err != nil:
		a.addFinding("runtime", Never, reasonOf(err), err.Error())
		return
	case never != nil:
		a.addFinding(subjectOfReason(never.Reason), Never, never.Reason, never.Text())
	case waits != nil:
		a.addFinding(subjectOfReason(waits.Reason), Waits, waits.Reason, waits.Text())
	}
	if cause := firstCause(never, waits); cause != nil && cause.Reason == diagnose.QuotaExceeded {
		bounds := observe.NamespaceBounds{Quotas: in.Bounds.Quotas, Limits: in.Bounds.Limits}
		a.LargestNodes = ptr.To(largestFittingNodes(in, func(job *trainer.TrainJob) bool {
			never, waits, err := phase.Preflight(job, *in.Runtime, bounds)
			return err == nil && never == nil && waits == nil
		}))
	}
}

func firstCause(causes ...*diagnose.Cause) *diagnose.Cause {
	for _, c := range causes {
		if c != nil {
			return c
		}
	}
	return nil
}

func reasonOf(err error) mpi.Reason {
	var refusal *mpijob.Refusal
	if errors.As(err, &refusal) {
		return refusal.Reason
	}
	return ""
}

func subjectOfReason(reason mpi.Reason) string {
	switch reason {
	case diagnose.QuotaExceeded:
		return "quota"
	case diagnose.LimitRangeViolated:
		return "limits"
	}
	return "volumes"
}

// largestFittingNodes returns the largest number of nodes below that of the job for which there is room, 0 for none. Room only shrinks with nodes,
// so that it is found by halving.
func largestFittingNodes(in Input, hasRoom func(*trainer.TrainJob) bool) int32 {
	fits := func(nodes int32) bool {
		job := in.TrainJob.DeepCopy()
		if job.Spec.Trainer == nil {
			job.Spec.Trainer = &trainer.Trainer{}
		}
		job.Spec.Trainer.NumNodes = &nodes
		return hasRoom(job)
	}
	least := in.Runtime.LeastNodes()
	if !fits(least) {
		return 0
	}
	low, high := least, nodesAsked(in)
	for high-low > 1 {
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

func nodesAsked(in Input) int32 {
	made, err := mpijob.Resolve(in.TrainJob, *in.Runtime)
	if err != nil {
		return 0
	}
	return made.World.Nodes
}

func (a *Answer) addQueue(q *QueueState) {
	switch {
	case q == nil:
	case q.Missing:
		a.addFinding("queue", Never, "", fmt.Sprintf("there is no queue `%s` in the namespace: name one that there is, with --queue", q.Name))
	case q.Waiting > 0:
		a.Position = q.Waiting + 1
		a.addFinding("queue", Waits, "", fmt.Sprintf("%d %s in queue `%s`; a new one comes behind those of its priority", q.Waiting, jobsWait(q.Waiting), q.Name))
	}
}

func jobsWait(n int) string {
	if n == 1 {
		return "job waits"
	}
	return "jobs wait"
}

// Text writes the answer as people read it.
func (a Answer) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, a.Summary())
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "  %-10s%-7s%s\n", f.About, f.Verdict, f.Text)
	}
	for _, text := range a.Unseen {
		fmt.Fprintf(&b, "  not seen  %s\n", text)
	}
	return b.String()
}
