package integration

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	controllerNamespace = "lockstep-system"
	controllerChart     = "../../charts/mpi-controller"
)

// render returns the objects of the chart of mpi-controller.
func render(values map[string]any) ([]*unstructured.Unstructured, error) {
	return renderChart(controllerChart, values)
}

// renderChart returns the objects of a chart with the Helm engine alone, as the compiler renders it.
func renderChart(folder string, values map[string]any) ([]*unstructured.Unstructured, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: path.Base(folder), Namespace: controllerNamespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		decoded, err := decode(files[name])
		if err != nil {
			return nil, err
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

// everywhere are values with which jobs run in all namespaces, unless they say where: in this suite no compiler binds a role in those that
// tests make.
func everywhere(values map[string]any) map[string]any {
	all := map[string]any{"everyNamespace": true}
	maps.Copy(all, values)
	return all
}

// scopes are the rights of the controller by where its bindings make them hold. What no binding of the chart names is nowhere.
type scopes struct{ everywhere, own, nowhere []string }

func scopesOf(values map[string]any, everyNamespace bool) scopes {
	GinkgoHelper()
	all := maps.Clone(values)
	all["everyNamespace"] = everyNamespace
	objects, err := render(all)
	Expect(err).NotTo(HaveOccurred())
	bound := map[string]bool{}
	for _, object := range objects {
		if strings.HasSuffix(object.GetKind(), "RoleBinding") {
			kind, _, _ := unstructured.NestedString(object.Object, "roleRef", "kind")
			name, _, _ := unstructured.NestedString(object.Object, "roleRef", "name")
			bound[kind+" "+name] = true
		}
	}
	var s scopes
	for _, object := range objects {
		switch kind := object.GetKind(); {
		case kind == "ClusterRole" && bound[kind+" "+object.GetName()]:
			s.everywhere = append(s.everywhere, rightsIn(object)...)
		case kind == "ClusterRole":
			s.nowhere = append(s.nowhere, rightsIn(object)...)
		case kind == "Role" && bound[kind+" "+object.GetName()]:
			s.own = append(s.own, rightsIn(object)...)
		}
	}
	return s
}

func decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

var _ = Describe("The chart of mpi-controller", Ordered, func() {
	BeforeAll(func(ctx SpecContext) { ensureNamespace(ctx, controllerNamespace) })

	DescribeTable("renders objects that the API server accepts", func(ctx SpecContext, values map[string]any, count int) {
		objects, err := render(values)
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(HaveLen(count))
		for _, object := range objects {
			err := admin.Create(ctx, object.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict"))
			Expect(client.IgnoreAlreadyExists(err)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
		}
	},
		Entry("with its defaults", map[string]any{}, 10),
		Entry("without leader election", map[string]any{"leaderElection": false}, 10),
		Entry("without a fixed user, for OpenShift", map[string]any{"podSecurity": map[string]any{"user": nil}}, 10),
		Entry("for all namespaces", everywhere(nil), 11),
		Entry("for all namespaces, without leader election, which needs no lease", everywhere(map[string]any{"leaderElection": false}), 9),
		Entry("beside Kubeflow Trainer", everywhere(map[string]any{"mode": "companion"}), 13),
		Entry("with a standby, which a PodDisruptionBudget keeps", map[string]any{"replicas": 2}, 11),
		Entry("with a Prometheus, which gets an account and a token", map[string]any{"metrics": map[string]any{"scrapedFrom": "monitoring"}}, 13),
		Entry("beside Kubeflow Trainer, alone", everywhere(map[string]any{"mode": "companion", "leaderElection": false}), 13),
	)

	It("lets the controller touch no Secret of a namespace that nobody gave it, with its defaults", func() {
		objects, err := render(nil)
		Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			if object.GetKind() == "ClusterRoleBinding" {
				Expect(object.GetName()).NotTo(Equal("mpi-controller-jobs"))
			}
		}
	})

	DescribeTable("refuses values that cannot work", func(values map[string]any) {
		_, err := render(values)
		Expect(err).To(HaveOccurred())
	},
		Entry("an unknown key", map[string]any{"replicaCount": 2}),
		Entry("a mode that is none", map[string]any{"mode": "both"}),
		Entry("two replicas without leader election", map[string]any{"replicas": 2, "leaderElection": false}),
		Entry("an image digest that is none", map[string]any{"image": map[string]any{"repository": "x", "digest": "latest"}}),
	)

	DescribeTable("grants the same with and without everyNamespace, and in its own namespace what it does there", func(values map[string]any, own []string) {
		wide, narrow := scopesOf(values, true), scopesOf(values, false)
		Expect(wide.nowhere).To(BeEmpty(), "each ClusterRole is bound")
		Expect(append(slices.Clone(narrow.everywhere), narrow.nowhere...)).To(ConsistOf(wide.everywhere), "the compiler binds the rest in the namespaces of tenants")
		for _, right := range own {
			Expect(append(wide.everywhere, wide.own...)).To(ContainElement(right))
			Expect(append(narrow.everywhere, narrow.own...)).To(ContainElement(right))
		}
		Expect(narrow.everywhere).NotTo(ContainElement(ContainSubstring("secrets")), "no Secret outside the namespaces of tenants")
	},
		Entry("executor", map[string]any{}, []string{
			"create leases.coordination.k8s.io", "get leases.coordination.k8s.io", "update leases.coordination.k8s.io", "create events.",
		}),
		Entry("executor, alone", map[string]any{"leaderElection": false}, []string{"create events."}),
		Entry("companion", map[string]any{"mode": "companion"}, []string{
			"create leases.coordination.k8s.io", "get leases.coordination.k8s.io", "update leases.coordination.k8s.io",
			"create secrets.", "get secrets.", "delete secrets.",
		}),
		Entry("companion, alone", map[string]any{"mode": "companion", "leaderElection": false}, []string{"create secrets.", "get secrets.", "delete secrets."}),
	)

	It("lets only the monitoring namespace read metrics, where it is known", func() {
		objects, err := render(map[string]any{"metrics": map[string]any{"scrapedFrom": "monitoring"}})
		Expect(err).NotTo(HaveOccurred())
		policy := objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "NetworkPolicy" })]
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "ingress")
		Expect(err).NotTo(HaveOccurred())
		Expect(rules[0]).To(HaveKeyWithValue("from", ConsistOf(map[string]any{
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "monitoring"}},
		})))
		Expect(rules[1]).NotTo(HaveKey("from"), "kubelet's probes come from no pod")
	})

	It("passes PodSecurity restricted", func(ctx SpecContext) {
		objects, err := render(nil)
		Expect(err).NotTo(HaveOccurred())
		ensureNamespace(ctx, controllerNamespace)
		deployment := objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })]
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		template, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
		Expect(err).NotTo(HaveOccurred())
		pod.Object["spec"] = template
		pod.SetName("controller")
		pod.SetNamespace(restrictedNamespace(ctx))
		delete(template, "serviceAccountName")
		Expect(admin.Create(ctx, pod, client.DryRunAll)).To(Succeed())
	})
})
