package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/mixin"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
	"lockstep.dev/lockstep/test/prometheus"
)

// prometheusProgram is a program of Prometheus or Alertmanager; test/suite/prometheus fills their folder.
func prometheusProgram(name string) string {
	folder := os.Getenv(prometheus.Folder)
	if folder == "" {
		Skip("SKIPPED: this needs Prometheus: run `make test-integration`, or set " + prometheus.Folder + " to the folder with prometheus, alertmanager and promtool")
	}
	return filepath.Join(folder, name)
}

const mixinFolder = "../../mixin"

var _ = Describe("The alerts", ofTheCompiler, func() {
	It("fire when they should and are quiet otherwise, as promtool judges", func(ctx SpecContext) {
		tests, err := filepath.Glob(mixinFolder + "/testdata/*_test.yaml")
		Expect(err).NotTo(HaveOccurred())
		out, err := exec.CommandContext(ctx, prometheusProgram("promtool"), append([]string{"test", "rules"}, tests...)...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
	})

	It("lead to the logs of a failed job, where the cluster says where they are", func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		for _, object := range decodeFiles(compiledBase("\n  monitoring: {namespace: monitoring}\n  logs: https://logs.example.com/{namespace}?q=%22{job}%22&from={from}&to={to}\n  docs: {baseURL: \"https://docs.example.com\"}\n", nil)) {
			if object.GetKind() == "PrometheusRule" {
				rules, err := yaml.Marshal(object.Object["spec"])
				Expect(err).NotTo(HaveOccurred())
				Expect(os.WriteFile(filepath.Join(folder, object.GetName()+".yaml"), rules, 0o600)).To(Succeed())
			}
		}
		test := filepath.Join(folder, "test.yaml")
		Expect(os.WriteFile(test, []byte(failedAtDayTwo), 0o600)).To(Succeed())
		out, err := exec.CommandContext(ctx, prometheusProgram("promtool"), "test", "rules", test).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
	})
})

// failedAtDayTwo is a job that failed two days after the beginning of time.
const failedAtDayTwo = `
rule_files: [lockstep-trainjobs.yaml]
evaluation_interval: 1m
tests:
- interval: 1h
  input_series:
  - {series: 'mpi_trainjob_status{namespace="team",trainjob="lost",phase="Failed",reason="OOMKilled",class="application"}', values: _x48 1x4}
  - {series: 'mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="lost"}', values: _x48 172800x4}
  - {series: 'mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="other"}', values: 7x60}
  alert_rule_test:
  - alertname: TrainJobMPIFailed
    eval_time: 48h1m
    exp_alerts:
    - exp_labels: {severity: warning, namespace: team, trainjob: lost, reason: OOMKilled, class: application}
      exp_annotations:
        summary: TrainJob team/lost failed with OOMKilled.
        description: "The failure is one of the application. What happened, where, and what to do stands in the job itself: kubectl mpi why lost -n team"
        runbook_url: https://docs.example.com/failures/OOMKilled
        logs_url: https://logs.example.com/team?q=%22lost%22&from=86400000&to=172860000
`

var _ = Describe("An alert", func() {
	const metrics = "127.0.0.1:19445"

	It("comes from a failed job through Prometheus and Alertmanager to a person, with the page of the reason", func(ctx SpecContext) {
		prometheusProgram("prometheus")
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		runController(reconciler.Options{LeaderElection: true, MetricsAddress: metrics})
		told := make(chan notification, 16)
		person := httptest.NewServer(receiver(told))
		DeferCleanup(person.Close)
		folder := GinkgoT().TempDir()
		manager := startAlertmanager(folder, person.URL)
		server := startPrometheus(ctx, metrics, manager)

		namespace := newNamespace(ctx)
		refused := ofRuntime(ctx, trainJobNamed(namespace, "refused"))
		refused.Spec.Trainer.NumNodes = ptr.To[int32](0)
		asked := time.Now()
		Expect(admin.Create(ctx, refused)).To(Succeed())

		var alert notification
		// Jobs of other specs may have failed a moment ago.
		Eventually(told).Should(Receive(&alert, HaveField("Labels", HaveKeyWithValue("namespace", namespace))))
		AddReportEntry("from the creation of a job that cannot be to the alert", time.Since(asked).Round(100*time.Millisecond).String())
		Expect(alert.Labels).To(And(HaveKeyWithValue("alertname", "TrainJobMPIFailed"),
			HaveKeyWithValue("trainjob", "refused"), HaveKeyWithValue("reason", string(diagnose.InvalidWorld)), HaveKeyWithValue("class", "request")))
		Expect(alert.Annotations["runbook"]).To(Equal("kubectl mpi explain " + string(diagnose.InvalidWorld)))
		Expect(queried(ctx, server, fmt.Sprintf(`ALERTS{alertname!="TrainJobMPIFailed", namespace=%q}`, namespace))()).To(BeEmpty(), "no other alert")

		for _, query := range dashboardQueries(shippedDashboards()) {
			_, err := queried(ctx, server, query)()
			Expect(err).NotTo(HaveOccurred())
		}
		expectFoundUnderEnforcedLabel(ctx, metrics, namespace)

		Expect(admin.Delete(ctx, refused)).To(Succeed())
		Eventually(queried(ctx, server, fmt.Sprintf(`mpi_trainjob_status{namespace=%q}`, namespace))).Should(BeEmpty(), "the series ends with its job")
	})
})

// expectFoundUnderEnforcedLabel expects that rules and dashboards for OpenShift's monitoring of users' projects find a
// refused job in a Prometheus that replaces the namespaces of jobs.
func expectFoundUnderEnforcedLabel(ctx context.Context, metrics, namespace string) {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	dashboards := map[string]string{}
	const monitored = "\n  monitoring: {namespace: openshift-user-workload-monitoring, dashboards: true}\n"
	for _, object := range decodeFiles(compiledBase(monitored, func(files fstest.MapFS) {
		spec := files["overlays/local/cluster.yaml"]
		spec.Data = bytes.Replace(spec.Data, []byte("platform: Kubernetes"), []byte("platform: OpenShift"), 1)
	})) {
		switch board, _, _ := unstructured.NestedStringMap(object.Object, "data"); {
		case object.GetKind() == "PrometheusRule":
			rules, err := yaml.Marshal(object.Object["spec"])
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(filepath.Join(folder, object.GetName()+".yaml"), rules, 0o600)).To(Succeed())
		case object.GetLabels()["grafana_dashboard"] != "":
			maps.Copy(dashboards, board)
		}
	}
	server, err := prometheus.Start(ctx, filepath.Dir(prometheusProgram("prometheus")), prometheus.Config{
		Interval: time.Second, Rules: folder + "/*.yaml", Controller: metrics, TLS: true, Enforced: controllerNamespace,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Close)
	alert := fmt.Sprintf(`ALERTS{alertname="TrainJobMPIFailed", exported_namespace=%q, trainjob="refused"}`, namespace)
	Eventually(queried(ctx, server.Address, alert)).ShouldNot(BeEmpty())
	for _, query := range dashboardQueries(dashboards) {
		_, err := queried(ctx, server.Address, query)()
		Expect(err).NotTo(HaveOccurred(), query)
	}
	const table = `max by (exported_namespace, trainjob, runtime, queue, phase, reason, class) ` +
		`(mpi_trainjob_status{exported_namespace=~"$namespace", reason!=""})`
	Expect(queried(ctx, server.Address, strings.Replace(table, "$namespace", namespace, 1))()).NotTo(BeEmpty())
	Expect(dashboards["platform.json"]).To(ContainSubstring(strings.ReplaceAll(table, `"`, `\"`)))
}

// notification is what Alertmanager sends of an alert.
type notification struct {
	Labels, Annotations map[string]string
}

// shippedDashboards are the dashboards of the mixin, by their files.
func shippedDashboards() map[string]string {
	GinkgoHelper()
	paths, err := fs.Glob(mixin.Dashboards, "dashboards/*.json")
	Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for _, path := range paths {
		text, err := mixin.Dashboards.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		all[path] = string(text)
	}
	return all
}

// dashboardQueries are what the panels of dashboards ask, of one namespace and one job.
func dashboardQueries(dashboards map[string]string) []string {
	GinkgoHelper()
	var queries []string
	for _, text := range dashboards {
		var board struct {
			Panels []struct{ Targets []struct{ Expr string } }
		}
		Expect(json.Unmarshal([]byte(text), &board)).To(Succeed())
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				queries = append(queries, strings.NewReplacer("$namespace", "team", "$job", "demo").Replace(target.Expr))
			}
		}
	}
	Expect(len(queries)).To(BeNumerically(">", 10))
	return queries
}

func receiver(told chan<- notification) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Alerts []notification }
		// A request knows that nobody waits for its answer any more only when it has been read to its end.
		if body, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(body, &message) == nil {
			for _, alert := range message.Alerts {
				select {
				case told <- alert:
				case <-r.Context().Done(): // the spec is over and reads no more, which must not keep this server from ending
				}
			}
		}
	}
}

// startAlertmanager returns the address of one that tells everything at once.
func startAlertmanager(folder, receiver string) string {
	GinkgoHelper()
	config := filepath.Join(folder, "alertmanager.yaml")
	Expect(os.WriteFile(config, fmt.Appendf(nil, "route: {receiver: person, group_wait: 0s, group_by: ['...']}\nreceivers: [{name: person, webhook_configs: [{url: %q}]}]\n", receiver), 0o600)).To(Succeed())
	address := freeAddress()
	startServer(address, prometheusProgram("alertmanager"), "--config.file="+config, "--storage.path="+filepath.Join(folder, "alertmanager"),
		"--web.listen-address="+address, "--cluster.listen-address=")
	return address
}

// startPrometheus returns the address of one that scrapes a controller every second and has the rules of the mixin.
func startPrometheus(ctx context.Context, metrics, alertmanager string) string {
	GinkgoHelper()
	rules, err := filepath.Abs(mixinFolder + "/alerts/*.yaml")
	Expect(err).NotTo(HaveOccurred())
	server, err := prometheus.Start(ctx, filepath.Dir(prometheusProgram("prometheus")), prometheus.Config{
		Interval: time.Second, Rules: rules, Alertmanager: alertmanager, Controller: metrics, TLS: true,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Close)
	return server.Address
}

// startServer runs a program until the spec is over, and waits until it answers.
func startServer(address, program string, arguments ...string) {
	GinkgoHelper()
	server := exec.Command(program, arguments...)
	server.Stdout, server.Stderr = GinkgoWriter, GinkgoWriter
	Expect(server.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	Eventually(func() (string, error) {
		answer, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return "", err
		}
		return answer.Status, answer.Body.Close()
	}).Should(Equal("200 OK"))
}

func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// queried are the results of a query of Prometheus.
func queried(ctx context.Context, server, query string) func() ([]any, error) {
	return func() ([]any, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+server+"/api/v1/query", nil)
		if err != nil {
			return nil, err
		}
		values := request.URL.Query()
		values.Set("query", query)
		request.URL.RawQuery = values.Encode()
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }()
		var body struct {
			Status, Error string
			Data          struct{ Result []any }
		}
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.Status != "success" {
			return nil, fmt.Errorf("query %s: %s %w", query, body.Error, err)
		}
		return body.Data.Result, nil
	}
}
