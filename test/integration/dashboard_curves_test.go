package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/dashboard"
	"lockstep.dev/lockstep/test/prometheus"
)

var _ = Describe("The curves of a job", ofTheCompiler, func() {
	It("come from a real Prometheus, of the pods of that job alone", func(ctx SpecContext) {
		programs := filepath.Dir(prometheusProgram("prometheus"))
		namespace := newNamespace(ctx)
		Expect(admin.Create(ctx, trainJobNamed(namespace, "train"))).To(Succeed())
		began := time.Now()
		kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			pods := []string{"train-launcher-0-0-abcde", "train-node-0-1-fghij", "training-node-0-0-klmno", "other"}
			for _, pod := range pods {
				labels := fmt.Sprintf(`{namespace=%q,pod=%q,container="node"}`, namespace, pod)
				seconds := time.Since(began).Seconds()
				fmt.Fprintf(w, "container_memory_working_set_bytes%s 1048576\n", labels)
				for _, counter := range []string{"cpu_usage_seconds", "network_receive_bytes", "network_transmit_bytes"} {
					fmt.Fprintf(w, "container_%s_total%s %f\n", counter, labels, seconds)
				}
			}
		}))
		DeferCleanup(kubelet.Close)
		server, err := prometheus.Start(ctx, programs, prometheus.Config{
			Interval: time.Second, Rules: mixinFolder + "/none", Controller: strings.TrimPrefix(kubelet.URL, "http://"),
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		serving, end := context.WithCancel(context.Background())
		DeferCleanup(end)
		user := dashboard.User{Key: "admin", Config: environment.Config, Namespace: namespace}
		who := func(*http.Request) (dashboard.User, error) { return user, nil }
		page := dashboard.New(serving, "v0", who, dashboard.DefaultLimits)
		page.Prometheus.URL = "http://" + server.Address

		Eventually(func() (map[string][]string, error) {
			answer := httptest.NewRecorder()
			path := "/api/v1/trainjobs/" + namespace + "/train/curves"
			page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			var curves dashboard.Curves
			if err := json.Unmarshal(answer.Body.Bytes(), &curves); err != nil || len(curves.Withheld) > 0 {
				return nil, fmt.Errorf("%s: %w", answer.Body, err)
			}
			found := map[string][]string{}
			for _, c := range curves.Items {
				if len(c.Points) > 0 {
					found[c.Metric] = append(found[c.Metric], c.Pod)
				}
			}
			return found, nil
		}).WithTimeout(time.Minute).Should(And(
			HaveKeyWithValue("cpu", []string{"train-launcher-0-0-abcde", "train-node-0-1-fghij"}),
			HaveKeyWithValue("memory", HaveLen(2)), HaveKeyWithValue("network", HaveLen(2)), Not(HaveKey("gpu"))))
	})
})
