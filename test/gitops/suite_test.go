// Package gitops runs real GitOps engines, each against a real kube-apiserver and etcd of its own, with what the compiler writes for it.
//
// `make test-gitops` runs it. The engines are Flux's kustomize-controller and Argo CD's application controller and repository server, with
// their defaults. Three others are stood in for, because nothing here is about them: source-controller by `fluxSource`, which serves artifacts and
// writes them into the status of the GitRepository; Kueue and the controller of Deployments by `standIns`, which report queues and pods to be
// at work. Namespaces end by the real kube-controller-manager. The suite runs in a network of its own: Argo CD listens on every address.
package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

var (
	// admin may do everything.
	admin client.Client
	// kubeconfig is the admin's, for programs.
	kubeconfig string
)

// programs are what the suite runs, by the variable that names each.
var programs = map[string]string{
	"KUBEBUILDER_ASSETS": "", "KUBE_CONTROLLER_MANAGER": "", "KUSTOMIZE_CONTROLLER": "", "ARGOCD": "", "ARGOCD_MODULE": "", "KUSTOMIZE": "", "RUNTIME_COMPILER": "",
}

func TestGitOps(t *testing.T) {
	for name := range programs {
		programs[name] = os.Getenv(name)
		if programs[name] == "" {
			t.Skipf("SKIPPED: this needs real programs: run `make test-gitops`, or set %s", name)
		}
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(5 * time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "gitops", Label("gitops"))
}

// startCluster starts an API server with the CRDs of all that a bundle may hold, and the controllers that engines need, for the specs of one engine.
// The flags, each NAME=VALUE, are for the API server.
func startCluster(flags ...string) {
	GinkgoHelper()
	ctrl.SetLogger(GinkgoLogr)
	environment := &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, CRDInstallOptions: envtest.CRDInstallOptions{CRDs: crds(), MaxTime: 5 * time.Minute}}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		environment.ControlPlane.GetAPIServer().Configure().Append(name, value)
	}
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)

	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	data, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, data, 0o600)).To(Succeed())

	scheme := clientgoscheme.Scheme
	Expect(kustomizev1.AddToScheme(scheme)).To(Succeed())
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	start("KUBE_CONTROLLER_MANAGER", nil, "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--controllers=namespace-controller,serviceaccount-controller,clusterrole-aggregation-controller,garbage-collector-controller")
	standIns()
}

// crds are those that a bundle may hold, and Flux's. Those of Argo CD come with its version, which is older than the pinned one.
func crds() []*apiextensions.CustomResourceDefinition {
	var found []*apiextensions.CustomResourceDefinition
	for _, source := range pinned.Sources {
		if source.Minor != 0 || strings.Contains(source.Module, "argo-cd") {
			continue
		}
		files, err := source.Read()
		Expect(err).NotTo(HaveOccurred())
		for name, data := range files {
			for document := range strings.SplitSeq("\n"+string(data), "\n---\n") {
				crd := &apiextensions.CustomResourceDefinition{}
				Expect(yaml.Unmarshal([]byte(document), crd)).To(Succeed(), name)
				if crd.Kind == "CustomResourceDefinition" {
					found = append(found, crd)
				}
			}
		}
	}
	return found
}

// start runs a program to the end of the suite. Its log is told if a spec fails.
func start(program string, environment []string, args ...string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	log, err := os.Create(filepath.Join(dir, "log")) //nolint:gosec // a folder of the test
	Expect(err).NotTo(HaveOccurred())
	command := exec.Command(programs[program], args...) //nolint:gosec // programs of the suite
	command.Env = append(append(os.Environ(), "KUBECONFIG="+kubeconfig, "TMPDIR="+dir), environment...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		written, err := os.ReadFile(log.Name())
		Expect(err).NotTo(HaveOccurred())
		lines := strings.Split(strings.TrimSpace(string(written)), "\n")
		AddReportEntry(filepath.Base(programs[program]), strings.Join(lines[max(0, len(lines)-30):], "\n"), ReportEntryVisibilityFailureOrVerbose)
	})
}

// run runs a program and returns what it says.
func run(name string, args ...string) string {
	GinkgoHelper()
	command := exec.Command(name, args...) //nolint:gosec // programs of the suite
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), fmt.Sprintf("%s %s\n%s", name, strings.Join(args, " "), out))
	return string(out)
}
