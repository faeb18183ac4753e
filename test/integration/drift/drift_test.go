// Package drift runs `runtime-compiler drift` against a real API server on which somebody applied what this repository compiles to.
package drift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const repository = "../../.."

var (
	admin client.Client
	// folder holds the programs, the compiled tree and the kubeconfigs.
	folder, program, adminConfig string
	environment                  *envtest.Environment
)

func TestDrift(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("SKIPPED: this needs a kube-apiserver and an etcd: run `make test-integration`, or set KUBEBUILDER_ASSETS to the folder with both")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "drift", Label("integration"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	folder = GinkgoT().TempDir()
	program = filepath.Join(folder, "runtime-compiler")
	output, err := exec.Command("go", "build", "-o", folder+"/", repository+"/cmd/runtime-compiler", repository+"/cmd/runtime-compiler-charts").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2").Output()
	Expect(err).NotTo(HaveOccurred())
	environment = &envtest.Environment{
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: time.Minute},
		CRDDirectoryPaths:        []string{filepath.Join(strings.TrimSpace(string(module)), "manifests/base/crds")},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 3 * time.Minute, // machines may be busy
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	admin, err = client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	adminConfig = filepath.Join(folder, "admin")
	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	writeConfig(user, adminConfig)
	applyTree(ctx)
})

func writeConfig(user *envtest.AuthenticatedUser, name string) {
	GinkgoHelper()
	content, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(name, content, 0o600)).To(Succeed())
}

// applyTree applies what the specs compile to, as kubectl does with --server-side.
func applyTree(ctx context.Context) {
	GinkgoHelper()
	tree := filepath.Join(folder, "dist")
	output, err := exec.Command(program, "build", "--root", repository, "--cluster", "local", "--out", tree).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	var objects []*unstructured.Unstructured
	Expect(filepath.WalkDir(tree, func(name string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".yaml" && filepath.Base(name) != "kustomization.yaml" {
			objects = append(objects, decode(name)...)
		}
		return err
	})).To(Succeed())
	Expect(len(objects)).To(BeNumerically(">", 40))
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	for _, o := range objects {
		Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"), client.ForceOwnership)).To(Succeed(), o.GetKind()+" "+o.GetName())
	}
}

func rank(o *unstructured.Unstructured) int {
	if o.GetKind() == "Namespace" {
		return 0
	}
	return 1
}

func decode(name string) []*unstructured.Unstructured {
	GinkgoHelper()
	data, err := os.ReadFile(name)
	Expect(err).NotTo(HaveOccurred())
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if reader.Decode(&o.Object) != nil {
			return objects
		}
		if o.Object != nil {
			objects = append(objects, o)
		}
	}
}

// report is what drift says in JSON.
type report struct {
	Manager    string   `json:"fieldManager"`
	Missing    []string `json:"missing"`
	Extra      []string `json:"extra"`
	Refused    []any    `json:"refused"`
	Unreadable []struct {
		What string `json:"what"`
	} `json:"unreadable"`
	ByFields int `json:"comparedByFields"`
	Review   struct {
		Verdict string `json:"verdict"`
		Entries []struct {
			Consequence string `json:"consequence"`
			Title       string `json:"title"`
			After       *struct {
				File string `json:"file"`
			} `json:"after"`
			Samples []struct {
				Changes []struct {
					Object string `json:"object"`
					Path   string `json:"path"`
				} `json:"changes"`
			} `json:"samples"`
		} `json:"entries"`
	} `json:"review"`
}

// paths are the values that drift shows, without those of objects as a whole and those that mean nothing.
func (r *report) paths() []string {
	var paths []string
	for _, e := range r.Review.Entries {
		for _, s := range e.Samples {
			for _, c := range s.Changes {
				if c.Path != "" && e.Consequence != "no-effect" {
					paths = append(paths, c.Object+" "+c.Path)
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// run runs drift and returns its exit code.
func run(config string, args ...string) (report, string, int) {
	GinkgoHelper()
	cmd := exec.Command(program, append([]string{"drift", "--root", repository, "--cluster", "local", "--kubeconfig", config, "-o", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
	}
	var r report
	if stdout.Len() > 0 {
		Expect(json.Unmarshal(stdout.Bytes(), &r)).To(Succeed(), stdout.String())
	}
	return r, stderr.String(), cmd.ProcessState.ExitCode()
}

const quota = "team-vision"

var _ = Describe("drift", Ordered, func() {
	It("is none where the tree was just applied", func() {
		r, stderr, code := run(adminConfig, "--fail-on", "info")
		Expect(code).To(Equal(0), "%s %+v", stderr, r)
		Expect(r.Missing).To(BeEmpty())
		Expect(r.Extra).To(BeEmpty())
		Expect(r.Review.Entries).To(BeEmpty())
		Expect(r.Manager).To(Equal("kubectl"))
	})

	It("is not what others own: replicas that an autoscaler sets, annotations, status", func(ctx SpecContext) {
		deployments := &appsv1.DeploymentList{}
		Expect(admin.List(ctx, deployments)).To(Succeed())
		Expect(deployments.Items).NotTo(BeEmpty())
		d := &deployments.Items[0]
		patch := client.MergeFrom(d.DeepCopy())
		d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "3"}
		d.Spec.Template.Annotations = map[string]string{"restarted": "yes"}
		d.Spec.MinReadySeconds = 7
		Expect(admin.Patch(ctx, d, patch, client.FieldOwner("autoscaler"))).To(Succeed())
		r, stderr, code := run(adminConfig, "--fail-on", "info")
		Expect(code).To(Equal(0), "%s %+v", stderr, r)
	})

	It("shows what somebody edited, deleted and added, and changes nothing", func(ctx SpecContext) {
		edited := &corev1.ResourceQuota{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: quota, Name: "lockstep-quota"}, edited)).To(Succeed())
		edited.Spec.Hard[corev1.ResourcePods] = *edited.Spec.Hard.Cpu()
		Expect(admin.Update(ctx, edited, client.FieldOwner("kubectl-edit"))).To(Succeed())
		policies := &networkingv1.NetworkPolicyList{}
		Expect(admin.List(ctx, policies, client.InNamespace(quota))).To(Succeed())
		deleted := policies.Items[0]
		Expect(admin.Delete(ctx, &deleted)).To(Succeed())
		added := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: quota, Name: "old", Labels: map[string]string{"app.kubernetes.io/managed-by": "lockstep"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "left"}},
		}
		Expect(admin.Create(ctx, added)).To(Succeed())
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: quota, Name: "of-somebody-else"}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())

		text, err := exec.Command(program, "drift", "--root", repository, "--cluster", "local", "--kubeconfig", adminConfig).CombinedOutput()
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("%s", text)
		before := versions(ctx)
		r, stderr, code := run(adminConfig, "--fail-on", "info")
		Expect(code).To(Equal(3), stderr)
		Expect(r.Missing).To(ConsistOf("NetworkPolicy.networking.k8s.io " + quota + "/" + deleted.Name))
		Expect(r.Extra).To(ConsistOf("RoleBinding.rbac.authorization.k8s.io " + quota + "/old"))
		Expect(r.paths()).To(ConsistOf("ResourceQuota " + quota + "/lockstep-quota spec.hard.pods"))
		Expect(r.Review.Verdict).NotTo(BeEmpty())
		Expect(versions(ctx)).To(Equal(before), "drift changed something")
	})

	It("comes to the same without the right to patch, by the fields", func(ctx SpecContext) {
		reader := filepath.Join(folder, "reader")
		user, err := environment.AddUser(envtest.User{Name: "reader"}, nil)
		Expect(err).NotTo(HaveOccurred())
		writeConfig(user, reader)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reads"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reads"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reads"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "reader"}},
		}
		Expect(admin.Create(ctx, role)).To(Succeed())
		Expect(admin.Create(ctx, binding)).To(Succeed())
		r, stderr, code := run(reader, "--fail-on", "info")
		Expect(code).To(Equal(3), stderr)
		Expect(r.ByFields).To(BeNumerically(">", 30))
		Expect(r.Missing).To(HaveLen(1))
		Expect(r.Extra).To(HaveLen(1))
		Expect(r.paths()).To(ConsistOf("ResourceQuota " + quota + "/lockstep-quota spec.hard.pods"))
	})

	It("does not call what nobody may read free of drift", func() {
		nobody := filepath.Join(folder, "nobody")
		user, err := environment.AddUser(envtest.User{Name: "nobody"}, nil)
		Expect(err).NotTo(HaveOccurred())
		writeConfig(user, nobody)
		r, stderr, code := run(nobody, "--fail-on", "info")
		Expect(code).To(Equal(1))
		Expect(len(r.Unreadable)).To(BeNumerically(">", 40))
		Expect(stderr).To(ContainSubstring("nobody knows whether there is drift"))
	})
})

// versions are the versions of all objects that the suite knows.
func versions(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{&corev1.ResourceQuotaList{}, &rbacv1.RoleBindingList{}, &networkingv1.NetworkPolicyList{}, &appsv1.DeploymentList{}, &corev1.NamespaceList{}} {
		Expect(admin.List(ctx, list)).To(Succeed())
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		Expect(err).NotTo(HaveOccurred())
		items, _ := content["items"].([]any)
		for _, item := range items {
			u := unstructured.Unstructured{Object: item.(map[string]any)} //nolint:forcetypeassert // what the converter makes
			found[u.GetNamespace()+"/"+u.GetName()+string(u.GetUID())] = u.GetResourceVersion()
		}
	}
	return found
}
