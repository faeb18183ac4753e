package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync/atomic"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/bundle/gather"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// Detail is one job, and what the user may do to it.
type Detail struct {
	Job Job `json:"job"`
	// Kept: the job is gone, and this is from the history.
	Kept     bool                  `json:"kept,omitempty"`
	Actions  map[string]Permission `json:"actions,omitempty"`
	Withheld []view.Withheld       `json:"withheld"`
}

// Permission is whether an action may be done, or what is missing for it.
type Permission struct {
	Allowed bool   `json:"allowed"`
	Missing string `json:"missing,omitempty"`
}

// detail returns one job.
func (s *Server) detail(v *visit) (any, error) { return v.readDetail(v.Context(), &rights{}) }

func (v *visit) readDetail(ctx context.Context, known *rights) (Detail, error) {
	o, found, err := v.readObjects(ctx)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Job: jobOf(o), Kept: found != nil, Withheld: listOf(o.Withheld)}
	if !d.Kept {
		d.Actions, err = v.actions(ctx, known, o.TrainJob)
	}
	return d, err
}

// rights of a user on the TrainJobs of a namespace, by verb, as they were at a time.
type rights struct {
	at      time.Time
	allowed map[string]bool
}

// rightsLast is how long rights are believed that only enable buttons.
const rightsLast = 15 * time.Second

func (r *rights) read(ctx context.Context, v *visit, namespace string) error {
	if time.Since(r.at) < rightsLast {
		return nil
	}
	allowed := map[string]bool{}
	for _, verb := range []string{"patch", "delete"} {
		var err error
		if allowed[verb], err = v.may(ctx, verb, namespace); err != nil {
			return err
		}
	}
	r.at, r.allowed = time.Now(), allowed
	return nil
}

// actions returns what the user may do: the state of the job and the rights of the user decide.
func (v *visit) actions(ctx context.Context, known *rights, trainJob *trainer.TrainJob) (map[string]Permission, error) {
	if err := known.read(ctx, v, trainJob.Namespace); err != nil {
		return nil, err
	}
	all := map[string]Permission{}
	for action, verb := range map[string]string{"suspend": "patch", "resume": "patch", "delete": "delete"} {
		p := Permission{Allowed: known.allowed[verb]}
		if !p.Allowed {
			p.Missing = fmt.Sprintf("You may not %s jobs in namespace %s: that needs the right to %s trainjobs.",
				action, trainJob.Namespace, verb)
		} else if action != "delete" {
			if refused := act.RefuseSuspend(trainJob, action == "suspend"); refused != nil {
				p = Permission{Missing: refused.Error()}
			}
		}
		all[action] = p
	}
	return all, nil
}

// may asks whether the user has a right on the TrainJobs of a namespace, empty for all.
func (v *visit) may(ctx context.Context, verb, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: trainer.GroupVersion.Group, Resource: "trainjobs",
		},
	}}
	err := v.c.Create(ctx, review)
	return review.Status.Allowed, err
}

// streamJob sends a job after each of its changes, until it is gone.
func (s *Server) streamJob(v *visit, out *stream) error {
	key, known := v.key(), &rights{}
	var over atomic.Bool
	source := feedSource{
		look: func(ctx context.Context) (any, error) {
			d, err := v.readDetail(ctx, known)
			over.Store(err == nil && d.Job.IsFinished())
			return d, err
		},
		c: v.c, every: func() time.Duration {
			if over.Load() {
				return s.limits.Look
			}
			return s.limits.Pods
		},
		options: []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}},
	}
	var sent string
	err := s.feeds.follow(v.Context(), v.user.Key+"\njob\n"+key.String(), source, func(state feedState) error {
		if state.trouble != nil {
			sent = "" // afterwards all is sent again
			return out.send("trouble", failureOf(state.trouble))
		}
		text := fingerprint(state.value)
		if text == sent {
			return nil
		}
		sent = text
		return out.send("job", state.value)
	})
	if apierrors.IsNotFound(err) && out.hasBegun() {
		return out.send("gone", struct{}{})
	}
	return err
}

// fingerprint differs for different values.
func fingerprint(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // types of this package
	}
	return string(text)
}

// events returns the events of a job, the oldest first.
func (s *Server) events(v *visit) (any, error) {
	gone := v.c.Get(v.Context(), v.key(), &trainer.TrainJob{})
	if found, err := v.keptIfGone(v.Context(), gone); err != nil {
		return nil, err
	} else if found != nil {
		return itemsOf(found.Objects.Events, nil), nil
	}
	list, err := fetch.ReadEvents(v.Context(), v.c, v.key())
	if e := apierror.Explain(err); e.Kind == apierror.Forbidden {
		return itemsOf[fetch.JobEvent](nil, []view.Withheld{{What: "events", Why: e.Message}}), nil
	} else if err != nil {
		return nil, err
	}
	return itemsOf(list, nil), nil
}

// Configuration is a job as it was submitted, its pods as they are made, and how these differ from the runtime.
type Configuration struct {
	// Submitted is the TrainJob without its status and the record of the controller.
	Submitted string `json:"submitted"`
	// AsRun is the JobSet of the job, empty while there is none and of a job that is gone.
	AsRun string `json:"asRun,omitempty"`
	// Diff is a unified difference between the template of the runtime and the JobSet.
	Diff     string          `json:"diff,omitempty"`
	Withheld []view.Withheld `json:"withheld"`
}

// configuration returns the objects of a job as YAML.
func (s *Server) configuration(v *visit) (any, error) {
	o, found, err := v.readObjects(v.Context())
	if err != nil {
		return nil, err
	}
	job := &trainer.TrainJob{
		TypeMeta: metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.TrainJob.Name, Namespace: o.TrainJob.Namespace, Labels: o.TrainJob.Labels,
			Annotations: maps.Clone(o.TrainJob.Annotations),
		},
		Spec: o.TrainJob.Spec,
	}
	delete(job.Annotations, jobv1.Annotation)
	answer := Configuration{Submitted: yamlOf(job), Withheld: listOf(o.Withheld)}
	if o.JobSet == nil || found != nil {
		return answer, nil
	}
	answer.AsRun = yamlOf(o.JobSet.Spec)
	if o.Runtime != nil {
		answer.Diff, err = difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: difflib.SplitLines(yamlOf(o.Runtime.Spec.Template.Spec)), FromFile: "runtime",
			B: difflib.SplitLines(answer.AsRun), ToFile: "as run", Context: 3,
		})
	}
	return answer, err
}

func yamlOf(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // objects of the API
	}
	return string(text)
}

// usage returns how much the pods of a job use now.
func (s *Server) usage(v *visit) (any, error) {
	gone := v.c.Get(v.Context(), v.key(), &trainer.TrainJob{})
	if _, err := v.keptIfGone(v.Context(), gone); err != nil {
		return nil, err
	}
	list, hidden, err := fetch.UsageOf(v.Context(), v.c, v.key())
	if apierror.Explain(err).Kind == apierror.NoKind {
		why := "this cluster does not serve metrics.k8s.io: ask its admin for metrics-server"
		return itemsOf[fetch.PodUsage](nil, []view.Withheld{{What: "usage", Why: why}}), nil
	} else if err != nil {
		return nil, err
	}
	return itemsOf(list, hidden), nil
}

// bundle packs an archive about a job for a person who helps.
func (s *Server) bundle(v *visit) (any, error) {
	job := &trainer.TrainJob{}
	if err := v.c.Get(v.Context(), v.key(), job); err != nil {
		return nil, err
	}
	b, err := gather.Bundle(v.Context(), v.c, v.core, job, "dashboard "+s.version)
	return attachment{
		name: job.Name + ".tar.gz", kind: "application/gzip",
		write: func(w io.Writer) error { return b.WriteArchive(w, time.Now()) },
	}, err
}

// Done confirms an action.
type Done struct {
	Message string `json:"message"`
}

// act suspends, resumes or deletes a job.
func (s *Server) act(v *visit) (any, error) {
	key, action, uid := v.key(), v.PathValue("action"), types.UID(v.URL.Query().Get("uid"))
	switch action {
	case "suspend", "resume":
		changed, err := act.Suspend(v.Context(), v.c, key, uid, action == "suspend")
		if err != nil {
			return nil, err
		}
		if !changed {
			return Done{fmt.Sprintf("`%s` was so already.", key.Name)}, nil
		}
	case "delete":
		if err := act.Delete(v.Context(), v.c, key, uid, false); err != nil {
			return nil, err
		}
	default:
		return nil, badRequest{fmt.Sprintf("there is no action `%s`: suspend, resume, delete", action)}
	}
	return Done{fmt.Sprintf("`%s`: %s is under way.", key.Name, action)}, nil
}
