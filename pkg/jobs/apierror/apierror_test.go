package apierror

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var trainJobs = schema.GroupResource{Group: "trainer.kubeflow.org", Resource: "trainjobs"}

func denied(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: text}}
}

// TestExplain: each error of an API server, and of the way to it, is told by its kind and in plain words.
func TestExplain(t *testing.T) {
	asked := func(err error) error { return &url.Error{Op: "Get", URL: "https://api.test:6443/apis", Err: err} }
	for name, c := range map[string]struct {
		err  error
		kind ErrorKind
		want string
	}{
		"a right": {denied(`trainjobs.trainer.kubeflow.org is forbidden: User "jane" cannot create resource "trainjobs" in API group "trainer.kubeflow.org" in the namespace "team-cv"`),
			Forbidden, "User 'jane' lacks 'create' permission for trainjobs in namespace 'team-cv'"},
		"a right of the core group":  {denied(`pods is forbidden: User "jane" cannot list resource "pods" in the namespace "a"`), Forbidden, "lacks 'list' permission for pods in namespace 'a'"},
		"a right in the cluster":     {denied(`nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope`), Forbidden, "for nodes in the whole cluster"},
		"a quota":                    {apierrors.NewForbidden(trainJobs, "a", errors.New("exceeded quota: team")), Refused, "refuses it: exceeded quota: team"},
		"a policy":                   {apierrors.NewForbidden(trainJobs, "a", errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too large")), Refused, "refuses it: too large"},
		"a policy that says invalid": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Message: "x is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"}}, Refused, "refuses it: no"},
		"a webhook": {
			denied(`admission webhook "v.example" denied the request: too large`), Refused, "refuses it: too large",
		},
		"a namespace": {
			apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), NotFound, "there is no namespace `a`",
		},
		"a wrong value": {
			&apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: metav1.StatusReasonInvalid, Code: 422,
				Message: `TrainJob.trainer.kubeflow.org "a" is invalid: spec.x: Invalid value: "b": too long`,
			}}, Other, `refuses it: spec.x: Invalid value: "b": too long`,
		},
		"a refusal in other words":      {denied("no"), Refused, "refuses it: no"},
		"an expired token":              {apierrors.NewUnauthorized("x"), Unknown, "does not know you"},
		"a name":                        {fmt.Errorf("read: %w", apierrors.NewNotFound(trainJobs, "a")), NotFound, "there is no TrainJob `a`"},
		"a name of another kind":        {apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "a"), NotFound, "there is no secrets `a`"},
		"a name that is taken":          {apierrors.NewAlreadyExists(trainJobs, "a"), Exists, "there is a TrainJob `a` already"},
		"a taken name that nobody says": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonAlreadyExists, Code: 409, Message: "taken"}}, Exists, "taken"},
		"a kind":                        {apierrors.NewNotFound(trainJobs, ""), NoKind, "does not have trainjobs.trainer.kubeflow.org"},
		"a kind without a name":         {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Code: 404}}, NoKind, "this kind of object"},
		"no mapping":                    {&apimeta.NoKindMatchError{}, NoKind, "does not have what"},
		"an invalid object":             {apierrors.NewBadRequest("no json"), Other, "no json"},
		"no server":                     {asked(syscall.ECONNREFUSED), NoServer, "cannot reach the API server https://api.test:6443: connection refused"},
		"no kubeconfig":                 {&fs.PathError{Op: "stat", Path: "/no/config", Err: syscall.ENOENT}, Other, "stat /no/config: no such file or directory"},
		"no answer":                     {asked(context.DeadlineExceeded), NoServer, "https://api.test:6443 does not answer in time"},
		"a foreign certificate":         {asked(x509.UnknownAuthorityError{}), NoServer, "certificate that the kubeconfig does not trust"},
		"an overloaded server":          {apierrors.NewServiceUnavailable("starting"), NoServer, "overloaded or starting: starting"},
		"what is no error of a server":  {errors.New("disk full"), Other, "disk full"},
	} {
		e := Explain(c.err)
		if e.Kind != c.kind || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: %s `%s`, want %s `%s`", name, e.Kind, e.Message, c.kind, c.want)
		}
		if !errors.Is(e, c.err) || Explain(fmt.Errorf("again: %w", e)) != e {
			t.Errorf("%s: the error itself is lost, or explained twice", name)
		}
	}
}
