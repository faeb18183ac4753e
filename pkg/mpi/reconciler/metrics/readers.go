package metrics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/internal/ttl"
)

const (
	// readerHolds is how long an answer holds that somebody may read metrics: a scrape comes every few seconds.
	readerHolds = time.Minute
	// readerTimeout is how long one may take to be found out.
	readerTimeout = 10 * time.Second
	// readersAtOnce is about how many the API server is asked at a time: strangers who try tokens must not take it from the jobs.
	readersAtOnce = 4
)

// metricsReaders are those who may read metrics: the API server knows them by their token, and allows them to get the path. controller-runtime has a
// filter that asks the same questions, and links packages of the API server itself for it: 20 MB of program, and 15 MB of memory.
type metricsReaders struct {
	server  kubernetes.Interface
	now     func() time.Time
	asking  chan struct{}
	allowed ttl.Cache[struct{}]
}

func newMetricsReaders(config *rest.Config, client *http.Client, now func() time.Time) (*metricsReaders, error) {
	server, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create client for the readers of metrics: %w", err)
	}
	return &metricsReaders{server: server, now: now, asking: make(chan struct{}, readersAtOnce)}, nil
}

// filterRequests is a metricsserver.Filter.
func (r *metricsReaders) filterRequests(log logr.Logger, metrics http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		code, err := r.statusFor(request)
		if err != nil {
			log.Error(err, "find out who reads metrics")
		}
		if code != http.StatusOK {
			http.Error(w, http.StatusText(code), code)
			return
		}
		metrics.ServeHTTP(w, request)
	}), nil
}

// statusFor returns the code of HTTP for a request: 200 where it may be answered. What was allowed is remembered, what was not is asked
// again, so that strangers fill no memory.
func (r *metricsReaders) statusFor(request *http.Request) (int, error) {
	token, found := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return http.StatusUnauthorized, nil
	}
	asks := authorizationv1.NonResourceAttributes{Path: request.URL.Path, Verb: strings.ToLower(request.Method)}
	key := fmt.Sprintf("%x %s %s", sha256.Sum256([]byte(token)), asks.Verb, asks.Path)
	if _, known := r.allowed.Get(key, r.now()); known {
		return http.StatusOK, nil
	}
	ctx, cancel := context.WithTimeout(request.Context(), readerTimeout)
	defer cancel()
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable, nil
	}
	code, err := r.reviewToken(ctx, token, asks)
	if code == http.StatusOK {
		r.allowed.Add(key, struct{}{}, r.now(), readerHolds)
	}
	return code, err
}

// reviewToken asks the API server who has a token, and whether they may.
func (r *metricsReaders) reviewToken(ctx context.Context, token string, asks authorizationv1.NonResourceAttributes) (int, error) {
	known, err := r.server.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusInternalServerError, fmt.Errorf("review a token: %w", err)
	case !known.Status.Authenticated:
		return http.StatusUnauthorized, nil
	}
	who := known.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(who.Extra))
	for name, values := range who.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	access, err := r.server.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra, NonResourceAttributes: &asks},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusInternalServerError, fmt.Errorf("review the access of %s: %w", who.Username, err)
	case !access.Status.Allowed:
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
