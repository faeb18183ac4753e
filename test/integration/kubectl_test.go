package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// maxRequests is how many requests a list takes at most, however many jobs there are.
const maxRequests = 5

var _ = Describe("kubectl mpi, as an editor", ofTheCompiler, Ordered, func() {
	var folder, namespace string
	var jane, joe *person

	BeforeAll(func(ctx SpecContext) {
		folder, namespace = GinkgoT().TempDir(), newNamespace(ctx)
		output, err := exec.CommandContext(ctx, "go", "build", "-o", folder+"/", "../../cmd/kubectl-mpi").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		for _, link := range []string{"kubectl_complete-mpi", "kubectl-ai-mpi"} {
			Expect(os.Symlink("kubectl-mpi", filepath.Join(folder, link))).To(Succeed())
		}
		tenantRoles(ctx)
		bindEditors(ctx, namespace)
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, runtimeNamed("openmpi")))).To(Succeed())
		jane, joe = newPerson("jane", namespace), newPerson("joe", namespace)
	})

	It("knows whose jobs are whose", func(ctx SpecContext) {
		for _, who := range []*person{jane, joe} {
			said, err := who.run(ctx, folder, "kubectl-mpi", "submit", "of-"+who.name, "--runtime", "openmpi", "--", "mpirun", "train")
			Expect(err).NotTo(HaveOccurred(), said)
		}
		said, err := joe.run(ctx, folder, "kubectl-mpi", "clone", "of-jane")
		Expect(err).NotTo(HaveOccurred(), said)
		for who, names := range map[*person][]string{jane: {"trainjob/of-jane"}, joe: {"trainjob/of-joe", "trainjob/of-jane-2"}} {
			said, err := who.run(ctx, folder, "kubectl-mpi", "list", "--mine", "-o", "name")
			Expect(err).NotTo(HaveOccurred(), said)
			Expect(strings.Fields(said)).To(ConsistOf(names))
		}
	})

	It("lists few and many jobs in as few requests", func(ctx SpecContext) {
		many := newNamespace(ctx)
		bindEditors(ctx, many)
		for i := range 101 {
			Expect(admin.Create(ctx, trainJobNamed(many, fmt.Sprint("job-", i)))).To(Succeed())
		}
		for in, jobs := range map[string]int{namespace: 3, many: 101} {
			jane.asked.Store(0)
			said, err := jane.run(ctx, folder, "kubectl-mpi", "list", "-n", in)
			Expect(err).NotTo(HaveOccurred(), said)
			Expect(strings.Count(said, "\n")).To(BeNumerically(">=", jobs+1), said)
			Expect(jane.asked.Load()).To(BeNumerically("<=", maxRequests), "of %d jobs", jobs)
		}
	})

	It("is found and completed by kubectl", func(ctx SpecContext) {
		kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
		if _, err := os.Stat(kubectl); err != nil {
			Skip("SKIPPED: there is no kubectl beside the API server: " + err.Error())
		}
		Expect(jane.run(ctx, folder, kubectl, "mpi", "version")).To(HavePrefix("kubectl-mpi "))
		Expect(jane.run(ctx, folder, kubectl, "ai", "mpi", "version")).To(HavePrefix("kubectl-mpi "))
		Expect(jane.run(ctx, folder, kubectl, "__complete", "mpi", "")).To(ContainSubstring("submit\tMake a job of a command\n"))
		Expect(jane.run(ctx, folder, kubectl, "__complete", "mpi", "get", "")).To(And(ContainSubstring("of-jane\n"), ContainSubstring("of-joe\n")))
	})

	It("is found by oc, as oc looks for plugins", func(ctx SpecContext) {
		for _, line := range []string{"mpi get of-jane -o name", "ai mpi get of-jane -o name"} {
			program, rest := foundByOC(folder, strings.Fields(line))
			Expect(jane.run(ctx, folder, program, rest...)).To(Equal("trainjob/of-jane\n"), line)
		}
	})
})

// foundByOC stands in for oc, which is not here: it does what oc does to find a plugin (k8s.io/kubectl/pkg/cmd/plugin, with oc's prefixes). The
// longest name counts, and of one name `oc-` comes before `kubectl-`.
func foundByOC(folder string, args []string) (program string, rest []string) {
	GinkgoHelper()
	var words []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			break
		}
		words = append(words, strings.ReplaceAll(arg, "-", "_"))
	}
	for n := len(words); n > 0; n-- {
		for _, prefix := range []string{"oc", "kubectl"} {
			program = filepath.Join(folder, prefix+"-"+strings.Join(words[:n], "-"))
			if _, err := os.Stat(program); err == nil {
				return program, args[n:]
			}
		}
	}
	Fail("oc finds no plugin for " + strings.Join(args, " "))
	return "", nil
}

// The roles that are made of those of tenants here, and the group that has them.
const (
	cliEditors = "kubectl-mpi-editor"
	cliCatalog = "kubectl-mpi-catalog"
	cliGroup   = "kubectl-mpi"
)

var cliSubjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: cliGroup}}

// tenantRoles makes what is compiled for the editors of a tenant, under names that no other spec removes, and lets the group see the catalog.
func tenantRoles(ctx context.Context) {
	GinkgoHelper()
	ours := map[string]string{"lockstep-tenant-editor": cliEditors, "lockstep-runtime-reader": cliCatalog}
	for _, object := range decodeFiles(compiled()[0]) {
		name := ours[object.GetName()]
		if object.GetKind() != "ClusterRole" || name == "" {
			continue
		}
		role := &rbacv1.ClusterRole{}
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role)).To(Succeed())
		role.ObjectMeta = metav1.ObjectMeta{Name: name}
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, role))).To(Succeed())
	}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: cliCatalog}, Subjects: cliSubjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cliCatalog},
	}))).To(Succeed())
}

// bindEditors makes the group editors of a namespace.
func bindEditors(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cliEditors}, Subjects: cliSubjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cliEditors},
	})).To(Succeed())
}

// person runs programs as a user, whose requests are counted.
type person struct {
	name, kubeconfig string
	asked            atomic.Int64
}

func newPerson(name, namespace string) *person {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: name, Groups: []string{cliGroup}}, nil)
	Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(user.Config())
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(user.Config().Host)
	Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	p := &person{name: name, kubeconfig: filepath.Join(GinkgoT().TempDir(), name)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	DeferCleanup(server.Close)
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c, namespace: %s}}]}", server.URL, namespace)
	Expect(os.WriteFile(p.kubeconfig, []byte(text), 0o600)).To(Succeed())
	return p
}

// run runs a program of a folder, or of a path, and returns what it prints; errors have what it prints about them.
func (p *person) run(ctx context.Context, folder, program string, args ...string) (string, error) {
	if !filepath.IsAbs(program) {
		program = filepath.Join(folder, program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+folder+":"+os.Getenv("PATH"))
	var errText strings.Builder
	cmd.Stderr = &errText
	output, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, errText.String())
	}
	return string(output), err
}
