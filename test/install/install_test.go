// Package install does what the guide to installing says, on a local cluster on which nothing of ours is.
//
// `make test-install` runs it. Helm and kubectl are the real ones, built from pinned modules.
package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/guide"
	"lockstep.dev/lockstep/test/platform"
)

func TestInstall(t *testing.T) {
	if os.Getenv("LOCKSTEP_INSTALL_HELM") == "" {
		t.Skip("SKIPPED: this needs a real cluster: run `make test-install`")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "install")
}

var (
	tools   platform.Tools
	cluster *platform.Platform
	// programs is the directory of what the guide's commands call.
	programs string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	tools, err = platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	tools.Needs = []string{"mpi-agent", "mpi-controller", "openmpi5"}
	cluster, err = platform.Prepare(ctx, tools, 2, platform.NewProgress(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return cluster.Close(context.Background()) })

	programs = GinkgoT().TempDir()
	built := []string{os.Getenv("LOCKSTEP_INSTALL_HELM"), cluster.Kubectl}
	for _, name := range []string{"runtime-compiler", "runtime-compiler-charts", "kubectl-mpi"} {
		built = append(built, filepath.Join(tools.Root, "build", "bin", name))
	}
	for _, program := range built {
		Expect(os.Symlink(program, filepath.Join(programs, filepath.Base(program)))).To(Succeed())
	}
}, NodeTimeout(platform.ScaleTimeout(20*time.Minute)))

// bundle returns a directory with the specs of this repository and two releases of the chart.
func bundle(run func(dir, line string) string) string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	for _, part := range []string{"catalog", "tenants", "overlays", "charts/mpi-controller"} {
		Expect(os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(tools.Root, part)))).To(Succeed())
	}
	for _, version := range []string{"0.1.0", "0.2.0"} {
		packaged := run(dir, "helm package charts/mpi-controller -d releases --version "+version+" --app-version "+version)
		Expect(packaged).To(ContainSubstring("Successfully packaged"))
	}
	return dir
}

// shell runs command lines as the admin, and returns what they printed.
func shell(ctx context.Context) func(dir, line string) string {
	home := GinkgoT().TempDir()
	return func(dir, line string) string {
		command := exec.CommandContext(ctx, "sh", "-c", line) //nolint:gosec // commands of our guide and of this file
		command.Dir = dir
		command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "KUBECONFIG="+cluster.Kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home)
		printed, _ := command.CombinedOutput() // what it prints is compared
		return string(printed)
	}
}

var (
	times = regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b|(LAST DEPLOYED: ).*`)
	ids   = regexp.MustCompile(`\b[0-9a-f]{8,10}-[a-z0-9]{5}\b`)
)

// settled makes equal what differs from run to run.
func settled(text string) string {
	return ids.ReplaceAllString(times.ReplaceAllString(text, "${3}TIME"), "ID")
}

var _ = Describe("Installing", Ordered, func() {
	It("installs, upgrades, rolls back and uninstalls as the guide says", func(ctx SpecContext) {
		path, err := filepath.Abs("../../docs/guide/install-and-upgrade.md")
		Expect(err).NotTo(HaveOccurred())
		run := shell(ctx)
		dir := bundle(run)
		page := guide.Page{
			Path: path, Settle: settled, Update: os.Getenv("LOCKSTEP_UPDATE") == "1",
			Run: func(line string) string { return run(dir, line) },
		}
		Expect(page.Check(GinkgoTB())).To(BeNumerically(">", 30))
	}, SpecTimeout(platform.ScaleTimeout(20*time.Minute)))

	It("comes and goes on a cluster that has Kueue and Kubeflow Trainer, and leaves those alone", func(ctx SpecContext) {
		Expect(cluster.AddAddons(ctx, "kueue", "trainer")).To(Succeed())
		run := shell(ctx)
		dir := bundle(run)
		in := func(line string) string { return run(dir, line) }
		const theirs = "kubectl get deployments,services,clusterroles,validatingwebhookconfigurations,mutatingwebhookconfigurations,clustertrainingruntimes -A -o name"
		before := in(theirs)
		Expect(before).To(And(ContainSubstring("kueue"), ContainSubstring("trainer")))

		in(`sed -i '/^  components:/,$d' overlays/local/cluster.yaml && printf '  executor: KubeflowTrainer\n  controller:\n    namespace: lockstep-system\n' >> overlays/local/cluster.yaml`)
		Expect(in("runtime-compiler build --cluster local")).To(MatchRegexp(`^local: \d+ objects`))
		Expect(in("kubectl apply --server-side -k dist/local")).NotTo(ContainSubstring("rror"))
		const chart = "mpi-controller releases/mpi-controller-0.1.0.tgz --namespace lockstep-system --create-namespace --wait"
		Expect(in("helm install " + chart + " --set image.repository=lockstep.test/mpi-controller --set image.tag=dev --set mode=companion")).To(ContainSubstring("STATUS: deployed"))
		Expect(in("kubectl mpi submit beside -n team-vision --runtime openmpi5-cpu --wait -- mpirun -n 4 mpi-hello && kubectl mpi logs beside -n team-vision")).
			To(ContainSubstring("rank=3 size=4"))

		in("kubectl delete trainjobs --all -A")
		Expect(in("helm uninstall mpi-controller --namespace lockstep-system --wait")).To(ContainSubstring("uninstalled"))
		in("kubectl delete -k dist/local")
		Expect(in(theirs)).To(Equal(before))
	}, SpecTimeout(platform.ScaleTimeout(20*time.Minute)))
})
