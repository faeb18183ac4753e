package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"lockstep.dev/lockstep/test/platform"
)

// unfetched is the exit code of the script that builds the page, if its packages cannot be fetched.
const unfetched = 75

var _ = Describe("The page", longest, func() {
	It("shows jobs to an editor, a viewer and a stranger in a browser", func(ctx SpecContext) {
		pictures := runInBrowser(ctx)
		if os.Getenv("LOCKSTEP_UPDATE") != "1" {
			return
		}
		inGuide, err := filepath.Glob("../../docs/guide/dashboard/*.png")
		Expect(err).NotTo(HaveOccurred())
		for _, picture := range inGuide {
			text, err := os.ReadFile(filepath.Join(pictures, filepath.Base(picture)))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(picture, text, 0o644)).To(Succeed())
		}
	})

	It("has the numbers of docs/benchmarks.md", ofReleases, Serial, func(ctx SpecContext) {
		text, err := os.ReadFile(filepath.Join(runInBrowser(ctx, "LOCKSTEP_PAGE_NUMBERS=1"), "numbers.json"))
		Expect(err).NotTo(HaveOccurred())
		fmt.Fprintf(lines, "%s\n", text)
	})
})

// runInBrowser runs the tests of web/test in a browser, with more environment, and returns the folder of their
// pictures.
func runInBrowser(ctx SpecContext, environment ...string) string {
	GinkgoHelper()
	browser, node := printedBy("../suite/browser"), printedBy("../suite/node")
	page := exec.Command("../suite/page")
	page.Stdout, page.Stderr = GinkgoWriter, GinkgoWriter
	err := page.Run()
	if page.ProcessState.ExitCode() == unfetched {
		Skip("SKIPPED: the packages of the page cannot be fetched")
	}
	Expect(err).NotTo(HaveOccurred(), "build the page")
	addRuntimes(ctx, runtimeOfPage())
	kubectl := newMPICommand(ctx)
	folder := GinkgoT().TempDir()
	kubeconfigs := map[string]string{"admin": cluster.Kubeconfig}
	for _, user := range []struct{ role, name, group string }{
		{"editor", "jane", tenant + "-editors"}, {"viewer", "vera", tenant + "-viewers"},
		{"stranger", "sam", otherTenant + "-editors"},
	} {
		kubeconfigs[user.role] = filepath.Join(folder, user.role)
		Expect(cluster.PersonKubeconfig(ctx, user.name, user.group, tenant, kubeconfigs[user.role])).To(Succeed())
	}
	pictures, err := filepath.Abs("../../build/test/page")
	Expect(err).NotTo(HaveOccurred())
	world, err := json.Marshal(map[string]any{
		"kubeconfigs": kubeconfigs, "namespace": tenant, "gpuNamespace": gpuNamespace,
		"kubectl": filepath.Join(kubectl.folder, "kubectl"), "browser": browser, "pictures": pictures,
	})
	Expect(err).NotTo(HaveOccurred())
	tests := kubectl.command(filepath.Join(node, "node"), "node_modules/vitest/vitest.mjs", "run",
		"--config", "vitest.browser.ts")
	tests.Dir = "../../web"
	tests.Env = append(append(tests.Env, "LOCKSTEP_PAGE_WORLD="+string(world), "NO_COLOR=1"), environment...)
	session, err := gexec.Start(tests, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	Eventually(session).WithTimeout(platform.ScaleTimeout(15 * time.Minute)).Should(gexec.Exit(0))
	return pictures
}

// runtimeOfPage returns a runtime as the form of the page writes it, with an image of this cluster.
func runtimeOfPage() string {
	GinkgoHelper()
	spec, _, _ := strings.Cut(source("web/src/runtimes/specs.yaml"), "---\n")
	return strings.Replace(spec, "registry.example.com/mpi:5", "lockstep.test/mpi/openmpi:5", 1) +
		"  resourcesPerNode: {cpu: 250m, memory: 512Mi}\n"
}

// printedBy returns the output of a script that installs a program, and skips the spec if that needs root.
func printedBy(script string) string {
	GinkgoHelper()
	command := exec.Command(script)
	command.Stderr = GinkgoWriter
	printed, err := command.Output()
	if err != nil && os.Geteuid() != 0 {
		Skip("SKIPPED: run " + script + " as root")
	}
	Expect(err).NotTo(HaveOccurred(), script)
	return string(regexp.MustCompile(`\s+$`).ReplaceAll(printed, nil))
}
