package loop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/test/fakecluster"
)

// refusing is a client of an API server that answers everything with an error.
func refusing(t *testing.T, answer *apierrors.StatusError) client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := answer.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	}))
	t.Cleanup(server.Close)
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	kinds := apimeta.NewDefaultRESTMapper(nil)
	kinds.Add(trainer.GroupVersion.WithKind(trainer.TrainJobKind), apimeta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A status that somebody else changed first is looked at again in a moment. One that the API server does not take is an error, so
// that it is logged and tried again after longer and longer pauses: nobody's pass may come around every 20 ms forever.
func TestPatchesThatAreRefused(t *testing.T) {
	kind := trainer.GroupVersion.WithKind(trainer.TrainJobKind).GroupKind()
	wrong := field.Invalid(field.NewPath("status", "conditions").Index(0).Child("reason"), "no reason", "should match '^[A-Za-z]'")
	policy := apierrors.NewForbidden(schema.GroupResource{}, name.Name, nil)
	policy.ErrStatus.Reason, policy.ErrStatus.Code = metav1.StatusReasonInvalid, http.StatusUnprocessableEntity
	policy.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'a' denied request"}}
	for name, tc := range map[string]struct {
		reason string
		answer *apierrors.StatusError
		again  bool
	}{
		"TestFailed": {
			"as the API server answers when a test of the patch fails (k8s.io/apiserver pkg/endpoints/handlers/patch.go)",
			apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", "testing value /metadata/uid failed", 0, false), true,
		},
		"Conflict": {"", apierrors.NewConflict(schema.GroupResource{}, name.Name, nil), true},
		"Invalid":  {"the schema of the kind", apierrors.NewInvalid(kind, name.Name, field.ErrorList{wrong}), false},
		"Policy":   {"an admission policy says Invalid where it gives no reason of its own", policy, false},
		"Webhook":  {"", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "denied"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Parts{Client: refusing(t, tc.answer)})
			err := r.patchStatus(t.Context(), phase.DeriveFacts(observe.Observed{TrainJob: &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "demo", UID: "u"}}}), nil)
			got, err := reconcileResult(decide.Decision{}, time.Minute, err)
			if want := (ctrl.Result{RequeueAfter: conflictRetry}); tc.again && (err != nil || got != want) {
				t.Errorf("%s: want another look in %s, got %+v, %v", tc.reason, conflictRetry, got, err)
			}
			if !tc.again && !apierrors.IsInvalid(err) {
				t.Errorf("%s: want the error of the API server, got %v", tc.reason, err)
			}
		})
	}
}

// What the API server says of an object may be as long as the object, and a status that is too long would never be written.
func TestMessagesFitTheStatus(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.controller.Client = interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // the fake client is one
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewBadRequest(strings.Repeat("ä", messageLimit))
		},
	})
	_, shown := c.pass()
	if got := len(shown.Message); shown.Type != trainer.TrainJobFailed || got > messageLimit || !utf8.ValidString(shown.Message) {
		t.Errorf("a message of %d bytes, allowed are %d", got, messageLimit)
	}
}
