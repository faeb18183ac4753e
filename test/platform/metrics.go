package platform

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Meter reads the metrics of a controller, which wants to know who asks.
type Meter struct {
	namespace, selector string
	platform            *Platform
	client              *http.Client
	token               string
}

// OurMeter reads those of mpi-controller.
func (p *Platform) OurMeter() *Meter {
	return p.meter(Namespace, mpi.ControllerName)
}

// StockMeter reads those of Kubeflow Trainer's manager.
func (p *Platform) StockMeter() *Meter {
	return p.meter("kubeflow-system", "trainer")
}

func (p *Platform) meter(namespace, name string) *Meter {
	// Certificates are signed by themselves, and nothing secret is sent but a token that opens metrics.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	// Pods of its Deployment only: specs about networks make others that bear its label.
	selector := "app.kubernetes.io/name=" + name + "," + appsv1.DefaultDeploymentUniqueLabelKey
	return &Meter{platform: p, namespace: namespace, selector: selector, client: &http.Client{Timeout: 5 * time.Second, Transport: transport}}
}

const metricsReader = "lockstep-metrics-reader"

func (p *Platform) metricsToken(ctx context.Context) (string, error) {
	admin, err := p.Admin()
	if err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{Name: metricsReader, Namespace: "default"}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: metricsReader},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: metricsReader},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: metricsReader},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: metricsReader, Namespace: meta.Namespace}},
	}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	for _, err := range []error{admin.Client.Create(ctx, role), admin.Client.Create(ctx, binding), admin.Client.Create(ctx, account)} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	// Some measure for longer than an hour, which is how long a token is good for by default.
	wanted := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 60 * 60)}}
	request, err := admin.Logs.CoreV1().ServiceAccounts(meta.Namespace).CreateToken(ctx, metricsReader, wanted, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// Read asks the controller's pod once.
func (m *Meter) Read(ctx context.Context) (Metrics, error) {
	if m.token == "" {
		token, err := m.platform.metricsToken(ctx)
		if err != nil {
			return nil, fmt.Errorf("get leave to read metrics: %w", err)
		}
		m.token = token
	}
	return m.read(ctx)
}

func (m *Meter) read(ctx context.Context) (Metrics, error) {
	admin, err := m.platform.Admin()
	if err != nil {
		return nil, err
	}
	pods, err := admin.Logs.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{LabelSelector: m.selector})
	if err != nil {
		return nil, fmt.Errorf("find the controller: %w", err)
	}
	// After a rollout the old pod still ends.
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if len(pods.Items) != 1 || pods.Items[0].Status.PodIP == "" {
		return nil, fmt.Errorf("find the controller: %d pods in %s, want one that runs", len(pods.Items), m.namespace)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://%s:8443/metrics", pods.Items[0].Status.PodIP), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+m.token)
	response, err := m.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", pods.Items[0].Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the metrics of %s: %s", pods.Items[0].Name, response.Status)
	}
	return parse(response.Body)
}

// APIServerMetrics reads those of the API server.
func (p *Platform) APIServerMetrics(ctx context.Context) (Metrics, error) {
	admin, err := p.Admin()
	if err != nil {
		return nil, err
	}
	text, err := admin.Logs.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	return parse(bytes.NewReader(text))
}

// Metrics are all series at one time.
type Metrics map[string]*dto.MetricFamily

func parse(text io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// Sum adds the values of a counter or gauge whose labels have the given values: name, value, name, value …; a label may
// be given several times, any of its values counts then.
func (m Metrics) Sum(name string, labels ...string) float64 {
	sum := 0.0
	for _, metric := range m[name].GetMetric() {
		if matches(metric, labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue()
		}
	}
	return sum
}

// Count is how many observations histograms with these labels have, as in Sum.
func (m Metrics) Count(name string, labels ...string) uint64 {
	count := uint64(0)
	for _, metric := range m[name].GetMetric() {
		if matches(metric, labels) {
			count += metric.GetHistogram().GetSampleCount()
		}
	}
	return count
}

func matches(metric *dto.Metric, labels []string) bool {
	allowed := map[string][]string{}
	for i := 0; i+1 < len(labels); i += 2 {
		allowed[labels[i]] = append(allowed[labels[i]], labels[i+1])
	}
	for _, label := range metric.GetLabel() {
		if values, ok := allowed[label.GetName()]; ok && !slices.Contains(values, label.GetValue()) {
			return false
		}
	}
	return true
}

// Quantile estimates a quantile of what a histogram has counted since an earlier reading: the upper bound of the bucket
// that it falls into, so that the truth is at most that. It is NaN when nothing was counted.
func (m Metrics) Quantile(q float64, since Metrics, name string, labels ...string) float64 {
	counts := map[float64]float64{}
	add := func(metrics Metrics, sign float64) {
		for _, metric := range metrics[name].GetMetric() {
			if !matches(metric, labels) {
				continue
			}
			for _, bucket := range metric.GetHistogram().GetBucket() {
				counts[bucket.GetUpperBound()] += sign * float64(bucket.GetCumulativeCount())
			}
		}
	}
	add(m, 1)
	add(since, -1)
	var bounds []float64
	total := 0.0
	for bound, count := range counts {
		bounds = append(bounds, bound)
		total = max(total, count)
	}
	slices.Sort(bounds)
	for _, bound := range bounds {
		if total > 0 && counts[bound] >= q*total {
			return bound
		}
	}
	return math.NaN()
}

// Writes counts requests of a controller's client that change something.
func (m Metrics) Writes() float64 {
	return m.Sum("rest_client_requests_total", "method", "POST", "method", "PUT", "method", "PATCH", "method", "DELETE")
}

// Resident is the memory of the process in bytes.
func (m Metrics) Resident() float64 { return m.Sum("process_resident_memory_bytes") }

// Goroutines is their number.
func (m Metrics) Goroutines() float64 { return m.Sum("go_goroutines") }
