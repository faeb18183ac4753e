package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The tenants: climate has a volume, and so a folder of its own; geology has none.
const geology = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: geology
spec:
  people:
    editors: [geology-editors]
  namespaces: [geology]
  clusters: [onprem]
  runtimes: [openmpi5-cpu]
  quota:
    cpu: 8
    memory: 16Gi
    pods: 40
    jobs: 20
  queue:
    shares:
      - profile: cpu-ethernet
        nodes: 1
`

// commits is of how many commits the seconds are told.
const commits = 20

var _ = Describe("Flux", Ordered, ContinueOnFailure, func() {
	var r *repository

	BeforeAll(func(ctx SpecContext) {
		start("KUSTOMIZE_CONTROLLER", "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0")
		Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}})).To(Succeed())
		r = newRepository()
		r.write("tenants/geology.yaml", geology)
		r.build()
	})

	It("brings everything up from nothing", func(ctx SpecContext) {
		begin := time.Now()
		run(filepath.Join(programs["KUBEBUILDER_ASSETS"], "kubectl"), "apply", "-k", filepath.Join(r.root, "dist/onprem/gitops"))
		revision, _ := r.commit(ctx)
		stages := []string{"lockstep", "lockstep-platform", "lockstep-runtimes", "lockstep-boundary-climate", "lockstep-tenant-climate", "lockstep-boundary-geology"}
		for _, stage := range stages {
			becomesReady(ctx, stage, revision)
		}
		tell("from nothing to all Ready: %.1f s", time.Since(begin).Seconds())
		Expect(found(ctx, "v1", "PersistentVolumeClaim", "climate", "observations")).To(BeTrue())
		Expect(found(ctx, "networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny")).To(BeTrue())
	})

	It("brings a change of one tenant to the cluster within ten seconds", func(ctx SpecContext) {
		var seconds []float64
		for i := range commits {
			r.write("tenants/geology.yaml", strings.Replace(geology, "pods: 40", fmt.Sprintf("pods: %d", 100+i), 1))
			r.build()
			revision, begin := r.commit(ctx)
			becomesReady(ctx, "lockstep-boundary-geology", revision)
			seconds = append(seconds, time.Since(begin).Seconds())
			Expect(pods(ctx, "geology")).To(Equal(fmt.Sprint(100 + i)))
		}
		slices.Sort(seconds)
		tell("commit to tenant Ready, %d commits: p50 %.1f s, worst %.1f s", commits, seconds[commits/2], seconds[commits-1])
		Expect(seconds[commits-1]).To(BeNumerically("<", 10))
	})

	It("keeps the old runtime where the new one is broken, says why, and holds up no tenant", func(ctx SpecContext) {
		before := get(ctx, "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "openmpi5-cpu")
		r.write("tenants/geology.yaml", strings.Replace(geology, "pods: 40", "pods: 33", 1))
		r.build()
		r.replace("dist/onprem/runtimes/runtimes.yaml", "kind: ClusterTrainingRuntime", "kind: ClusterTrainingRuntime\nunknown: field")
		r.replace("dist/onprem/runtimes/runtimes.yaml", "numNodes: ", "numNodes: -")
		revision, begin := r.commit(ctx)
		becomesReady(ctx, "lockstep-boundary-geology", revision)
		tell("commit to tenant Ready beside a broken runtime: %.1f s", time.Since(begin).Seconds())
		Expect(pods(ctx, "geology")).To(Equal("33"))
		tell("a broken runtime: %s", fails(ctx, "lockstep-runtimes", revision, "ClusterTrainingRuntime/"))
		after := get(ctx, "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "openmpi5-cpu")
		Expect(after.GetResourceVersion()).To(Equal(before.GetResourceVersion()))

		r.build()
		revision, _ = r.commit(ctx)
		becomesReady(ctx, "lockstep-runtimes", revision)
	})

	It("reverts what somebody changes by hand", func(ctx SpecContext) {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "geology", Name: "lockstep-default-deny"}}
		Expect(admin.Delete(ctx, policy)).To(Succeed())
		begin := time.Now()
		reconcile(ctx, "lockstep-boundary-geology")
		Eventually(found).WithContext(ctx).WithArguments("networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny").Should(BeTrue())
		tell("drift reverted after `flux reconcile`: %.1f s", time.Since(begin).Seconds())
	})

	for _, c := range smuggled {
		It("refuses "+c.what+" in the folder of a tenant", func(ctx SpecContext) {
			r.build()
			r.smuggle("dist/onprem/tenants/climate", c.object)
			revision, _ := r.commit(ctx)
			tell("%s: %s", c.what, fails(ctx, "lockstep-tenant-climate", revision, c.words))
			becomesReady(ctx, "lockstep-boundary-climate", revision)
			becomesReady(ctx, "lockstep-boundary-geology", revision)
			o := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte(c.object), &o.Object)).To(Succeed())
			if c.changes == "" {
				Expect(found(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())).To(BeFalse())
				return
			}
			Expect(fmt.Sprint(get(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()).Object["spec"])).NotTo(ContainSubstring(c.changes))
		})
	}

	It("never reads the folder of a tenant that has no objects of its own", func(ctx SpecContext) {
		r.build()
		r.smuggle("dist/onprem/tenants/geology", opening("geology"))
		revision, _ := r.commit(ctx)
		for _, stage := range []string{"lockstep", "lockstep-platform", "lockstep-boundary-geology", "lockstep-tenant-climate"} {
			becomesReady(ctx, stage, revision)
		}
		Expect(found(ctx, "networking.k8s.io/v1", "NetworkPolicy", "geology", "open")).To(BeFalse())
	})

	It("takes away what belongs to a tenant with the tenant, except for volumes", func(ctx SpecContext) {
		Expect(removeAll(r, "tenants/geology.yaml", "tenants/climate.yaml", "dist")).To(Succeed())
		r.write("tenants/other.yaml", strings.ReplaceAll(geology, "geology", "botany"))
		r.build()
		revision, begin := r.commit(ctx)
		becomesReady(ctx, "lockstep-boundary-botany", revision)
		Eventually(found).WithContext(ctx).WithArguments("v1", "Namespace", "", "geology").Should(BeFalse())
		for _, name := range []string{"lockstep-boundary-geology", "lockstep-boundary-climate", "lockstep-tenant-climate"} {
			Eventually(found).WithContext(ctx).WithArguments("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system", name).Should(BeFalse())
		}
		tell("tenant removed: %.1f s", time.Since(begin).Seconds())
		Expect(found(ctx, "kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "geology")).To(BeFalse())
		Expect(found(ctx, "v1", "PersistentVolumeClaim", "climate", "observations")).To(BeTrue(), "volumes are kept")
		Expect(found(ctx, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "lockstep-applier-climate")).To(BeFalse())
		Expect(found(ctx, "v1", "ServiceAccount", "flux-system", "lockstep-tenant-climate")).To(BeFalse())
	})
})

// opening is a policy that opens all egress of a namespace: policies add up.
func opening(namespace string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: open, namespace: " + namespace + "}\nspec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}\n"
}

// smuggled are objects that widen what a tenant may do, and the words of the refusal. Those that exist already are told by what they would change.
var smuggled = []struct{ what, object, words, changes string }{
	{"a NetworkPolicy that opens all egress", opening("climate"), `cannot patch resource "networkpolicies" in API group "networking.k8s.io" in the namespace "climate"`, ""},
	{"a RoleBinding to cluster-admin", binding("RoleBinding", "climate"), `cannot patch resource "rolebindings" in API group "rbac.authorization.k8s.io" in the namespace "climate"`, ""},
	{"a ClusterRoleBinding", binding("ClusterRoleBinding", ""), `cannot patch resource "clusterrolebindings" in API group "rbac.authorization.k8s.io" at the cluster scope`, ""},
	{"a namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n", `cannot patch resource "namespaces" in API group "" in the namespace "mine"`, ""},
	{
		"an object in the namespace of another tenant", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: mine, namespace: geology}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		`cannot patch resource "persistentvolumeclaims" in API group "" in the namespace "geology"`, "",
	},
	{
		"a runtime", "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: mine, namespace: climate}\nspec: {template: {spec: {}}}\n",
		`cannot patch resource "trainingruntimes" in API group "trainer.kubeflow.org" in the namespace "climate"`, "",
	},
	{
		"a wider quota", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: lockstep-quota, namespace: climate}\nspec: {hard: {pods: \"98765\"}}\n",
		`cannot patch resource "resourcequotas" in API group "" in the namespace "climate"`, "98765",
	},
	{
		"another limit", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: mine, namespace: climate}\nspec: {limits: [{type: Container, max: {cpu: \"98765\"}}]}\n",
		`cannot patch resource "limitranges" in API group "" in the namespace "climate"`, "",
	},
	{
		"a queue", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: mine, namespace: climate}\nspec: {clusterQueue: geology}\n",
		`cannot patch resource "localqueues" in API group "kueue.x-k8s.io" in the namespace "climate"`, "",
	},
	{
		"an account", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: mine, namespace: climate}\n",
		`cannot patch resource "serviceaccounts" in API group "" in the namespace "climate"`, "",
	},
}

func binding(kind, namespace string) string {
	text := "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: mine"
	if namespace != "" {
		text += ", namespace: " + namespace
	}
	return text + "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: climate-editors}]\n"
}

// becomesReady waits until a stage has applied a revision and is ready.
func becomesReady(ctx context.Context, stage, revision string) {
	GinkgoHelper()
	Eventually(func() string {
		k, ready := kustomization(ctx, stage)
		if ready == nil || ready.Status != metav1.ConditionTrue || k.Status.LastAppliedRevision != revision {
			return fmt.Sprintf("%s: %v, applied %s", stage, ready, k.Status.LastAppliedRevision)
		}
		return ""
	}).WithContext(ctx).Should(BeEmpty())
}

// fails waits until a stage says that it could not apply a revision, and returns the words.
func fails(ctx context.Context, stage, revision, words string) string {
	GinkgoHelper()
	var message string
	Eventually(func() string {
		k, ready := kustomization(ctx, stage)
		if ready == nil || k.Status.LastAttemptedRevision != revision || ready.Status != metav1.ConditionFalse {
			return ""
		}
		message = ready.Message
		return message
	}).WithContext(ctx).Should(ContainSubstring(words))
	return message
}

func kustomization(ctx context.Context, name string) (*kustomizev1.Kustomization, *metav1.Condition) {
	k := &kustomizev1.Kustomization{}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: "flux-system", Name: name}, k); err != nil {
		return k, nil
	}
	return k, apimeta.FindStatusCondition(k.Status.Conditions, "Ready")
}

// reconcile asks for a stage to be applied now, as `flux reconcile kustomization` does.
func reconcile(ctx context.Context, stage string) {
	GinkgoHelper()
	k, _ := kustomization(ctx, stage)
	before := k.DeepCopy()
	k.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": time.Now().Format(time.RFC3339Nano)}
	Expect(admin.Patch(ctx, k, client.MergeFrom(before))).To(Succeed())
}

func pods(ctx context.Context, namespace string) string {
	GinkgoHelper()
	quotas := &corev1.ResourceQuotaList{}
	Expect(admin.List(ctx, quotas, client.InNamespace(namespace))).To(Succeed())
	Expect(quotas.Items).To(HaveLen(1))
	amount := quotas.Items[0].Spec.Hard["pods"]
	return amount.String()
}

func get(ctx context.Context, apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)).To(Succeed())
	return o
}

// found says whether an object is there. The API server may be busy: then it is asked again.
func found(ctx context.Context, apiVersion, kind, namespace, name string) (bool, error) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	var there bool
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
		there = err == nil
		return err == nil || apierrors.IsNotFound(err), nil
	})
	return there, err
}

// tell writes a line of the proof.
func tell(format string, args ...any) {
	GinkgoWriter.Printf(format+"\n", args...)
	AddReportEntry(fmt.Sprintf(format, args...))
}
