package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const dashboardChart = "../../charts/mpi-dashboard"

var _ = Describe("The chart of mpi-dashboard", ofTheCompiler, func() {
	issuer := map[string]any{"issuer": "https://login.example.com"}
	DescribeTable("renders objects that the API server accepts", func(
		ctx SpecContext, values map[string]any, kinds ...string,
	) {
		ensureNamespace(ctx, controllerNamespace)
		values["host"], values["proxy"] = dashboardHost, map[string]any{"image": "registry.example.com/proxy:v1"}
		objects, err := renderChart(dashboardChart, values)
		Expect(err).NotTo(HaveOccurred())
		var got []string
		for _, object := range objects {
			got = append(got, object.GetKind())
			if object.GetKind() != "Route" { // of OpenShift
				err := admin.Create(ctx, object, client.DryRunAll, client.FieldValidation("Strict"))
				Expect(err).NotTo(HaveOccurred(), object.GetKind())
			}
		}
		Expect(got).To(ConsistOf(append(kinds, "Deployment", "NetworkPolicy", "Service", "ServiceAccount")))
	},
		Entry("with a provider", map[string]any{"login": issuer}, "Ingress", "PodDisruptionBudget"),
		Entry("alone", map[string]any{"replicas": 1, "login": issuer}, "Ingress"),
		Entry("on OpenShift", map[string]any{"openshift": true}, "Route", "PodDisruptionBudget"),
		Entry("on OpenShift, with a provider", map[string]any{
			"openshift": true, "login": map[string]any{"issuer": "https://login.example.com", "groups": []any{"a", "b"}},
		}, "Route", "PodDisruptionBudget"),
	)

	It("refuses values that cannot work", func() {
		image, plain := map[string]any{"image": "x"}, map[string]any{"issuer": "http://login.example.com"}
		for name, values := range map[string]map[string]any{
			"no host":                        {"proxy": image, "login": issuer},
			"no proxy":                       {"host": dashboardHost, "login": issuer},
			"no login, and not on OpenShift": {"host": dashboardHost, "proxy": image},
			"a provider without HTTPS":       {"host": dashboardHost, "proxy": image, "login": plain},
			"groups of OpenShift": {
				"host": dashboardHost, "proxy": image, "openshift": true, "login": map[string]any{"groups": []any{"a"}},
			},
			"a host with a scheme and a path": {"host": "https://x/y", "proxy": image, "login": issuer},
		} {
			_, err := renderChart(dashboardChart, values)
			Expect(err).To(HaveOccurred(), name)
		}
	})
})
