// Package apierror says in plain words why an API server did not do what it was asked for: who lacks which right, what refuses the job, what is
// not there, and whether there is a server at all. It is pure: it reads the error, and asks nobody.
package apierror

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrorKind is what an error means for whoever asked.
type ErrorKind string

// The kinds.
const (
	// Forbidden: this user lacks a right.
	Forbidden ErrorKind = "Forbidden"
	// Unknown: the API server does not know this user: a token or a certificate is wrong or has expired.
	Unknown ErrorKind = "Unknown"
	// Refused: a quota, a limit or an admission policy does not take the object.
	Refused ErrorKind = "Refused"
	// Exists: there is an object of this name already.
	Exists ErrorKind = "Exists"
	// NotFound: there is no object of this name.
	NotFound ErrorKind = "NotFound"
	// NoKind: the cluster does not have this kind of object.
	NoKind ErrorKind = "NoKind"
	// NoServer: nobody answers, or not in time.
	NoServer ErrorKind = "NoServer"
	// Other is all else, in the words of the error.
	Other ErrorKind = "Other"
)

// ExplainedError is an error of an API server in plain words.
type ExplainedError struct {
	Kind ErrorKind
	// Message says what happened, in one line, without what to do about it.
	Message string
	// User, Verb, Resource and Namespace say who may not do what, of Forbidden: `jane`, `create`, `trainjobs`, `team-cv`. Namespace is empty
	// for what has none.
	User, Verb, Resource, Namespace string
	// Name is what there is not, of NotFound, or what there is, of Exists; Resource then says of which kind.
	Name string

	cause error
}

// Error returns the message.
func (e *ExplainedError) Error() string { return e.Message }

// Unwrap returns the error as it came.
func (e *ExplainedError) Unwrap() error { return e.cause }

// lacks is how the API server says that a right is missing (k8s.io/apiserver pkg/endpoints/handlers/responsewriters, forbiddenMessage).
var lacks = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]*)"(?: in API group "[^"]*")?(?: in the namespace "([^"]*)"| at the cluster scope)`)

// Explain returns an error of a client in plain words. What is not an error of the API server or on the way to it comes back as Other.
// Without an error it is empty.
func Explain(err error) *ExplainedError {
	if err == nil {
		return &ExplainedError{}
	}
	var already *ExplainedError
	if errors.As(err, &already) {
		return already
	}
	e := explainKind(err)
	e.cause = err
	return e
}

func explainKind(err error) *ExplainedError {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err) && policy.MatchString(err.Error()):
		return explainForbidden(err)
	case apierrors.IsInvalid(err):
		return &ExplainedError{Kind: Other, Message: refusalText(statusOf(err).Message)}
	case apierrors.IsUnauthorized(err):
		return &ExplainedError{Kind: Unknown, Message: "the API server does not know you: the token or certificate of the kubeconfig has expired, or is not of this cluster"}
	case apimeta.IsNoMatchError(err):
		return &ExplainedError{Kind: NoKind, Message: "this cluster does not have what the command is about: " + err.Error()}
	case apierrors.IsNotFound(err):
		return explainNotFound(err)
	case apierrors.IsAlreadyExists(err):
		return explainExists(err)
	case apierrors.IsBadRequest(err), apierrors.IsConflict(err):
		return &ExplainedError{Kind: Other, Message: policy.ReplaceAllString(err.Error(), "")}
	}
	if why := unreachableText(err); why != "" {
		return &ExplainedError{Kind: NoServer, Message: why}
	}
	return &ExplainedError{Kind: Other, Message: err.Error()}
}

// explainForbidden tells a missing right from what admission refuses: both are answered with 403.
func explainForbidden(err error) *ExplainedError {
	text := statusOf(err).Message
	found := lacks.FindStringSubmatch(text)
	if found == nil {
		return &ExplainedError{Kind: Refused, Message: refusalText(text)}
	}
	return MissingRight(found[1], found[2], found[3], found[4])
}

// MissingRight says that a user may not do something; namespace is empty for the whole cluster.
func MissingRight(user, verb, resource, namespace string) *ExplainedError {
	where := "in the whole cluster"
	if namespace != "" {
		where = fmt.Sprintf("in namespace '%s'", namespace)
	}
	return &ExplainedError{
		Kind: Forbidden, User: user, Verb: verb, Resource: resource, Namespace: namespace,
		Message: fmt.Sprintf("User '%s' lacks '%s' permission for %s %s", user, verb, resource, where),
	}
}

// policy is how the API server begins the message of a policy or webhook of the cluster.
var policy = regexp.MustCompile(`(?:ValidatingAdmissionPolicy '[^']*'(?: with binding '[^']*')?|` +
	`admission webhook "[^"]*") denied (?:the )?request: `)

// warning is how it begins the warning of a policy.
var warning = regexp.MustCompile(`^Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*': `)

// WarningText returns a warning of the API server without the policy that it is from.
func WarningText(text string) string { return warning.ReplaceAllString(text, "") }

// refused is how it begins the reason of a refusal.
var refused = regexp.MustCompile(`^.*? is (?:forbidden|invalid): `)

// refusalText leaves out that it is forbidden or invalid, and by which policy: the rest is the reason.
func refusalText(text string) string {
	return "the API server refuses it: " + refused.ReplaceAllString(policy.ReplaceAllString(text, ""), "")
}

// explainNotFound tells a name that there is not from a kind that the API server does not serve: the answer of the latter names no object.
func explainNotFound(err error) *ExplainedError {
	details := statusOf(err).Details
	if details == nil || details.Name == "" {
		what := "this kind of object"
		if details != nil && details.Kind != "" {
			what = strings.TrimSuffix(details.Kind+"."+details.Group, ".")
		}
		return &ExplainedError{Kind: NoKind, Message: "this cluster does not have " + what}
	}
	return &ExplainedError{Kind: NotFound, Message: fmt.Sprintf("there is no %s `%s`", nameOfKind(details.Kind), details.Name), Resource: details.Kind, Name: details.Name}
}

func explainExists(err error) *ExplainedError {
	details := statusOf(err).Details
	if details == nil || details.Name == "" {
		return &ExplainedError{Kind: Exists, Message: err.Error()}
	}
	return &ExplainedError{Kind: Exists, Message: fmt.Sprintf("there is a %s `%s` already", nameOfKind(details.Kind), details.Name), Resource: details.Kind, Name: details.Name}
}

// kinds are how people call resources.
var kinds = map[string]string{
	"trainjobs": "TrainJob", "clustertrainingruntimes": "ClusterTrainingRuntime", "trainingruntimes": "TrainingRuntime",
	"namespaces": "namespace", "pods": "pod",
}

func nameOfKind(resource string) string { return cmp.Or(kinds[resource], resource) }

func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status()
	}
	return metav1.Status{Message: err.Error()}
}

// unreachableText returns why no answer came, or nothing where one did.
func unreachableText(err error) string {
	server := "the API server"
	var asked *url.Error
	if errors.As(err, &asked) {
		if u, parsed := url.Parse(asked.URL); parsed == nil {
			server += " " + u.Scheme + "://" + u.Host
		}
	}
	var (
		certificate x509.UnknownAuthorityError
		host        x509.HostnameError
		outdated    x509.CertificateInvalidError
		network     net.Error
		file        *fs.PathError
	)
	switch {
	case asked == nil && errors.As(err, &file):
		return "" // of a kubeconfig, say: the errors of the system are all net.Errors
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return server + " does not answer in time"
	case errors.As(err, &certificate), errors.As(err, &host), errors.As(err, &outdated):
		return server + " shows a certificate that the kubeconfig does not trust: " + innermostError(err).Error()
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return server + " is overloaded or starting: " + statusOf(err).Message
	case asked != nil, errors.As(err, &network):
		return "cannot reach " + server + ": " + innermostError(err).Error()
	}
	return ""
}

// innermostError returns the innermost error: the others repeat the address.
func innermostError(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
