package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/compile"
)

// operatorVariable names the program of Prometheus' operator; test/suite/receivers builds it.
const operatorVariable = "LOCKSTEP_PROMETHEUS_OPERATOR"

// What teams and the platform write. URLs are those of the test's own servers.
const (
	teamsCluster = `
  monitoring: {namespace: monitoring, labels: {release: prometheus}, notify: [Email, Slack, Webhook]}
`
	visionReceivers = `
  alerts:
    - {name: on-call, email: [vision@example.com], webhook: {secret: pager}}
    - {name: channel, severities: [info, warning, critical], slack: {secret: chat, key: hook}}
`
	speechReceivers = `
  alerts:
    - {name: on-call, webhook: {secret: pager}}
    - {name: forgotten, webhook: {secret: nobody-made-it}}
`
	// The receiver of the root hears only of what no other route takes: that of the platform needs one, too.
	platformConfig = `
global: {smtp_smarthost: "127.0.0.1:1", smtp_from: alerts@example.com, smtp_require_tls: false}
route: {receiver: platform, routes: [{receiver: platform}], group_wait: 0s, group_by: ['...']}
receivers: [{name: platform, webhook_configs: [{url: %q}]}]
`
)

var _ = Describe("Who is told of alerts", Label("receivers"), Ordered, func() {
	var (
		folder, config string
		told           = map[string]chan string{}
		manager        string
	)

	BeforeAll(func(ctx SpecContext) {
		if os.Getenv(operatorVariable) == "" {
			Skip("this needs Prometheus' operator: run `make test-receivers`")
		}
		folder = GinkgoT().TempDir()
		var kinds []*apiextensions.CustomResourceDefinition
		for _, crd := range pinnedCRDs() {
			if crd.Spec.Group == "monitoring.coreos.com" {
				kinds = append(kinds, crd)
			}
		}
		installKinds(kinds)
		urls := map[string]string{}
		for _, who := range []string{"platform", "vision pager", "vision chat", "speech pager"} {
			heard := make(chan string, 64)
			server := httptest.NewServer(listener(heard))
			DeferCleanup(server.Close)
			told[who], urls[who] = heard, server.URL
		}
		for _, namespace := range []string{"monitoring", "vision", "vision-batch", "speech"} {
			ensureNamespace(ctx, namespace)
		}
		for _, namespace := range []string{"vision", "vision-batch"} {
			keep(ctx, namespace, "pager", "url", urls["vision pager"])
			keep(ctx, namespace, "chat", "hook", urls["vision chat"])
		}
		keep(ctx, "speech", "pager", "url", urls["speech pager"])
		Expect(receiversOfTeams(ctx)).To(Equal(6))
		keep(ctx, "monitoring", "alertmanager-main", "alertmanager.yaml", fmt.Sprintf(platformConfig, urls["platform"]))
		Expect(admin.Create(ctx, alertmanager("main"))).To(Succeed())
		operator := exec.Command(os.Getenv(operatorVariable), "--web.listen-address="+freeAddress())
		operator.Env = append(os.Environ(), "KUBECONFIG="+adminConfig(folder))
		runUntilOver(operator, GinkgoWriter)

		config = filepath.Join(folder, "alertmanager.yaml")
		Eventually(func() (string, error) { return generated(ctx, config) }).Should(ContainSubstring("speech/lockstep-on-call/on-call"))
		manager = freeAddress()
		startServer(manager, prometheusProgram("alertmanager"), "--config.file="+config, "--storage.path="+filepath.Join(folder, "data"),
			"--web.listen-address="+manager, "--cluster.listen-address=")
	})

	It("is what Alertmanager takes", func(ctx SpecContext) {
		out, err := exec.CommandContext(ctx, prometheusProgram("amtool"), "check-config", config).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
		Expect(string(out)).To(ContainSubstring("6 receivers"), "without the one whose Secret nobody made, which silences nobody else")
	})

	It("is nobody by e-mail without an SMTP server, and nobody else either: what `notify` has to say", func(ctx SpecContext) {
		without := alertmanager("without-mail")
		keep(ctx, "monitoring", "alertmanager-without-mail", "alertmanager.yaml", "{route: {receiver: platform}, receivers: [{name: platform}]}")
		Expect(admin.Create(ctx, without)).To(Succeed())
		Eventually(func() ([]any, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(without), without)
			conditions, _, _ := unstructured.NestedSlice(without.Object, "status", "conditions")
			return conditions, err
		}).Should(ContainElement(And(HaveKeyWithValue("type", "Reconciled"), HaveKeyWithValue("message", ContainSubstring("SMTP smarthost is a mandatory field")))))
	})

	DescribeTable("is the team of the job, as the severity says, and nobody else beside the platform", func(ctx SpecContext, labels []string, receivers ...string) {
		out, err := exec.CommandContext(ctx, prometheusProgram("amtool"), append([]string{"config", "routes", "test", "--config.file=" + config}, labels...)...).Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Split(strings.TrimSpace(string(out)), ",")).To(ConsistOf(append(receivers, "platform")))
	},
		Entry("a failed job", []string{"alertname=TrainJobMPIFailed", "severity=warning", "namespace=vision"}, "vision/lockstep-channel/channel", "vision/lockstep-on-call/on-call"),
		Entry("in another namespace of the team", []string{"alertname=TrainJobMPIIdle", "severity=warning", "namespace=vision-batch"}, "vision-batch/lockstep-channel/channel", "vision-batch/lockstep-on-call/on-call"),
		Entry("of another team", []string{"alertname=TrainJobMPIFailed", "severity=warning", "namespace=speech"}, "speech/lockstep-on-call/on-call"),
		Entry("what is only worth knowing", []string{"alertname=TrainJobMPIRestarted", "severity=info", "namespace=vision"}, "vision/lockstep-channel/channel"),
		Entry("and nobody wants to know", []string{"alertname=TrainJobMPIRestarted", "severity=info", "namespace=speech"}),
		Entry("of a namespace of nobody", []string{"alertname=TrainJobMPIFailed", "severity=warning", "namespace=visio"}),
		Entry("of the controller", []string{"alertname=MPIControllerDown", "severity=critical"}),
		Entry("that is not ours", []string{"alertname=KubePodCrashLooping", "severity=warning", "namespace=vision"}),
	)

	It("is told by webhook and Slack, with words and the page", func(ctx SpecContext) {
		alert := []map[string]any{{
			"labels":      map[string]string{"alertname": "TrainJobMPIFailed", "severity": "warning", "namespace": "vision", "trainjob": "lost"},
			"annotations": map[string]string{"summary": "TrainJob vision/lost failed with OOMKilled.", "runbook_url": "https://docs.example.com/failures/OOMKilled", "logs_url": "https://logs.example.com/vision?q=%22lost%22"},
		}}
		body, err := json.Marshal(alert)
		Expect(err).NotTo(HaveOccurred())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+manager+"/api/v2/alerts", bytes.NewReader(body))
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Body.Close()).To(Succeed())
		Expect(answer.StatusCode).To(Equal(http.StatusOK))
		words := And(ContainSubstring("TrainJob vision/lost failed with OOMKilled."), ContainSubstring("https://docs.example.com/failures/OOMKilled"), ContainSubstring("https://logs.example.com/vision?q=%22lost%22"))
		for _, who := range []string{"platform", "vision pager", "vision chat"} {
			Eventually(told[who]).Should(Receive(words), who)
		}
		Consistently(told["speech pager"], "2s").ShouldNot(Receive())
	})
})

// alertmanager is one that tells teams, in the version of Debian, which reads what comes out.
func alertmanager(name string) *unstructured.Unstructured {
	return unstructuredOf(map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "Alertmanager", "metadata": map[string]any{"name": name, "namespace": "monitoring"},
		"spec": map[string]any{
			"version":                             "v0.25.0",
			"alertmanagerConfigSelector":          map[string]any{"matchLabels": map[string]any{"release": "prometheus"}},
			"alertmanagerConfigNamespaceSelector": map[string]any{},
		},
	})
}

// receiversOfTeams makes what is compiled of receivers, and returns how many there are.
func receiversOfTeams(ctx context.Context) int {
	GinkgoHelper()
	made := 0
	for _, object := range decodeFiles(compiledBase(teamsCluster, func(files fstest.MapFS) {
		vision := string(files["tenants/vision.yaml"].Data)
		speech := strings.ReplaceAll(vision, "vision", "speech")
		files["tenants/vision.yaml"].Data = []byte(strings.Replace(vision, "[vision]", "[vision, vision-batch]", 1) + visionReceivers)
		files["tenants/speech.yaml"] = &fstest.MapFile{Data: []byte(speech + speechReceivers)}
	})) {
		if object.GetKind() == "AlertmanagerConfig" {
			Expect(client.WithFieldValidation(admin, "Strict").Create(ctx, object)).To(Succeed())
			made++
		}
	}
	return made
}

// compiledBase compiles the small bundle of the compiler's own tests, with more in the spec of its cluster and with other files.
func compiledBase(cluster string, change func(fstest.MapFS)) compile.Cluster {
	GinkgoHelper()
	files := fstest.MapFS{}
	for _, name := range []string{"catalog/profile.yaml", "catalog/runtime.yaml", "tenants/vision.yaml", "overlays/local/cluster.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../pkg/compile/testdata/base", name))
		Expect(err).NotTo(HaveOccurred())
		files[name] = &fstest.MapFile{Data: text}
	}
	files["overlays/local/cluster.yaml"].Data = append(files["overlays/local/cluster.yaml"].Data, cluster...)
	if change != nil {
		change(files)
	}
	clusters, diagnostics := compile.Compile(files, compile.Options{})
	Expect(diagnostics.Errors()).To(BeZero())
	return clusters[0]
}

// keep makes a Secret with one key.
func keep(ctx context.Context, namespace, name, key, value string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{key: value}})).To(Succeed())
}

// generated writes the configuration that the operator has made for Alertmanager, and returns it.
func generated(ctx context.Context, path string) (string, error) {
	secret := &corev1.Secret{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: "monitoring", Name: "alertmanager-main-generated"}, secret); err != nil {
		return "", err
	}
	packed, err := gzip.NewReader(bytes.NewReader(secret.Data["alertmanager.yaml.gz"]))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		return "", err
	}
	return string(text), os.WriteFile(path, text, 0o600)
}

// listener hands over what is sent to it.
func listener(heard chan<- string) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			heard <- string(body)
		}
	}
}
