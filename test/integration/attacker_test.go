package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/test/attacker"
)

// onEachVersion is the label of specs that must hold on API servers of other versions than the cluster's: `make test-versions` asks those.
var onEachVersion = Label("versions")

// attacksReport is a file that gets a line for each spec. Where it is named the attacker tries all that he has, which takes minutes: `make
// test-versions` does. Otherwise he tries a twentieth.
var attacksReport = os.Getenv("LOCKSTEP_ATTACKS")

// outside is a namespace of nobody. What the API refuses there it refuses without a policy.
const outside = "outside"

var _ = Describe("An attacker", ofTheCompiler, onEachVersion, Ordered, ContinueOnFailure, func() {
	var editor client.Client
	var count *tally

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, outside)
		editor = userIn("eve", "vision-editors")
	})
	BeforeEach(func() { count = &tally{refusals: map[string]int{}} })
	AfterEach(func() { count.report() })

	It("gets nothing dangerous past the policies by a TrainJob", func(ctx SpecContext) {
		c := installPlan(ctx, attacker.Specs)
		a := attackByTrainJobs{c, attacker.NewOracle(GinkgoTB(), c, "gpu"), attacker.NewWriter(), editor, count}
		a.create(ctx, tries(2100))
		count.proves()
	})

	It("gets nothing dangerous past the policies by a change of a TrainJob", func(ctx SpecContext) {
		c := installPlan(ctx, attacker.Specs)
		a := attackByTrainJobs{c, attacker.NewOracle(GinkgoTB(), c, "gpu"), attacker.NewWriter(), editor, count}
		a.change(ctx, tries(1400))
		count.proves()
	})

	It("gets nothing dangerous past the policies by runtimes that others installed", func(ctx SpecContext) {
		c := installPlan(ctx, attacker.ExternalSpecs)
		a := attackByTrainJobs{c, attacker.NewExternalOracle(GinkgoTB(), c), attacker.NewWriter(), editor, count}
		a.create(ctx, tries(1400))
		count.proves()
	})

	It("gets no pod past the policies that `restricted` of this very version refuses", func(ctx SpecContext) {
		a := installPodAttack(ctx, count)
		for _, seed := range tries(1200) {
			a.create(ctx, seed, attacker.Pod(seed))
		}
		count.proves()
	})

	It("gets none by a Job either, and an editor makes no Job", func(ctx SpecContext) {
		a := installPodAttack(ctx, count)
		for _, seed := range tries(600) {
			a.job(ctx, editor, seed, attacker.Pod(10_000+seed))
		}
		count.proves()
	})

	It("gets no container into a running pod that `restricted` refuses", func(ctx SpecContext) {
		a := installPodAttack(ctx, count)
		a.run(ctx)
		for _, seed := range tries(600) {
			a.debug(ctx, seed)
		}
		count.proves()
	})

	It("changes nothing that is compiled", func(ctx SpecContext) {
		a := installOwnershipAttack(ctx, count)
		for _, seed := range tries(600) {
			a.change(ctx, seed)
		}
		count.proves()
	})
})

// tries are numbers below one, all of them or some.
func tries(below uint64) []uint64 {
	step := uint64(20)
	if attacksReport != "" {
		step = 1
	}
	var all []uint64
	for i := uint64(0); i < below; i += step {
		all = append(all, i)
	}
	return all
}

// tally is what became of the requests of an attack.
type tally struct {
	// asked are those that are judged; invalid those that the API itself refuses.
	asked, invalid, admitted int
	// refusals are counted by who refused.
	refusals    map[string]int
	differences []string
}

func (t *tally) report() {
	GinkgoHelper()
	line := fmt.Sprintf("1.%d, an attacker %s: %d requests (%d more are refused by the API itself), %d admitted, refused by %v, %d differences",
		servedMinor(), CurrentSpecReport().LeafNodeText, t.asked, t.invalid, t.admitted, t.refusals, len(t.differences))
	AddReportEntry("attacks", line)
	if attacksReport == "" {
		return
	}
	file, err := os.OpenFile(attacksReport, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	_, err = fmt.Fprintln(file, line)
	Expect(errors.Join(err, file.Close())).To(Succeed())
}

func (t *tally) differ(format string, arguments ...any) {
	t.differences = append(t.differences, fmt.Sprintf(format, arguments...))
}

// passes reports whether the API itself lets a request through, outside of tenants.
func (t *tally) passes(what string, err error) bool {
	switch {
	case err == nil:
		return true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		t.invalid++
	default:
		t.differ("%s: refused outside of tenants: %v", what, err)
	}
	return false
}

// proves fails if there were differences, or too few of one verdict to prove anything.
func (t *tally) proves() {
	GinkgoHelper()
	Expect(t.differences).To(BeEmpty(), "%d differences, the first of them:\n%s", len(t.differences), strings.Join(t.differences[:min(5, len(t.differences))], "\n"))
	Expect(min(t.admitted, t.asked-t.admitted)).To(BeNumerically(">=", max(2, t.asked/20)))
}

// verdict counts a judged request, and returns why it was refused; broken policies and refusals by nobody that is known are differences.
func (t *tally) verdict(what any, err error) (refused string) {
	t.asked++
	if err == nil {
		t.admitted++
		return ""
	}
	for _, mistake := range []string{"resulted in error", "budget", "failed expression"} {
		if strings.Contains(err.Error(), mistake) {
			t.differ("%v: the policy cannot judge: %v", what, err)
		}
	}
	by := "others"
	for _, name := range []string{"lockstep-trainjob", "lockstep-pods", "lockstep-pod-affinity", "lockstep-ownership", "lockstep-tenant-label"} {
		if strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+name+"'") {
			by = name
		}
	}
	if by == "others" {
		t.differ("%v: no policy of ours refuses it: %v", what, err)
	}
	t.refusals[by]++
	return err.Error()
}

// answered asks until the API server has judged: on a machine that does much else some requests time out, or end without
// an answer.
func answered(ask func() error) error {
	var err error
	for range 5 {
		if err = ask(); err == nil || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			break
		}
	}
	return err
}

// installPlan applies what is compiled for the tenants of some specs, on a cluster of the version of the API server. Checks are left out: some of these
// specs have mistakes on purpose.
func installPlan(ctx SpecContext, specs string) *plan.Cluster {
	GinkgoHelper()
	c := attacker.PlanOf(GinkgoTB(), strings.Replace(specs, `version: "1.30"`, fmt.Sprintf(`version: "1.%d"`, servedMinor()), 1))
	objects := lower.PlatformObjects(c)
	for _, t := range c.Tenants {
		objects = append(objects, lower.TenantObjects(c, t, &diag.List{})...)
	}
	editor := userIn("eve", "vision-editors")
	refused := func() bool {
		ofNobody := trainJobIn("vision", &trainer.TrainJob{Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "nothing"}}})
		err := editor.Create(ctx, ofNobody, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "lockstep-trainjob")
	}
	By("waiting until the API server has forgotten the policies of another spec")
	Eventually(refused).Should(BeFalse())
	// A quota without a controller that counts refuses everything.
	kinds := slices.DeleteFunc(slices.Clone(admissionKinds), func(kind string) bool { return kind == "ResourceQuota" })
	for _, o := range objects {
		if !slices.Contains(kinds, o.ID.Kind) {
			continue
		}
		content := attacker.Decoded[map[string]any](GinkgoTB(), o.Root.Value())
		applied := &unstructured.Unstructured{Object: *content}
		makeNamespace(ctx, applied.GetNamespace())
		options := []client.ApplyOption{client.FieldOwner("integration"), client.ForceOwnership}
		Expect(client.WithFieldValidation(admin, "Strict").Apply(ctx, client.ApplyConfigurationFromUnstructured(applied.DeepCopy()), options...)).To(Succeed(), "%s", o.ID)
		if strings.HasPrefix(o.ID.Kind, "ValidatingAdmission") {
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, applied))).To(Succeed()) })
		}
	}
	Eventually(refused).Should(BeTrue())
	awaitPolicies(ctx, "vision")
	return c
}

// awaitPolicies waits until the API server judges by all that was written before: it reads policies and namespaces
// through caches, which lag on a busy machine. A policy that is written last tells which version of the namespace is seen.
func awaitPolicies(ctx SpecContext, namespace string) {
	GinkgoHelper()
	probe := fmt.Sprintf("probe-%d", time.Now().UnixNano())
	for _, text := range []string{
		`{kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s}, spec: {
		  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [%[1]s]}]},
		  validations: [{expression: "false", messageExpression: "'version ' + namespaceObject.metadata.resourceVersion"}]}}`,
		`{kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s}, spec: {policyName: %[1]s, validationActions: [Deny]}}`,
	} {
		object := parsed(fmt.Sprintf("{apiVersion: admissionregistration.k8s.io/v1, "+text[1:], probe))
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, object)).To(Succeed()) })
	}
	seen := &corev1.Namespace{}
	Expect(admin.Get(ctx, client.ObjectKey{Name: namespace}, seen)).To(Succeed())
	Eventually(func() error {
		return admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: probe}}, client.DryRunAll)
	}).Should(MatchError(HaveSuffix("version " + seen.ResourceVersion)))
}

// servedMinor is the second number of the API server's version.
func servedMinor() int {
	GinkgoHelper()
	found, err := discovery.NewDiscoveryClientForConfigOrDie(environment.Config).ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	var minor int
	_, err = fmt.Sscan(found.Minor, &minor)
	Expect(err).NotTo(HaveOccurred(), found.String())
	return minor
}

// attackByTrainJobs asks twice: outside, where nothing but the API judges and makes what the TrainJob becomes, and as the editor of a tenant. Two
// know what should come of it: the oracle, which calls it dangerous, and the code of an API server in this process.
type attackByTrainJobs struct {
	cluster *plan.Cluster
	oracle  *attacker.Oracle
	writer  *attacker.Writer
	editor  client.Client
	count   *tally
}

func (a *attackByTrainJobs) create(ctx context.Context, tries []uint64) {
	GinkgoHelper()
	server, vision := attacker.NewServer(GinkgoTB(), lower.PlatformObjects(a.cluster)), attacker.NamespaceOf(GinkgoTB(), a.cluster, "vision")
	for _, try := range tries {
		written, field := a.writer.TrainJob(int(try), a.oracle.Runtime()) //nolint:gosec // a small number
		seen := trainJobIn(outside, written)
		if !a.count.passes(field, answered(func() error { return admin.Create(ctx, seen, client.DryRunAll) })) {
			continue
		}
		refused := a.count.verdict(field, answered(func() error { return a.editor.Create(ctx, trainJobIn("vision", written), client.DryRunAll) }))
		a.compare(fmt.Sprintf("%s, try %d", field, try), refused, server.Ask(GinkgoTB(), "lockstep-trainjob", attacker.CreateTrainJob(vision, movedTo("vision", seen))), seen)
	}
}

// change writes the same as changes of a job that waits.
func (a *attackByTrainJobs) change(ctx SpecContext, tries []uint64) {
	GinkgoHelper()
	server, vision := attacker.NewServer(GinkgoTB(), lower.PlatformObjects(a.cluster)), attacker.NamespaceOf(GinkgoTB(), a.cluster, "vision")
	before := map[string]*unstructured.Unstructured{}
	for namespace, by := range map[string]client.Client{outside: admin, "vision": a.editor} {
		waiting := parsed("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: demo, namespace: " + namespace + ", labels: {kueue.x-k8s.io/queue-name: lockstep}}, spec: {runtimeRef: {name: " + a.oracle.Runtime() + "}, suspend: true}}")
		Expect(by.Create(ctx, waiting)).To(Succeed())
		before[namespace] = waiting
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, waiting)).To(Succeed()) })
	}
	for _, try := range tries {
		written, field := a.writer.TrainJob(int(try), a.oracle.Runtime()) //nolint:gosec // a small number
		patch := changeTo(try, written)
		seen := before[outside].DeepCopy()
		if !a.count.passes(field, answered(func() error { return admin.Patch(ctx, seen, patch, client.DryRunAll) })) {
			continue
		}
		refused := a.count.verdict(field, answered(func() error { return a.editor.Patch(ctx, before["vision"].DeepCopy(), patch, client.DryRunAll) }))
		request := attacker.CreateTrainJob(vision, movedTo("vision", seen))
		request.Operation, request.Before = admission.Update, before["vision"]
		a.compare(fmt.Sprintf("%s, try %d", field, try), refused, server.Ask(GinkgoTB(), "lockstep-trainjob", request), seen)
	}
}

// changeTo is a merge patch of the spec and, in each third, of labels and annotations.
func changeTo(try uint64, written *trainer.TrainJob) client.Patch {
	GinkgoHelper()
	content := attacker.Untyped(GinkgoTB(), written).Object
	spec := content["spec"].(map[string]any) //nolint:forcetypeassert // it is written
	delete(spec, "runtimeRef")
	change := map[string]any{"spec": spec}
	if random := rand.New(rand.NewPCG(try, 5)); try%3 == 0 { //nolint:gosec // the same changes in each run
		key := []string{"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/prebuilt-workload-name", "lockstep.dev/tenant", "lockstep.dev/trace", "lockstep.dev/conditions", "team"}[random.IntN(7)]
		change["metadata"] = map[string]any{[]string{"labels", "annotations"}[random.IntN(2)]: map[string]any{key: []any{nil, "high", "vision", "language", "lockstep", "traffic", "{}"}[random.IntN(7)]}}
	}
	text, err := json.Marshal(change)
	Expect(err).NotTo(HaveOccurred())
	return client.RawPatch(types.MergePatchType, text)
}

func (a *attackByTrainJobs) compare(what, refused, want string, seen *unstructured.Unstructured) {
	dangers := a.oracle.Dangers(attacker.Decoded[trainer.TrainJob](GinkgoTB(), seen.Object))
	switch {
	case refused == "" && len(dangers) > 0:
		a.count.differ("%s: admitted, but %s", what, strings.Join(dangers, "; "))
	case (refused == "") != (want == ""), !strings.Contains(refused, want):
		a.count.differ("%s: the API server says %q, its code in this process %q", what, refused, want)
	}
}

func trainJobIn(namespace string, written *trainer.TrainJob) *unstructured.Unstructured {
	GinkgoHelper()
	made := attacker.Untyped(GinkgoTB(), written)
	made.SetAPIVersion(trainer.GroupVersion.String())
	made.SetKind(trainer.TrainJobKind)
	made.SetName("demo")
	made.SetNamespace(namespace)
	return made
}

func movedTo(namespace string, o *unstructured.Unstructured) *unstructured.Unstructured {
	moved := o.DeepCopy()
	moved.SetNamespace(namespace)
	return moved
}

// attackByPods holds pods of a tenant that pins memory against those of a namespace to which the API server itself applies the newest
// standard `restricted` that it knows.
type attackByPods struct {
	maker client.Client
	count *tally
}

const standard = "standard"

func installPodAttack(ctx SpecContext, count *tally) *attackByPods {
	GinkgoHelper()
	installPlan(ctx, attacker.PodSpecs(servedMinor()))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: standard, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}}}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, namespace))).To(Succeed())
	for _, in := range []string{standard, "vision"} {
		for _, account := range []string{"default", "mpi-rdma"} {
			Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: account}}))).To(Succeed())
		}
	}
	a := &attackByPods{userIn("system:serviceaccount:kube-system:job-controller", "system:masters"), count}
	Eventually(func() error {
		pod := attacker.GoodPod()
		pod.Spec.HostNetwork = true
		return a.maker.Create(ctx, pod, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("lockstep-pods")))
	return a
}

func (a *attackByPods) create(ctx context.Context, seed uint64, pod *corev1.Pod) {
	// An ephemeral container comes later, or not at all.
	pod.Spec.EphemeralContainers = nil
	theirs := attacker.WithoutException(pod)
	theirs.Namespace = standard
	wanted := answered(func() error { return a.maker.Create(ctx, theirs.DeepCopy(), client.DryRunAll) })
	if apierrors.IsInvalid(wanted) {
		a.count.invalid++
		return
	}
	ours := pod.DeepCopy()
	ours.Namespace = "vision"
	got := answered(func() error { return a.maker.Create(ctx, ours.DeepCopy(), client.DryRunAll) })
	a.compare(fmt.Sprintf("pod %d", seed), got, wanted, attacker.PlacedByOthers(pod))
}

func (a *attackByPods) compare(what string, got, wanted error, placedByOthers bool) {
	refused := a.count.verdict(what, got)
	if wanted != nil && !strings.Contains(wanted.Error(), "violates PodSecurity") {
		a.count.differ("%s: the standard's namespace refuses it otherwise: %v", what, wanted)
		return
	}
	if (refused == "") != (wanted == nil && !placedByOthers) {
		a.count.differ("%s: the API server's standard says %v, the policy %q", what, wanted, refused)
	}
}

// job makes a Job with such pods, and then one of them as the controller of Jobs does.
func (a *attackByPods) job(ctx context.Context, editor client.Client, seed uint64, pod *corev1.Pod) {
	pod.Spec.EphemeralContainers = nil
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	made := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: "demo"}}
	made.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec}
	if err := answered(func() error { return editor.Create(ctx, made.DeepCopy(), client.DryRunAll) }); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "eve" cannot create resource "jobs"`) {
		a.count.differ("job %d of an editor: %v", seed, err)
	}
	if !a.count.passes(fmt.Sprintf("job %d", seed), answered(func() error { return a.maker.Create(ctx, made, client.DryRunAll) })) {
		return
	}
	a.create(ctx, seed, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: made.Spec.Template.Annotations}, Spec: made.Spec.Template.Spec})
}

// run starts a pod of each account in both namespaces.
func (a *attackByPods) run(ctx SpecContext) {
	GinkgoHelper()
	for _, in := range []string{standard, "vision"} {
		for _, account := range []string{"default", "mpi-rdma"} {
			pod := attacker.GoodPod()
			pod.Namespace, pod.Name, pod.Spec.ServiceAccountName = in, account, account
			Expect(a.maker.Create(ctx, pod)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed()) })
		}
	}
}

// debug adds an ephemeral container to one of them.
func (a *attackByPods) debug(ctx context.Context, seed uint64) {
	account := []string{"default", "mpi-rdma"}[seed%2]
	with := func(in string) error {
		pod := &corev1.Pod{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: in, Name: account}, pod); err != nil {
			return err
		}
		added := attacker.EphemeralContainer(seed)
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{*added}
		if in == standard {
			pod.Spec.EphemeralContainers = attacker.WithoutException(pod).Spec.EphemeralContainers
		}
		return a.maker.SubResource("ephemeralcontainers").Update(ctx, pod, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	wanted := answered(func() error { return with(standard) })
	if apierrors.IsInvalid(wanted) {
		a.count.invalid++
		return
	}
	got := answered(func() error { return with("vision") })
	a.compare(fmt.Sprintf("ephemeral container %d of account %s", seed, account), got, wanted, false)
}

// attackOnOwnership changes and deletes objects as somebody who has all rights but over policies, accounts and controllers of the platform among
// them. What he does to an object that is not compiled must succeed.
type attackOnOwnership struct {
	objects []*unstructured.Unstructured
	count   *tally
}

// powers are all rights but over admission policies: whoever has those may change what is compiled.
var powers = rbacv1.PolicyRule{APIGroups: []string{"", "rbac.authorization.k8s.io", "networking.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}}

func installOwnershipAttack(ctx SpecContext, count *tally) *attackOnOwnership {
	GinkgoHelper()
	installPlan(ctx, attacker.Specs)
	allow(ctx, "powerful", powers)
	DeferCleanup(func(ctx SpecContext) {
		Expect(admin.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "powerful"}})).To(Succeed())
		Expect(admin.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "powerful"}})).To(Succeed())
	})
	a := &attackOnOwnership{count: count}
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: vision}}", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: own, namespace: vision}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: outside, labels: {app.kubernetes.io/managed-by: others}}}",
	} {
		own := parsed(text)
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, own.DeepCopy()))).To(Succeed())
		a.objects = append(a.objects, own)
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, own)).To(Succeed()) })
	}
	for _, kind := range []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "RoleBinding"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(map[bool]string{true: "v1", false: "rbac.authorization.k8s.io/v1"}[kind == "Namespace"])
		list.SetKind(kind + "List")
		Expect(admin.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/managed-by": "lockstep"})).To(Succeed())
		for i := range list.Items {
			a.objects = append(a.objects, &list.Items[i])
		}
	}
	Expect(len(a.objects)).To(BeNumerically(">", 8))
	return a
}

// changes are what is tried, the removal of the label first among them. An empty one deletes.
var changes = []string{
	"", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`, `{"metadata":{"labels":null}}`,
	`{"metadata":{"annotations":{"lockstep.dev/runtimes":"all"}}}`, `{"metadata":{"finalizers":["example.com/never"]}}`, `{"metadata":{"labels":{"lockstep.dev/tenant":"language"}}}`,
}

func (a *attackOnOwnership) change(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 6)) //nolint:gosec // the same changes in each run
	o := a.objects[random.IntN(len(a.objects))].DeepCopy()
	who := []string{"mallory", "system:serviceaccount:vision:default", "system:serviceaccount:flux-system:kustomize-controller", "system:node:n1"}[random.IntN(4)]
	patch := changes[random.IntN(len(changes))]
	by := userIn(who, "powerful")
	err := answered(func() error {
		if patch == "" {
			return by.Delete(ctx, o.DeepCopy(), client.DryRunAll)
		}
		return tryPatch(ctx, by, o, patch)
	})
	what := fmt.Sprintf("%s: %s %s/%s: %q", who, o.GetKind(), o.GetNamespace(), o.GetName(), patch)
	refused := a.count.verdict(what, err)
	if want := a.forbidden(who, o, patch); (refused != "") != want {
		a.count.differ("%s: refused %q, must be refused: %v", what, refused, want)
	}
}

// forbidden says it in the words of the documentation: what is compiled is changed by parts of the platform only, and a namespace stays with
// its tenant.
func (a *attackOnOwnership) forbidden(who string, o *unstructured.Unstructured, patch string) bool {
	compiled := o.GetLabels()["app.kubernetes.io/managed-by"] == "lockstep"
	namespace := o.GetNamespace()
	if o.GetKind() == "Namespace" {
		// A request about a namespace is one in it.
		namespace = o.GetName()
	}
	person := !strings.HasPrefix(who, "system:") || strings.HasPrefix(who, "system:serviceaccount:"+namespace+":")
	tenant := o.GetLabels()["lockstep.dev/tenant"]
	moved := o.GetKind() == "Namespace" && tenant != "" && (strings.Contains(patch, `"labels":null`) || strings.Contains(patch, "lockstep.dev/tenant") && tenant != "language")
	return compiled && person || moved
}
