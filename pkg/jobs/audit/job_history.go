package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// History makes steps of events, in the order of the log. The zero value is ready.
type History struct {
	jobs map[string]*jobState
}

// jobState is what is known of a TrainJob so far.
type jobState struct {
	suspended bool
	// shown is the newest condition that a step told.
	shown string
}

// Add returns the steps that an event is, none for one that is not about TrainJobs, only read, or told nothing new.
func (h *History) Add(e *Event) []JobStep {
	if e.ObjectRef.Resource != "trainjobs" || e.ObjectRef.APIGroup != trainer.GroupVersion.Group || e.Stage == "RequestReceived" {
		return nil
	}
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return nil
	}
	step := JobStep{Time: e.RequestReceivedTimestamp, Namespace: e.ObjectRef.Namespace, Job: e.ObjectRef.Name, By: e.Person(), Through: e.Service()}
	sent := parseRequestBody(e.RequestObject)
	if step.Job == "" {
		step.Job = sent.objectName()
	}
	if e.ResponseStatus.Code >= http.StatusBadRequest {
		if e.ResponseStatus.Code == http.StatusConflict { // asked again a moment later
			return nil
		}
		step.What, step.Detail = Refused, e.Verb+": "+e.ResponseStatus.Message
		return []JobStep{step}
	}
	switch e.Verb {
	case "create":
		return []JobStep{h.createStep(step, sent)}
	case "delete", "deletecollection":
		return []JobStep{h.deleteStep(step)}
	}
	if e.ObjectRef.Subresource != "" {
		return h.conditionSteps(step, sent)
	}
	return h.changeSteps(step, sent)
}

func (h *History) stateOf(s JobStep) *jobState {
	key := s.Namespace + "/" + s.Job
	if h.jobs == nil {
		h.jobs = map[string]*jobState{}
	}
	if h.jobs[key] == nil {
		h.jobs[key] = &jobState{}
	}
	return h.jobs[key]
}

func (h *History) createStep(s JobStep, sent requestBody) JobStep {
	delete(h.jobs, s.Namespace+"/"+s.Job) // an earlier one of the name
	s.What = Created
	if suspended, said := sent.suspendValue(); said {
		h.stateOf(s).suspended = suspended
	}
	s.Queue = sent.textAt("/metadata/labels/" + escapePointerKey(kueue.QueueLabel))
	if s.Runtime = sent.textAt("/spec/runtimeRef/name"); s.Runtime != "" {
		s.Detail = "runtime " + s.Runtime
	}
	if nodes, is := sent.valueAt("/spec/trainer/numNodes"); is {
		number, _ := nodes.(float64)
		s.Nodes = int64(number)
		s.Detail += fmt.Sprintf(", %v nodes", nodes)
	}
	return s
}

func (h *History) deleteStep(s JobStep) JobStep {
	s.What = Deleted
	if s.Job == "" {
		s.Job = everyJob
	}
	delete(h.jobs, s.Namespace+"/"+s.Job)
	return s
}

// changeSteps are the steps of a request that changed the TrainJob itself. What only says how far the job is (its record) is told as
// conditions; labels and annotations of controllers are nobody's deed.
func (h *History) changeSteps(s JobStep, sent requestBody) []JobStep {
	var steps []JobStep
	known := h.stateOf(s)
	if suspended, said := sent.suspendValue(); said && suspended != known.suspended {
		known.suspended = suspended
		s.What = Resume
		if suspended {
			s.What = Suspend
		}
		return append(steps, s)
	}
	if record := sent.textAt("/metadata/annotations/" + escapePointerKey(jobv1.Annotation)); record != "" {
		var recorded struct{ Conditions []metav1.Condition }
		if json.Unmarshal([]byte(record), &recorded) == nil {
			return h.reachedSteps(s, recorded.Conditions)
		}
	}
	if strings.HasPrefix(s.By, "system:") {
		return nil
	}
	s.What, s.Detail = Changed, strings.Join(sent.changedPaths(), ", ")
	return append(steps, s)
}

// conditionSteps are the steps of a request that wrote the status.
func (h *History) conditionSteps(s JobStep, sent requestBody) []JobStep {
	var conditions []metav1.Condition
	for _, place := range []string{"/status/conditions", "/conditions"} {
		if value, is := sent.valueAt(place); is {
			text, err := json.Marshal(value)
			if err == nil && json.Unmarshal(text, &conditions) == nil {
				break
			}
		}
	}
	return h.reachedSteps(s, conditions)
}

// told are the conditions that are steps, the last of a life first.
var told = []string{trainer.TrainJobComplete, trainer.TrainJobFailed, "Restarting", trainer.TrainJobSuspended, "Running"}

// reachedSteps is the step of the condition that a job has come to, none where that was told.
func (h *History) reachedSteps(s JobStep, conditions []metav1.Condition) []JobStep {
	for _, kind := range told {
		i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue })
		if i < 0 {
			continue
		}
		known, shown := h.stateOf(s), kind+" "+conditions[i].LastTransitionTime.UTC().String()
		if known.shown == shown {
			return nil
		}
		known.shown = shown
		s.What = kind
		s.Detail = strings.TrimSuffix(conditions[i].Reason+": "+conditions[i].Message, ": ")
		return []JobStep{s}
	}
	return nil
}
