package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var _ = Describe("Argo CD", Ordered, ContinueOnFailure, func() {
	var g *gitServer

	BeforeAll(func(ctx SpecContext) {
		startCluster()
		g = newGitServer(newRepository())
		g.replace("overlays/onprem/cluster.yaml", "engine: Flux", "engine: ArgoCD")
		g.replace("overlays/onprem/cluster.yaml", "https://git.example.com/platform/mpi.git", g.url)
		g.write("tenants/geology.yaml", geology)
		g.build()
		startArgoCD(ctx, g.url)
	})

	It("brings everything up from nothing", func(ctx SpecContext) {
		revision, begin := g.push(), time.Now()
		run(filepath.Join(programs["KUBEBUILDER_ASSETS"], "kubectl"), "apply", "-k", filepath.Join(g.root, "dist/onprem/gitops"))
		for _, name := range []string{"lockstep", "lockstep-platform", "lockstep-runtimes", "lockstep-boundary-climate", "lockstep-tenant-climate", "lockstep-boundary-geology"} {
			syncs(ctx, name, revision)
		}
		tell("from nothing to all Synced and Healthy: %.1f s", time.Since(begin).Seconds())
		Expect(found(ctx, "v1", "PersistentVolumeClaim", "climate", "observations")).To(BeTrue())
		Expect(found(ctx, "networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny")).To(BeTrue())
	})

	It("brings a change of one tenant to the cluster within ten seconds", func(ctx SpecContext) {
		var seconds []float64
		for i := range commits {
			g.write("tenants/geology.yaml", strings.Replace(geology, "pods: 40", fmt.Sprintf("pods: %d", 100+i), 1))
			g.build()
			revision, begin := g.push(), time.Now()
			refresh(ctx)
			syncs(ctx, "lockstep-boundary-geology", revision)
			seconds = append(seconds, time.Since(begin).Seconds())
			Expect(pods(ctx, "geology")).To(Equal(fmt.Sprint(100 + i)))
		}
		slices.Sort(seconds)
		tell("commit to tenant Synced, %d commits: p50 %.1f s, worst %.1f s", commits, seconds[commits/2], seconds[commits-1])
		Expect(seconds[commits-1]).To(BeNumerically("<", 10))
	})

	It("keeps the old runtime where the new one is broken, says why, and holds up no tenant and no later commit", func(ctx SpecContext) {
		before := get(ctx, "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "openmpi5-cpu")
		g.write("tenants/geology.yaml", strings.Replace(geology, "pods: 40", "pods: 33", 1))
		g.build()
		g.replace("dist/onprem/runtimes/runtimes.yaml", "kind: ClusterTrainingRuntime", "kind: ClusterTrainingRuntime\nunknown: field")
		revision, begin := g.push(), time.Now()
		refresh(ctx)
		syncs(ctx, "lockstep-boundary-geology", revision)
		tell("commit to tenant Synced beside a broken runtime: %.1f s", time.Since(begin).Seconds())
		Expect(pods(ctx, "geology")).To(Equal("33"))
		tell("a broken runtime: %s", refuses(ctx, "lockstep-runtimes", revision, "unknown"))
		after := get(ctx, "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "openmpi5-cpu")
		Expect(after.GetResourceVersion()).To(Equal(before.GetResourceVersion()))

		g.build()
		g.write("dist/onprem/runtimes/mended", "")
		revision, begin = g.push(), time.Now()
		refresh(ctx)
		syncs(ctx, "lockstep-runtimes", revision)
		tell("the good commit after it, to runtimes Synced: %.1f s", time.Since(begin).Seconds())
	})

	It("reverts what somebody changes by hand", func(ctx SpecContext) {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "geology", Name: "lockstep-default-deny"}}
		Expect(admin.Delete(ctx, policy)).To(Succeed())
		begin := time.Now()
		Eventually(found).WithContext(ctx).WithArguments("networking.k8s.io/v1", "NetworkPolicy", "geology", "lockstep-default-deny").Should(BeTrue())
		tell("drift reverted: %.1f s", time.Since(begin).Seconds())
	})

	for _, c := range smuggled {
		It("refuses "+c.what+" in the folder of a tenant", func(ctx SpecContext) {
			g.build()
			g.smuggle("dist/onprem/tenants/climate", c.object)
			revision := g.push()
			refresh(ctx)
			tell("%s: %s", c.what, refuses(ctx, "lockstep-tenant-climate", revision, c.argoWords+" is not permitted in project"))
			terminate(ctx, "lockstep-tenant-climate")
			syncs(ctx, "lockstep-boundary-climate", revision)
			syncs(ctx, "lockstep-boundary-geology", revision)
			o := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte(c.object), &o.Object)).To(Succeed())
			if c.changes == "" {
				Expect(found(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())).To(BeFalse())
				return
			}
			Expect(fmt.Sprint(get(ctx, o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()).Object["spec"])).NotTo(ContainSubstring(c.changes))
		})
	}

	It("applies a good commit after one that it refused, when it has given that up", func(ctx SpecContext) {
		g.build()
		g.smuggle("dist/onprem/tenants/climate", opening("climate"))
		bad := g.push()
		refresh(ctx)
		refuses(ctx, "lockstep-tenant-climate", bad, "is not permitted in project")
		g.build()
		g.replace("dist/onprem/tenants/climate/tenant.yaml", "  labels:\n", "  labels:\n    example.com/commit: good\n")
		good, begin := g.push(), time.Now()
		refresh(ctx)
		syncs(ctx, "lockstep-tenant-climate", good)
		Expect(get(ctx, "v1", "PersistentVolumeClaim", "climate", "observations").GetLabels()).To(HaveKeyWithValue("example.com/commit", "good"))
		tell("a good commit after one that was refused, to tenant Synced: %.1f s", time.Since(begin).Seconds())
	})

	It("never reads the folder of a tenant that has no objects of its own", func(ctx SpecContext) {
		g.build()
		g.smuggle("dist/onprem/tenants/geology", opening("geology"))
		revision := g.push()
		refresh(ctx)
		for _, name := range []string{"lockstep", "lockstep-platform", "lockstep-boundary-geology", "lockstep-tenant-climate"} {
			syncs(ctx, name, revision)
		}
		Expect(found(ctx, "networking.k8s.io/v1", "NetworkPolicy", "geology", "open")).To(BeFalse())
	})

	var jobs *gitServer
	startJobs := func() *gitServer {
		if jobs == nil {
			jobs = g.beside(&repository{root: GinkgoT().TempDir()}, "jobs")
			register(context.Background(), "jobs", jobs.url)
		}
		return jobs
	}
	deliver := func(from *gitServer) func(context.Context) string {
		return func(ctx context.Context) string {
			revision := from.push()
			refresh(ctx)
			return revision
		}
	}
	tenantJobs(func() *engine {
		return &engine{repository: g.repository, deliver: deliver(g), applies: syncs}
	}, func() *engine {
		return &engine{
			repository: startJobs().repository, deliver: deliver(startJobs()), applies: syncs,
			refuses: func(ctx context.Context, stage, revision, words string) {
				refuses(ctx, stage, revision, words)
				terminate(ctx, stage)
			},
		}
	}, func() string { return startJobs().url })

	It("takes away what belongs to a tenant with the tenant, except for volumes", func(ctx SpecContext) {
		g.remove("tenants/geology.yaml", "tenants/climate.yaml", "dist")
		g.write("tenants/other.yaml", strings.ReplaceAll(geology, "geology", "botany"))
		g.build()
		revision, begin := g.push(), time.Now()
		refresh(ctx)
		syncs(ctx, "lockstep-boundary-botany", revision)
		Eventually(found).WithContext(ctx).WithArguments("v1", "Namespace", "", "geology").Should(BeFalse())
		for _, name := range []string{"lockstep-boundary-geology", "lockstep-boundary-climate", "lockstep-tenant-climate"} {
			Eventually(found).WithContext(ctx).WithArguments(argoVersion, "Application", "argocd", name).Should(BeFalse())
		}
		tell("tenant removed: %.1f s", time.Since(begin).Seconds())
		Expect(found(ctx, "kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "geology")).To(BeFalse())
		Expect(found(ctx, "v1", "PersistentVolumeClaim", "climate", "observations")).To(BeTrue(), "volumes are kept")
	})

	dayOfChanges(func() *engine {
		return &engine{
			name: "Argo CD", repository: g.repository,
			deliver: func(ctx context.Context) string {
				revision := g.push()
				refresh(ctx)
				return revision
			},
			applies: applies,
			refuses: func(ctx context.Context, stage, revision, words string) {
				refuses(ctx, stage, revision, words)
				if phase, _, _ := unstructured.NestedString(applicationStatus(ctx, stage), "operationState", "phase"); phase == "Running" {
					terminate(ctx, stage)
				}
			},
			pause: pause,
		}
	})
})

const argoVersion = "argoproj.io/v1alpha1"

// refresh tells Argo CD of a commit, as the webhook of a git host makes its server do: every Application of the repository looks again.
func refresh(ctx context.Context) {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": argoVersion, "kind": "ApplicationList"}}
	Expect(admin.List(ctx, list, client.InNamespace("argocd"))).To(Succeed())
	for i := range list.Items {
		before := list.Items[i].DeepCopy()
		annotations := list.Items[i].GetAnnotations()
		annotations["argocd.argoproj.io/refresh"] = "normal"
		list.Items[i].SetAnnotations(annotations)
		Expect(admin.Patch(ctx, &list.Items[i], client.MergeFrom(before))).To(Succeed())
	}
}

// syncs waits until an Application has a revision on the cluster and is healthy. Argo CD forgets a refresh that it is told of while it does
// another one, and looks by itself after two minutes: so it is told again.
func syncs(ctx context.Context, name, revision string) {
	GinkgoHelper()
	told := time.Now()
	Eventually(func() string {
		status := applicationStatus(ctx, name)
		sync, _, _ := unstructured.NestedString(status, "sync", "status")
		compared, _, _ := unstructured.NestedString(status, "sync", "revision")
		health, _, _ := unstructured.NestedString(status, "health", "status")
		if compared != revision && time.Since(told) > 5*time.Second {
			told = time.Now()
			refresh(ctx)
		}
		if sync != "Synced" || compared != revision || health != "Healthy" {
			return fmt.Sprintf("%s: %s at %s, %s: %s", name, sync, compared, health, said(status))
		}
		return ""
	}).WithContext(ctx).Should(BeEmpty())
}

// applies waits until an Application has applied a revision. One that has objects which are kept on the cluster and in no commit is never Synced.
func applies(ctx context.Context, name, revision string) {
	GinkgoHelper()
	told := time.Now()
	Eventually(func() string {
		status := applicationStatus(ctx, name)
		sync, _, _ := unstructured.NestedString(status, "sync", "status")
		compared, _, _ := unstructured.NestedString(status, "sync", "revision")
		applied, _, _ := unstructured.NestedString(status, "operationState", "syncResult", "revision")
		phase, _, _ := unstructured.NestedString(status, "operationState", "phase")
		if compared != revision && time.Since(told) > 5*time.Second {
			told = time.Now()
			refresh(ctx)
		}
		if compared == revision && (sync == "Synced" || applied == revision && phase == "Succeeded") {
			return ""
		}
		return fmt.Sprintf("%s: %s at %s, applied %s, %s: %s", name, sync, compared, applied, phase, said(status))
	}).WithContext(ctx).Should(BeEmpty())
}

// pause lets Argo CD leave an Application alone until the function that it returns is called.
func pause(ctx context.Context, name string) func() {
	GinkgoHelper()
	annotate := func(value string) {
		GinkgoHelper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": argoVersion, "kind": "Application"}}
		o.SetNamespace("argocd")
		o.SetName(name)
		Expect(admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/skip-reconcile":`+value+`}}}`)))).To(Succeed())
	}
	annotate(`"true"`)
	return func() {
		annotate("null")
		refresh(ctx)
	}
}

// refuses waits until an Application says that it could not compare or sync a revision, and returns the words.
func refuses(ctx context.Context, name, revision, words string) string {
	GinkgoHelper()
	var message string
	Eventually(func() string {
		status := applicationStatus(ctx, name)
		tried, _, _ := unstructured.NestedString(status, "operationState", "operation", "sync", "revision")
		conditions, _, _ := unstructured.NestedSlice(status, "conditions")
		if compared, _, _ := unstructured.NestedString(status, "sync", "revision"); compared != revision || tried != revision && len(conditions) == 0 {
			return ""
		}
		message = said(status)
		return message
	}).WithContext(ctx).Should(ContainSubstring(words))
	return message
}

// terminate ends what an Application still tries, as `argocd app terminate-op` does.
func terminate(ctx context.Context, name string) {
	GinkgoHelper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": argoVersion, "kind": "Application"}}
	o.SetNamespace("argocd")
	o.SetName(name)
	Expect(admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"operationState":{"phase":"Terminating"}}}`)))).To(Succeed())
	Eventually(func() string {
		phase, _, _ := unstructured.NestedString(applicationStatus(ctx, name), "operationState", "phase")
		return phase
	}).WithContext(ctx).Should(Equal("Failed"))
}

func applicationStatus(ctx context.Context, name string) map[string]any {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": argoVersion, "kind": "Application"}}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: "argocd", Name: name}, o); err != nil {
		return nil
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	return status
}

// said is what an Application tells of its last try: of each object that failed, and as a whole.
func said(status map[string]any) string {
	var said []string
	add := func(items []any) {
		for _, item := range items {
			if fields, ok := item.(map[string]any); ok && fields["status"] != "Synced" && fields["message"] != nil {
				said = append(said, fmt.Sprint(fields["message"]))
			}
		}
	}
	resources, _, _ := unstructured.NestedSlice(status, "operationState", "syncResult", "resources")
	add(resources)
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	add(conditions)
	if message, _, _ := unstructured.NestedString(status, "operationState", "message"); message != "" {
		said = append(said, message)
	}
	return strings.Join(said, "; ")
}
