package dashboard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// Job is a job on the page: the JSON of `kubectl mpi get -o json`, with the name of its framework.
type Job struct {
	view.Job
	// Framework is a name for people: MPI, PyTorch; empty if the runtime is not known.
	Framework string `json:"framework,omitempty"`
}

// frameworks are the names of frameworks for people, by the label of their runtimes.
var frameworks = map[string]string{
	"torch": "PyTorch", "mpi": "MPI", "deepspeed": "DeepSpeed", "jax": "JAX", "horovod": "Horovod", "mlx": "MLX",
	"xgboost": "XGBoost", "flux": "Flux", "tensorflow": "TensorFlow",
}

func jobOf(o view.JobObjects) Job {
	j := Job{Job: view.JobOf(o)}
	label := j.Runtime.Framework
	j.Framework = cmp.Or(frameworks[strings.ToLower(label)], label)
	if j.Framework == "" && j.Runtime.MPI {
		j.Framework = "MPI"
	}
	return j
}

// Session is the user and the cluster: the address of the API server, and its version if it is known.
type Session struct {
	User       string `json:"user"`
	Namespace  string `json:"namespace"`
	Version    string `json:"version"`
	Cluster    string `json:"cluster"`
	Kubernetes string `json:"kubernetes,omitempty"`
}

// session describes the user and the cluster.
func (s *Server) session(v *visit) (any, error) {
	name, err := fetch.UserName(v.Context(), v.c)
	if err != nil {
		return nil, err
	}
	answer := Session{
		User: name, Namespace: v.user.Namespace, Version: s.version, Cluster: v.user.Config.Host,
	}
	if d, err := discovery.NewDiscoveryClientForConfig(v.user.Config); err == nil {
		if known, err := d.ServerVersion(); err == nil {
			answer.Kubernetes = known.GitVersion
		}
	}
	return answer, nil
}

// namespaces lists the namespaces to choose from: all, or only the user's.
func (s *Server) namespaces(v *visit) (any, error) {
	var list corev1.NamespaceList
	switch err := v.c.List(v.Context(), &list); {
	case apierror.Explain(err).Kind == apierror.Forbidden:
		hidden := []view.Withheld{{What: "namespaces", Why: apierror.Explain(err).Message}}
		own := slices.DeleteFunc([]string{v.user.Namespace}, func(name string) bool { return name == "" })
		return itemsOf(own, hidden), nil
	case err != nil:
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return itemsOf(names, nil), nil
}

// errNoNamespace is the answer to a user without a namespace who asks for the jobs of all.
var errNoNamespace = errors.New("you may not list jobs of all namespaces, and no namespace is chosen")

// otherJobs names what a user misses who may not list jobs everywhere.
const otherJobs = "jobs of other namespaces"

// list returns all jobs of a namespace, or of all that the user may read.
func (s *Server) list(v *visit) (any, error) { return v.readJobs(v.Context(), v.namespace()) }

// readJobs reads all jobs of a namespace. If the user may not list jobs everywhere, it reads the user's namespace and
// names what is missing.
func (v *visit) readJobs(ctx context.Context, namespace string) (Items[Job], error) {
	objects, hidden, err := fetch.ListJobs(ctx, v.c, fetch.JobSelection{Namespace: namespace})
	if err != nil && namespace == "" && apierror.Explain(err).Kind == apierror.Forbidden {
		if v.user.Namespace == "" {
			return Items[Job]{}, errNoNamespace
		}
		message := apierror.Explain(err).Message
		objects, hidden, err = fetch.ListJobs(ctx, v.c, fetch.JobSelection{Namespace: v.user.Namespace})
		hidden = append(hidden, view.Withheld{What: otherJobs, Why: message})
	}
	if err != nil {
		return Items[Job]{}, err
	}
	jobs := make([]Job, len(objects))
	for i, o := range objects {
		jobs[i] = jobOf(o)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return b.Times.Created.Compare(a.Times.Created.Time) })
	return itemsOf(jobs, hidden), nil
}

// streamList sends all jobs, then the changed ones.
func (s *Server) streamList(v *visit, out *stream) error {
	namespace := v.namespace()
	var options []client.ListOption
	switch watched, err := v.watchable(namespace); {
	case err != nil:
		return err
	case watched != "":
		options = append(options, client.InNamespace(watched))
	}
	source := feedSource{
		look: func(ctx context.Context) (any, error) {
			list, err := v.readJobs(ctx, namespace)
			return itemsOf(rowsOf(list.Items), list.Withheld), err
		},
		c: v.c, options: options, every: func() time.Duration { return s.limits.Look },
	}
	var sent changes
	return s.feeds.follow(v.Context(), v.user.Key+"\nlist\n"+namespace, source, func(state feedState) error {
		if state.trouble != nil {
			sent = changes{} // afterwards all is sent again
			return out.send("trouble", failureOf(state.trouble))
		}
		return sent.send(out, state.value.(Items[row])) //nolint:forcetypeassert // look returns it
	})
}

// watchable returns the namespace whose jobs the user may watch, empty for all.
func (v *visit) watchable(namespace string) (string, error) {
	if namespace != "" {
		return namespace, nil
	}
	everywhere, err := v.may(v.Context(), "watch", "")
	if err == nil && !everywhere && v.user.Namespace == "" {
		err = errNoNamespace
	}
	if err != nil || everywhere {
		return "", err
	}
	return v.user.Namespace, nil
}

// row is a job as JSON, written once for all pages that show it.
type row struct {
	uid  types.UID
	text string
}

// MarshalJSON returns the text.
func (r row) MarshalJSON() ([]byte, error) { return []byte(r.text), nil }

func rowsOf(jobs []Job) []row {
	rows := make([]row, len(jobs))
	for i, j := range jobs {
		rows[i] = row{j.UID, fingerprint(j)}
	}
	return rows
}

// changes remembers the list that a stream has sent.
type changes struct {
	begun    bool
	jobs     map[types.UID]string
	withheld []view.Withheld
}

// change is the event of jobs that are new, changed or gone.
type change struct {
	Items []row       `json:"items"`
	Gone  []types.UID `json:"gone"`
}

// send sends the list at first, and then what differs from it.
func (c *changes) send(out *stream, list Items[row]) error {
	now := make(map[types.UID]string, len(list.Items))
	differs := change{Items: []row{}, Gone: []types.UID{}}
	for _, j := range list.Items {
		now[j.uid] = j.text
		if c.jobs[j.uid] != j.text {
			differs.Items = append(differs.Items, j)
		}
	}
	for uid := range c.jobs {
		if _, there := now[uid]; !there {
			differs.Gone = append(differs.Gone, uid)
		}
	}
	first := !c.begun || !slices.Equal(c.withheld, list.Withheld)
	c.begun, c.jobs, c.withheld = true, now, list.Withheld
	if first {
		return out.send("snapshot", list)
	}
	if len(differs.Items)+len(differs.Gone) == 0 {
		return nil
	}
	return out.send("change", differs)
}
