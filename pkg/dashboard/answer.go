package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// Items is a list with what is missing from it.
type Items[T any] struct {
	Items    []T             `json:"items"`
	Withheld []view.Withheld `json:"withheld"`
}

func itemsOf[T any](items []T, withheld []view.Withheld) Items[T] {
	return Items[T]{Items: listOf(items), Withheld: listOf(withheld)}
}

// listOf returns an empty list for nil, which would be `null` in JSON.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Failure is the body of an answer that is an error.
type Failure struct {
	Error FailureDetail `json:"error"`
}

// FailureDetail describes an error: its HTTP status, a word, a sentence and what to do.
type FailureDetail struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// codes are the HTTP statuses of the kinds of errors of an API server; others are 502.
var codes = map[apierror.ErrorKind]int{
	apierror.Forbidden: http.StatusForbidden, apierror.Unknown: http.StatusUnauthorized,
	apierror.Refused: http.StatusUnprocessableEntity, apierror.Exists: http.StatusConflict,
	apierror.NotFound: http.StatusNotFound, apierror.NoKind: http.StatusNotFound,
	apierror.NoServer: http.StatusServiceUnavailable,
}

// remedies are advice for kinds of errors.
var remedies = map[apierror.ErrorKind]string{
	apierror.Forbidden: "Ask an admin of the tenant for the right.",
	apierror.Unknown:   "Log in again, then load this page again, or start `kubectl mpi dashboard` again.",
	apierror.NoServer:  "The page connects again by itself.",
}

// badRequest is an error of the request.
type badRequest struct{ message string }

func (e badRequest) Error() string { return e.message }

// failureOf describes an error.
func failureOf(err error) FailureDetail {
	var bad badRequest
	var refusal *act.SuspendRefusal
	var many *logs.TooManyError
	var large *http.MaxBytesError
	var wrong mistakes
	var cannot *act.StartRefusal
	switch {
	case errors.Is(err, errNoToken):
		return FailureDetail{
			Code: http.StatusUnauthorized, Reason: "NoToken", Message: err.Error(),
			Remedy: "Log in by the address of the page. If that does not help, an admin has to make the proxy in front of the " +
				"dashboard pass tokens on, in the header that the dashboard reads.",
		}
	case errors.Is(err, errNoNamespace):
		return FailureDetail{
			Code: http.StatusForbidden, Reason: string(apierror.Forbidden), Message: err.Error(),
			Remedy: "Choose a namespace: add `?ns=NAME` to the address of the page.",
		}
	case errors.As(err, &many):
		return FailureDetail{
			Code: http.StatusBadRequest, Reason: "TooManyLogs", Message: many.Error(), Remedy: "Choose a role, a pod or a rank.",
		}
	case errors.Is(err, errTooManyChecks):
		return FailureDetail{Code: http.StatusTooManyRequests, Reason: "TooManyChecks", Message: err.Error()}
	case errors.As(err, &large):
		return FailureDetail{
			Code: http.StatusRequestEntityTooLarge, Reason: "TooLarge",
			Message: fmt.Sprintf("the text has more than %d KiB", large.Limit>>10),
			Remedy:  "Put files into a claim or the image.",
		}
	case errors.As(err, &wrong), errors.As(err, &cannot):
		return FailureDetail{Code: http.StatusUnprocessableEntity, Reason: string(apierror.Refused), Message: err.Error()}
	case errors.As(err, &bad):
		return FailureDetail{Code: http.StatusBadRequest, Reason: "BadRequest", Message: bad.message}
	case errors.As(err, &refusal):
		return FailureDetail{Code: http.StatusConflict, Reason: "Conflict", Message: refusal.Error()}
	}
	e := apierror.Explain(err)
	code := codes[e.Kind]
	switch {
	case apierrors.IsConflict(err):
		const remedy = "Look at the page again."
		return FailureDetail{
			Code: http.StatusConflict, Reason: "Conflict", Message: "The job was changed or made again meanwhile.", Remedy: remedy,
		}
	case code == 0:
		code = http.StatusBadGateway
	}
	return FailureDetail{Code: code, Reason: string(e.Kind), Message: e.Message, Remedy: remedies[e.Kind]}
}

// ActionHeader is needed by requests that change something: another site cannot set it.
const ActionHeader = "X-Lockstep-Action"

// attachment is an answer that a browser saves as a file.
type attachment struct {
	name, kind string
	write      func(io.Writer) error
}

// answering turns a function into a handler that writes its result, or its error, as JSON; an attachment as a file.
func (s *Server) answering(answer func(*visit) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get(ActionHeader) == "" {
			writeError(w, http.StatusForbidden, "NoActionHeader", "a request that changes something needs "+ActionHeader, "")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		v, err := s.newVisit(r)
		var value any
		if err == nil {
			value, err = answer(v)
		}
		if err != nil {
			f := failureOf(err)
			writeError(w, f.Code, f.Reason, f.Message, f.Remedy)
			return
		}
		file, is := value.(attachment)
		if !is {
			writeJSON(w, http.StatusOK, value)
			return
		}
		w.Header().Set("Content-Type", file.kind)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", file.name))
		w.Header().Set("Cache-Control", "no-store")
		_ = file.write(w) // a browser that went away needs no answer
	}
}

func writeError(w http.ResponseWriter, code int, reason, message, remedy string) {
	writeJSON(w, code, Failure{FailureDetail{Code: code, Reason: reason, Message: message, Remedy: remedy}})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(text) // a browser that went away needs no answer
}
