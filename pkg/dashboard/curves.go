package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// Prometheus is asked for the curves of a job, with the token of the user.
type Prometheus struct {
	// URL is its address, empty for none. Authority is a file with the certificates by which it is known, empty for the
	// system's own.
	URL, Authority string
}

// Curves show the use of the pods of a job over time.
type Curves struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Items are sorted by metric, then by pod.
	Items    []Curve         `json:"items"`
	Withheld []view.Withheld `json:"withheld"`
}

// Curve is one metric of one pod: `cpu` in cores, `memory` in bytes, `network` in bytes a second both ways, `gpu` in
// percent.
type Curve struct {
	Metric string  `json:"metric"`
	Pod    string  `json:"pod"`
	Points []Point `json:"points"`
}

// Point is a value at a time.
type Point struct {
	// Time is in seconds since 1970.
	Time  int64   `json:"time"`
	Value float64 `json:"value"`
}

const (
	// curvePoints is how many points a curve has at most, mostPods how many pods are drawn.
	curvePoints = 240
	mostPods    = 64
	// longestCurve is how far back curves go, leastStep how close points are.
	longestCurve = 14 * 24 * time.Hour
	leastStep    = 15 * time.Second
	// curvePatience is how long Prometheus may take.
	curvePatience = 20 * time.Second
)

// curveQueries ask for each metric by pod. %[1]s selects the pods, %[2]s is the window of rates.
var curveQueries = []struct{ metric, query string }{
	{"cpu", `sum by (pod) (rate(container_cpu_usage_seconds_total{%[1]s, container!=""}[%[2]s]))`},
	{"memory", `sum by (pod) (container_memory_working_set_bytes{%[1]s, container!=""})`},
	{"network", `sum by (pod) (rate(container_network_receive_bytes_total{%[1]s}[%[2]s])) + ` +
		`sum by (pod) (rate(container_network_transmit_bytes_total{%[1]s}[%[2]s]))`},
	{"gpu", `avg by (pod) (DCGM_FI_DEV_GPU_UTIL{%[1]s})`},
}

// curves asks Prometheus what the pods of a job used while it was there. Prometheus may show each user everything, so
// only a user who may list the pods of the namespace gets an answer.
func (s *Server) curves(v *visit) (any, error) {
	trainJob, key := &trainer.TrainJob{}, v.key()
	if err := v.c.Get(v.Context(), key, trainJob); err != nil {
		return nil, err
	}
	withhold := func(why string) (any, error) {
		return Curves{Items: []Curve{}, Withheld: []view.Withheld{{What: "curves", Why: why}}}, nil
	}
	if s.Prometheus.URL == "" {
		return withhold("no Prometheus is set: `--prometheus` of the dashboard, or ask the admin of the cluster")
	}
	err := v.c.List(v.Context(), &corev1.PodList{}, client.InNamespace(key.Namespace), client.Limit(1))
	if e := apierror.Explain(err); e.Kind == apierror.Forbidden {
		return withhold(e.Message)
	} else if err != nil {
		return nil, err
	}
	asked, err := s.Prometheus.api(v.user.Config.BearerToken, key.Namespace)
	if err != nil {
		return withhold(err.Error())
	}
	answer := Curves{From: trainJob.CreationTimestamp.Time, To: time.Now(), Items: []Curve{}, Withheld: []view.Withheld{}}
	if ended := jobOf(view.JobObjects{TrainJob: trainJob}).Times.Ended; ended != nil {
		answer.To = ended.Time
	}
	if answer.To.Sub(answer.From) > longestCurve {
		answer.From = answer.To.Add(-longestCurve)
	}
	ctx, stop := context.WithTimeout(v.Context(), curvePatience)
	defer stop()
	for _, q := range curveQueries {
		found, err := askCurve(ctx, asked, q.metric, q.query, key, answer.From, answer.To)
		if err != nil {
			answer.Withheld = append(answer.Withheld, view.Withheld{What: q.metric, Why: whyNoCurve(err)})
			break // the others would end alike
		}
		answer.Items = append(answer.Items, found...)
	}
	return answer, nil
}

// askCurve returns the curves of one metric.
func askCurve(
	ctx context.Context, asked prometheus.API, metric, query string, job client.ObjectKey, from, to time.Time,
) ([]Curve, error) {
	step := max(leastStep, (to.Sub(from) / curvePoints).Round(time.Second))
	names := regexp.QuoteMeta(job.Name) + "-(launcher|node)-[0-9]+-[0-9]+-.+"
	pods := fmt.Sprintf(`namespace=%q, pod=~%q`, job.Namespace, names)
	window := max(4*leastStep, 2*step)
	text := fmt.Sprintf(query, pods, model.Duration(window))
	value, _, _, err := asked.QueryRange(ctx, text, prometheus.Range{Start: from, End: to, Step: step})
	if err != nil {
		return nil, err
	}
	matrix, _ := value.(model.Matrix)
	var curves []Curve
	for _, series := range matrix[:min(len(matrix), mostPods)] {
		curve := Curve{Metric: metric, Pod: string(series.Metric["pod"]), Points: []Point{}}
		for _, sample := range series.Values {
			if v := float64(sample.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
				curve.Points = append(curve.Points, Point{sample.Timestamp.Unix(), v})
			}
		}
		curves = append(curves, curve)
	}
	slices.SortFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Pod, b.Pod) })
	return curves, nil
}

// api returns a client that shows a token, if there is one, and names the namespace: OpenShift's Prometheus for users
// asks what they may see there. Without TLS the token stays here.
func (p Prometheus) api(token, namespace string) (prometheus.API, error) {
	if !strings.HasPrefix(p.URL, "https://") {
		token = ""
	}
	transport, err := rest.TransportFor(&rest.Config{
		Host: p.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: p.Authority},
	})
	if err != nil {
		return nil, fmt.Errorf("reach Prometheus: %w", err)
	}
	client, err := api.NewClient(api.Config{Address: p.URL, RoundTripper: ofNamespaceQuery{transport, namespace}})
	if err != nil {
		return nil, fmt.Errorf("reach Prometheus: %w", err)
	}
	return prometheus.NewAPI(client), nil
}

// ofNamespaceQuery adds `namespace` to the query of each request.
type ofNamespaceQuery struct {
	http.RoundTripper
	namespace string
}

// RoundTrip sends a request.
func (t ofNamespaceQuery) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("namespace", t.namespace)
	r.URL.RawQuery = query.Encode()
	return t.RoundTripper.RoundTrip(r)
}

// whyNoCurve returns in few words why Prometheus gave no answer, without its pages of HTML.
func whyNoCurve(err error) string {
	var refused *prometheus.Error
	switch {
	case errors.As(err, &refused) && (refused.Type == prometheus.ErrClient || refused.Type == prometheus.ErrServer):
		return "Prometheus answers: " + refused.Msg
	case errors.As(err, &refused):
		return "Prometheus answers: " + refused.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("Prometheus did not answer within %s", curvePatience)
	}
	return "Prometheus cannot be reached: " + err.Error()
}
