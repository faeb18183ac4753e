package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// mostText is the size of the largest YAML that a job is made from. The files of a folder are in it twice.
const mostText = 512 << 10

// Choices has the names that a form offers in a namespace besides its runtimes.
type Choices struct {
	Namespace string `json:"namespace"`
	// Create is the right to make jobs.
	Create Permission `json:"create"`
	// Queue is the queue of a job that names none, empty if the user has to choose or nothing queues.
	Queue    string          `json:"queue,omitempty"`
	Queues   []string        `json:"queues"`
	Claims   []string        `json:"claims"`
	Secrets  []string        `json:"secrets"`
	Withheld []view.Withheld `json:"withheld"`
}

// ofOneNamespace returns the namespace in the query, or the user's.
func (v *visit) ofOneNamespace() (string, error) {
	if namespace := v.namespace(); namespace != "" {
		return namespace, nil
	}
	return "", badRequest{"no namespace is chosen, and a job is in one: choose a namespace"}
}

// runtimes lists the runtimes that the user's jobs may have.
func (s *Server) runtimes(v *visit) (any, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return nil, err
	}
	found, err := fetch.AvailableIn(v.Context(), v.c, namespace)
	return itemsOf(found.Runtimes, found.Withheld), err
}

// choices lists queues, claims and Secrets by name, and the right to create.
func (s *Server) choices(v *visit) (any, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return nil, err
	}
	answer := Choices{Namespace: namespace, Withheld: []view.Withheld{}}
	if answer.Create, err = v.mayCreate(v.Context(), namespace); err != nil {
		return nil, err
	}
	names := func(resource string) []string {
		list, err := fetch.ListNames(v.Context(), v.c, resource, client.InNamespace(namespace))
		if err != nil {
			answer.Withheld = append(answer.Withheld, view.Withheld{What: resource, Why: apierror.Explain(err).Message})
		}
		return listOf(list)
	}
	answer.Claims, answer.Secrets = names("persistentvolumeclaims"), names("secrets")
	queues, err := fetch.ListQueueNames(v.Context(), v.c, namespace)
	if err != nil {
		answer.Withheld = append(answer.Withheld, view.Withheld{What: "queues", Why: apierror.Explain(err).Message})
	}
	answer.Queues = listOf(queues)
	answer.Queue, _ = submit.ChooseQueue(queues, fetch.PlatformQueue, "") // empty for several
	return answer, nil
}

// mayCreate returns the right to make jobs in a namespace.
func (v *visit) mayCreate(ctx context.Context, namespace string) (Permission, error) {
	allowed, err := v.may(ctx, "create", namespace)
	if err != nil || allowed {
		return Permission{Allowed: allowed}, err
	}
	return Permission{Missing: fmt.Sprintf(
		"You may not create jobs in namespace %s: that needs the right to create trainjobs.", namespace)}, nil
}

// Check judges a job before it is made.
type Check struct {
	// Findings are mistakes in the text, with their lines. With some, nothing else is known.
	Findings []validate.Finding `json:"findings"`
	// Warnings do not keep the job from being made: a runtime that retires, ranks that share a GPU.
	Warnings []validate.Finding `json:"warnings,omitempty"`
	// Outlook is the answer of `kubectl mpi preflight`, and Summary its first line.
	Outlook *preflight.Answer `json:"outlook,omitempty"`
	Summary string            `json:"summary,omitempty"`
	// Commands make the same job elsewhere.
	Commands *submit.Commands `json:"commands,omitempty"`
}

// Created is a job that was made. In a dry run only Check is there.
type Created struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	Check     *Check    `json:"check,omitempty"`
}

// errTooManyChecks is the answer to a user who asks for more checks at a time than the limits allow.
var errTooManyChecks = errors.New("too many checks of jobs are under way, or views of the cluster")

// create makes the job of a YAML text, or only checks it.
func (s *Server) create(v *visit) (any, error) {
	document, findings, err := v.readJob()
	if err != nil {
		return nil, err
	}
	if v.URL.Query().Get("dryRun") == "true" {
		done, err := s.openCheck(v)
		if err != nil {
			return nil, err
		}
		defer done()
		check, err := v.check(document, findings)
		return Created{Check: &check}, err
	}
	if len(findings) > 0 {
		return nil, mistakes(findings)
	}
	trainJob := document.Job
	if _, err := act.CheckStart(v.Context(), v.c, trainJob); err != nil {
		return nil, err
	}
	act.Sign(v.Context(), v.c, trainJob)
	if err := v.c.Create(v.Context(), trainJob); err != nil {
		return nil, err
	}
	return Created{Namespace: trainJob.Namespace, Name: trainJob.Name, UID: trainJob.UID}, nil
}

// mistakes are findings in the text of a job that was to be made.
type mistakes []validate.Finding

func (m mistakes) Error() string {
	texts := make([]string, len(m))
	for i, f := range m {
		texts[i] = fmt.Sprintf("line %d: %s", f.Line, f.Message)
	}
	return strings.Join(texts, "; ")
}

// readJob reads the TrainJob in the body of a request, with what is wrong with it.
func (v *visit) readJob() (validate.Document, []validate.Finding, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return validate.Document{}, nil, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, v.Body, mostText))
	if err != nil {
		return validate.Document{}, nil, err
	}
	read := validate.File("job.yaml", text)
	switch {
	case len(read.Findings) > 0:
		return validate.Document{}, read.Findings, nil
	case len(read.Jobs) != 1:
		text := fmt.Sprintf("the text has %d TrainJobs, and one is made at a time", len(read.Jobs))
		return validate.Document{}, nil, badRequest{text}
	}
	document := read.Jobs[0]
	switch own := document.Job.Namespace; own {
	case "", namespace:
		document.Job.Namespace = namespace
	default:
		message := fmt.Sprintf("metadata.namespace is `%s`, and the page shows `%s`: choose the same", own, namespace)
		return document, []validate.Finding{document.PlaceMessage(message)}, nil
	}
	return document, nil, nil
}

// check finds out what would become of a job, as `kubectl mpi validate` and `preflight` do.
func (v *visit) check(document validate.Document, findings []validate.Finding) (Check, error) {
	if len(findings) > 0 {
		return Check{Findings: findings}, nil
	}
	var warnings []validate.Finding
	if runtime, err := fetch.RuntimeOf(v.Context(), v.c, document.Job); err == nil {
		for _, found := range document.CheckAgainst(*runtime) {
			if found.Warning {
				warnings = append(warnings, found)
			} else {
				findings = append(findings, found)
			}
		}
	}
	answer := Check{Findings: listOf(findings), Warnings: warnings}
	commands := submit.CommandsOf(submit.OptionsOf(document.Job))
	answer.Commands = &commands
	if len(findings) > 0 {
		return answer, nil
	}
	in, err := fetch.PreflightInput(v.Context(), v.c, document.Job)
	if err != nil {
		return Check{}, err
	}
	outlook := preflight.JudgeInput(in)
	answer.Outlook, answer.Summary = &outlook, outlook.Summary()
	return answer, nil
}

// Clone is a job like another one under a new name, which is not made yet.
type Clone struct {
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

// clone returns the YAML of a job like the one in the path, which may be gone.
func (s *Server) clone(v *visit) (any, error) {
	o, _, err := v.readObjects(v.Context())
	if err != nil {
		return nil, err
	}
	taken, err := fetch.ListNames(v.Context(), v.c, "trainjobs", client.InNamespace(o.TrainJob.Namespace))
	if err != nil && apierror.Explain(err).Kind != apierror.Forbidden {
		return nil, err
	}
	made, err := submit.CloneJob(o.TrainJob, submit.NextName(o.TrainJob.Name, taken))
	if err != nil {
		return nil, badRequest{err.Error()}
	}
	return Clone{Name: made.Name, YAML: yamlOf(submit.Manifest(made))}, nil
}
