package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"lockstep.dev/lockstep/pkg/history/store"
	"lockstep.dev/lockstep/pkg/jobs/kept"
)

var (
	resource = kept.GroupVersion.WithResource(kept.Resource).GroupResource()
	requests = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("apis")}
	// discovery lists what the group serves. Clients ask for it first.
	discovery = metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{
			APIVersion: "v1",
			Kind:       "APIResourceList",
		},
		GroupVersion: kept.GroupVersion.String(),
		APIResources: []metav1.APIResource{
			{
				Name:         kept.Resource,
				SingularName: "keptjob",
				Kind:         kept.Kind,
				Namespaced:   true,
				Verbs:        metav1.Verbs{"delete", "get", "list"},
			},
			{Name: kept.Resource + "/log", Kind: kept.Kind, Namespaced: true, Verbs: metav1.Verbs{"get"}},
		},
	}
	success = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
)

// server is the aggregated API. It believes only the API server, which names the user, and lets RBAC decide. The
// filters of k8s.io/apiserver that ask the same link CEL and the rest of an API server: 270 packages, for the review
// of access below.
type server struct {
	callers authenticator.Request
	access  authorizationclient.SubjectAccessReviewsGetter
	store   *store.Store
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(w, r)
	if err != nil {
		var known apierrors.APIStatus
		if !errors.As(err, &known) {
			known = apierrors.NewInternalError(err)
		}
		status := known.Status()
		status.TypeMeta = success.TypeMeta
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		answer = status
	}
	if answer != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // whoever asked has gone
	}
}

// answer returns a value for JSON, or nil for a log, which it writes itself.
func (s *server) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	caller, known, err := s.callers.AuthenticateRequest(r)
	if err != nil || !known {
		return nil, apierrors.NewUnauthorized("only the API server of the cluster may ask here")
	}
	info, err := requests.NewRequestInfo(r)
	switch {
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	case info.Path == "/apis/"+kept.GroupVersion.String():
		return discovery, nil
	case info.APIGroup != kept.GroupVersion.Group || info.Resource != kept.Resource:
		return nil, apierrors.NewNotFound(resource, info.Path)
	}
	if err := s.authorize(r.Context(), caller.User, info); err != nil {
		return nil, err
	}
	if info.Verb == "list" {
		return s.list(r, info.Namespace)
	}
	found := s.store.List(func(j *kept.Job) bool { return j.Namespace == info.Namespace && j.Name == info.Name })
	if len(found) == 0 {
		return nil, apierrors.NewNotFound(resource, info.Name)
	}
	switch info.Verb + "/" + info.Subresource {
	case "get/":
		return s.store.Get(found[0].UID)
	case "get/log":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		return nil, s.store.CopyLog(w, &found[0])
	case "delete/":
		return success, s.remove(r, &found[0])
	}
	return nil, apierrors.NewMethodNotSupported(resource, info.Verb)
}

// authorize asks the API server whether a user may.
func (s *server) authorize(ctx context.Context, who user.Info, info *apirequest.RequestInfo) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range who.GetExtra() {
		extra[name] = values
	}
	review, err := s.access.SubjectAccessReviews().Create(
		ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: info.Verb, Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource,
				Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
			},
		}},
		metav1.CreateOptions{},
	)
	if err == nil && !review.Status.Allowed {
		// As RBAC writes it, because clients read the right that lacks.
		refused := `User %q cannot %s resource %q in API group %q in the namespace %q`
		err = apierrors.NewForbidden(resource, info.Name,
			fmt.Errorf(refused, who.GetName(), info.Verb, kept.Resource, info.APIGroup, info.Namespace))
	}
	return err
}

func (s *server) list(r *http.Request, namespace string) (any, error) {
	byField, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	byLabel, badLabel := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err := cmp.Or(err, badLabel); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, one := range byField.Requirements() {
		if known := (&kept.Job{}).Fields(); !known.Has(one.Field) {
			return nil, apierrors.NewBadRequest(
				fmt.Sprintf(
					"field %q cannot be selected: allowed are metadata.name, metadata.namespace, trainJob and user",
					one.Field,
				),
			)
		}
	}
	return kept.JobList{
		TypeMeta: metav1.TypeMeta{APIVersion: kept.GroupVersion.String(), Kind: kept.Kind + "List"},
		Items: s.store.List(func(j *kept.Job) bool {
			return (namespace == "" || j.Namespace == namespace) && byField.Matches(j.Fields()) &&
				byLabel.Matches(labels.Set(j.Labels))
		}),
	}, nil
}

// remove takes away a job that is over: a running job would come back.
func (s *server) remove(r *http.Request, job *kept.Job) error {
	if job.Ended == nil {
		return apierrors.NewConflict(
			resource,
			job.Name,
			fmt.Errorf("TrainJob `%s` still runs: delete it first", job.TrainJob),
		)
	}
	var options metav1.DeleteOptions
	_ = json.NewDecoder(r.Body).Decode(&options) // there need be none
	if len(options.DryRun) > 0 || r.URL.Query().Has("dryRun") {
		return nil
	}
	return s.store.Remove(job.UID)
}
