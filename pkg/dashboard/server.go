package dashboard

import (
	"context"
	"net/http"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// User is a user of the page, with the user's own credentials.
type User struct {
	// Key differs for different credentials: streams of one key share their watches, and so the rights of the first of them. With
	// tokens it has to hold a hash of the token.
	Key string
	// Config reaches the API server with the credentials of the user.
	Config *rest.Config
	// Namespace is shown first; empty if none is known.
	Namespace string
}

// Limits bound what one page or many may take.
type Limits struct {
	// Streams is how many streams may be open at a time, and UserStreams how many of them one user may have.
	Streams, UserStreams int
	// Logs is how many pods one log may have.
	Logs int
	// Write is how long one write to a browser may take before its stream is closed.
	Write time.Duration
	// Pods is how old the pods on the page of a job may be.
	Pods time.Duration
	// Look is how long a stream may stay without a request to the API server: a right that is withdrawn ends it then.
	Look time.Duration
}

// DefaultLimits fit one person, who runs `kubectl mpi dashboard`.
var DefaultLimits = Limits{Streams: 64, UserStreams: 64, Logs: 64, Write: 20 * time.Second, Pods: 2 * time.Second,
	Look: 15 * time.Second}

// SharedLimits fit the people of a cluster. A tab has up to two streams.
func SharedLimits() Limits {
	limits := DefaultLimits
	limits.Streams, limits.UserStreams = 1024, 32
	return limits
}

// Server answers the requests of pages.
type Server struct {
	user    func(*http.Request) (User, error)
	version string
	limits  Limits
	feeds   *feeds
	streams openStreams
	routes  *http.ServeMux
}

// New returns a server. User finds out who asks; its error is the answer to the request. Feeds end with ctx.
func New(ctx context.Context, version string, user func(*http.Request) (User, error), limits Limits) *Server {
	s := &Server{
		user: user, version: version, limits: limits, feeds: newFeeds(ctx),
		streams: openStreams{of: map[string]int{}}, routes: http.NewServeMux(),
	}
	for pattern, answer := range map[string]func(*visit) (any, error){
		"GET /api/v1/session":                                        s.session,
		"GET /api/v1/namespaces":                                     s.namespaces,
		"GET /api/v1/trainjobs":                                      s.list,
		"GET /api/v1/trainjobs/{namespace}/{name}":                   s.detail,
		"GET /api/v1/trainjobs/{namespace}/{name}/events":            s.events,
		"GET /api/v1/trainjobs/{namespace}/{name}/configuration":     s.configuration,
		"GET /api/v1/trainjobs/{namespace}/{name}/usage":             s.usage,
		"GET /api/v1/trainjobs/{namespace}/{name}/bundle":            s.bundle,
		"POST /api/v1/trainjobs/{namespace}/{name}/actions/{action}": s.act,
	} {
		s.routes.HandleFunc(pattern, s.answering(answer))
	}
	for pattern, stream := range map[string]func(*visit, *stream) error{
		"GET /api/v1/trainjobs/stream":                    s.streamList,
		"GET /api/v1/trainjobs/{namespace}/{name}/stream": s.streamJob,
		"GET /api/v1/trainjobs/{namespace}/{name}/logs":   s.streamLogs,
	} {
		s.routes.HandleFunc(pattern, s.streaming(stream))
	}
	s.routes.HandleFunc("GET /docs/", servePages)
	s.routes.HandleFunc("GET /", serveFiles)
	return s
}

// ServeHTTP answers a request whose sender was let in (see Guard and Gate).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	s.routes.ServeHTTP(w, r)
}

// visit is one request of a user.
type visit struct {
	*http.Request
	user User
	c    client.WithWatch
	core corev1client.CoreV1Interface
}

func (s *Server) newVisit(r *http.Request) (*visit, error) {
	user, err := s.user(r)
	if err != nil {
		return nil, err
	}
	v := &visit{Request: r, user: user}
	if v.c, err = fetch.NewClient(user.Config); err != nil {
		return nil, err
	}
	v.core, err = corev1client.NewForConfig(user.Config)
	return v, err
}

// key returns the job that the path names.
func (v *visit) key() client.ObjectKey {
	return client.ObjectKey{Namespace: v.PathValue("namespace"), Name: v.PathValue("name")}
}

// namespace returns the namespace in the query, empty for all; the user's if the query has none.
func (v *visit) namespace() string {
	if query := v.URL.Query(); query.Has("namespace") {
		return query.Get("namespace")
	}
	return v.user.Namespace
}
