package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/overview"
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
	// Checks is how many requests of one user that read much may run at a time: checks of jobs, and views of the cluster.
	Checks int
	// Logs is how many pods one log may have.
	Logs int
	// Write is how long one write to a browser may take before its stream is closed.
	Write time.Duration
	// Pods is how old the pods on the page of a job may be.
	Pods time.Duration
	// Pulse is how often a stream without news writes a comment, by which a browser that went away is noticed.
	Pulse time.Duration
	// Look is how long a stream may stay without a request to the API server: a right that is withdrawn ends it then.
	Look time.Duration
}

// DefaultLimits fit one person, who runs `kubectl mpi dashboard`.
var DefaultLimits = Limits{Streams: 64, UserStreams: 64, Checks: 4, Logs: 64, Write: 20 * time.Second,
	Pods: 2 * time.Second, Pulse: 15 * time.Second, Look: 15 * time.Second}

// SharedLimits fit the people of a cluster. A tab has up to two streams.
func SharedLimits() Limits {
	limits := DefaultLimits
	limits.Streams, limits.UserStreams = 1024, 32
	return limits
}

// Server answers the requests of pages.
type Server struct {
	// Prometheus is asked for curves; set it before the first request.
	Prometheus Prometheus

	user    func(*http.Request) (User, error)
	version string
	limits  Limits
	feeds   *feeds
	streams openStreams
	checks  openStreams
	routes  *http.ServeMux
}

// New returns a server. User finds out who asks; its error is the answer to the request. Feeds end with ctx.
func New(ctx context.Context, version string, user func(*http.Request) (User, error), limits Limits) *Server {
	s := &Server{
		user: user, version: version, limits: limits, feeds: newFeeds(ctx),
		streams: openStreams{of: map[string]int{}}, checks: openStreams{of: map[string]int{}},
		routes: http.NewServeMux(),
	}
	api := s.api()
	for _, r := range api {
		s.routes.HandleFunc(r.pattern, r.serve)
	}
	document := describe(version, api)
	s.routes.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, document)
	})
	s.routes.HandleFunc("GET /docs/", serveDocs)
	s.routes.HandleFunc("GET /", serveFiles)
	return s
}

// api lists the operations.
func (s *Server) api() []route {
	const jobs, job = "GET /api/v1/trainjobs", "GET /api/v1/trainjobs/{namespace}/{name}"
	const runtime = "GET /api/v1/runtimes/{name}"
	const act = "POST /api/v1/trainjobs/{namespace}/{name}/actions/{action}"
	events := []string{"text/event-stream"}
	return []route{
		{pattern: "GET /api/v1/session", summary: "The user and the cluster", answer: Session{},
			serve: s.answering(s.session)},
		{pattern: "GET /api/v1/namespaces", summary: "Namespaces to choose from", answer: Items[string]{},
			serve: s.answering(s.namespaces)},
		{pattern: jobs, summary: "All TrainJobs", query: ofNamespace, answer: Items[Job]{}, serve: s.answering(s.list)},
		{pattern: jobs + "/stream", summary: "All TrainJobs as events snapshot and change", query: ofNamespace,
			kinds: events, serve: s.streaming(s.streamList)},
		{pattern: job, summary: "One TrainJob and what the user may do with it", answer: Detail{},
			serve: s.answering(s.detail)},
		{pattern: job + "/stream", summary: "One TrainJob as events job and gone", kinds: events,
			serve: s.streaming(s.streamJob)},
		{pattern: job + "/events", summary: "Events of a TrainJob, the oldest first", answer: Items[fetch.JobEvent]{},
			serve: s.answering(s.events)},
		{pattern: job + "/configuration", summary: "A TrainJob as submitted, and as it ran", answer: Configuration{},
			serve: s.answering(s.configuration)},
		{pattern: job + "/usage", summary: "What each pod uses now", answer: Items[fetch.PodUsage]{},
			serve: s.answering(s.usage)},
		{pattern: job + "/curves", summary: "What each pod used over time", answer: Curves{}, serve: s.answering(s.curves)},
		{pattern: job + "/logs", summary: "Output as events lines, note and end; arrays of LogLine", query: ofLog,
			kinds: append(events, "text/plain"), serve: s.streaming(s.streamLogs)},
		{pattern: job + "/bundle", summary: "A support bundle", kinds: []string{"application/gzip"},
			serve: s.answering(s.bundle)},
		{pattern: job + "/clone", summary: "A TrainJob like this one under a new name, not made yet", answer: Clone{},
			serve: s.answering(s.clone)},
		{pattern: "GET /api/v1/runtimes", summary: "Runtimes that jobs of a namespace may have", query: ofNamespace,
			answer: Items[fetch.AvailableRuntime]{}, serve: s.answering(s.runtimes)},
		{pattern: runtime, summary: "A runtime: its certification, who may use it, where it ran", query: ofRuntime,
			answer: RuntimeDetail{}, serve: s.answering(s.runtime)},
		{pattern: runtime + "/probe", summary: "A TrainJob that tests a runtime, not made yet", query: ofRuntime,
			answer: Clone{}, serve: s.answering(s.probeJob)},
		{pattern: job + "/probe", summary: "What the test of a runtime measured", answer: Probe{},
			serve: s.answering(s.probe)},
		{pattern: "GET /api/v1/templates", summary: "TrainJobs to begin with", query: ofNamespace,
			answer: Items[Template]{}, serve: s.answering(s.templates)},
		{pattern: "GET /api/v1/choices", summary: "Queues, claims and Secrets by name, and the right to create",
			query: ofNamespace, answer: Choices{}, serve: s.answering(s.choices)},
		{pattern: "POST /api/v1/trainjobs", summary: "Make the TrainJob of a YAML text, or only check it", query: ofNew,
			body: "application/yaml", answer: Created{}, serve: s.answering(s.create)},
		{pattern: "GET /api/v1/compare", summary: "What differs between runs", query: ofCompared, answer: Comparison{},
			serve: s.answering(s.compare)},
		{pattern: "GET /api/v1/cluster", summary: "The cluster by its jobs: what each holds, who waits, failures and cost",
			query: ofCluster, answer: overview.Overview{}, serve: s.answering(s.cluster)},
		{pattern: act, summary: "Suspend, resume or delete a TrainJob", query: ofUID, answer: Done{},
			serve: s.answering(s.act)},
	}
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
	if err := v.checkNames(); err != nil {
		return nil, err
	}
	if v.c, err = fetch.NewClient(user.Config); err != nil {
		return nil, err
	}
	v.core, err = corev1client.NewForConfig(user.Config)
	return v, err
}

var validName, validNamespace = regexp.MustCompile(namePattern), regexp.MustCompile(namespacePattern)

// checkNames refuses names that no API server takes.
func (v *visit) checkNames() error {
	for name, pattern := range map[string]*regexp.Regexp{
		v.PathValue("name"): validName, v.PathValue("namespace"): validNamespace,
		v.URL.Query().Get("namespace"): validNamespace,
	} {
		if name != "" && !pattern.MatchString(name) {
			return badRequest{fmt.Sprintf("%q is no name of Kubernetes: lower-case letters, digits and `-`", name)}
		}
	}
	return nil
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
