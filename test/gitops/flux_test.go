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
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var _ = Describe("Flux", Ordered, ContinueOnFailure, func() {
	var r *fluxSource

	BeforeAll(func(ctx SpecContext) {
		startCluster()
		start("KUSTOMIZE_CONTROLLER", []string{"RUNTIME_NAMESPACE=flux-system"}, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0")
		Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}})).To(Succeed())
		r = newFluxSource(newRepository())
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

	var jobs *repository
	tenantJobs(func() *engine {
		return &engine{
			repository: r.repository, applies: becomesReady,
			deliver: func(ctx context.Context) string { revision, _ := r.commit(ctx); return revision },
		}
	}, func() *engine {
		if jobs == nil {
			jobs = &repository{root: GinkgoT().TempDir()}
		}
		return &engine{
			repository: jobs, applies: becomesReady,
			refuses: func(ctx context.Context, stage, revision, words string) { fails(ctx, stage, revision, words) },
			deliver: func(ctx context.Context) string {
				archive := (&fluxSource{repository: jobs}).archive(".")
				r.commits++
				revision := fmt.Sprintf("main@sha1:%040x", r.commits)
				r.publish(ctx, get(ctx, fluxSourceAPI, "GitRepository", "flux-system", "lockstep-jobs-geology"), archive, revision)
				return revision
			},
		}
	}, func() string { return "https://git.example.com/geology/jobs.git" })

	It("takes away what belongs to a tenant with the tenant, except for volumes", func(ctx SpecContext) {
		r.remove("tenants/geology.yaml", "tenants/climate.yaml", "dist")
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
		Expect(found(ctx, "rbac.authorization.k8s.io/v1", "ClusterRole", "", "lockstep-applier-climate")).To(BeFalse(), "the binding that stays with the volumes gives nothing")
		Expect(found(ctx, "v1", "ServiceAccount", "flux-system", "lockstep-tenant-climate")).To(BeFalse())
	})

	dayOfChanges(func() *engine {
		return &engine{
			name: "Flux", repository: r.repository,
			deliver: func(ctx context.Context) string { revision, _ := r.commit(ctx); return revision },
			applies: becomesReady,
			refuses: func(ctx context.Context, stage, revision, words string) { fails(ctx, stage, revision, words) },
			// It looks every ten minutes, and when it is asked.
			pause: func(ctx context.Context, stage string) func() { return func() { reconcile(ctx, stage) } },
		}
	})
})

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
