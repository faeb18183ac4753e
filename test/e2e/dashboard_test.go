package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"lockstep.dev/lockstep/test/platform"
)

var _ = Describe("The page", longest, func() {
	It("shows jobs to an editor, a viewer and a stranger in a browser", func(ctx SpecContext) {
		browser := printedBy("../suite/browser")
		node := printedBy("../suite/node")
		Expect(exec.Command("../suite/page").Run()).To(Succeed(), "build the page")
		kubectl := newMPICommand(ctx)
		folder := GinkgoT().TempDir()
		addresses := map[string]string{}
		for _, user := range []struct{ role, name, group string }{
			{"editor", "jane", tenant + "-editors"}, {"viewer", "vera", tenant + "-viewers"},
			{"stranger", "sam", otherTenant + "-editors"},
		} {
			path := filepath.Join(folder, user.role)
			Expect(cluster.PersonKubeconfig(ctx, user.name, user.group, tenant, path)).To(Succeed())
			own := mpiCommand{folder: kubectl.folder, kubeconfig: path}
			session := own.start("dashboard", "--no-browser")
			DeferCleanup(func() { session.Interrupt().Wait(10 * time.Second) })
			Eventually(session).Should(gbytes.Say(`(?m)^http://127.0.0.1:\d+/start\?key=\S+$`))
			addresses[user.role] = regexp.MustCompile(`http://\S+`).FindString(string(session.Out.Contents()))
		}
		pictures, err := filepath.Abs("../../build/test/page")
		Expect(err).NotTo(HaveOccurred())
		world, err := json.Marshal(map[string]any{
			"addresses": addresses, "namespace": tenant, "kubectl": filepath.Join(kubectl.folder, "kubectl"),
			"kubeconfig": filepath.Join(folder, "editor"), "admin": cluster.Kubeconfig, "browser": browser,
			"pictures": pictures,
		})
		Expect(err).NotTo(HaveOccurred())
		tests := kubectl.command(filepath.Join(node, "node"), "node_modules/vitest/vitest.mjs", "run",
			"--config", "vitest.browser.ts")
		tests.Dir = "../../web"
		tests.Env = append(tests.Env, "LOCKSTEP_PAGE_WORLD="+string(world), "NO_COLOR=1")
		session, err := gexec.Start(tests, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		Eventually(session).WithTimeout(platform.ScaleTimeout(10 * time.Minute)).Should(gexec.Exit(0))
	})
})

// printedBy returns what a script of the suites prints.
func printedBy(script string) string {
	GinkgoHelper()
	command := exec.Command(script)
	command.Stderr = GinkgoWriter
	printed, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), script)
	return string(regexp.MustCompile(`\s+$`).ReplaceAll(printed, nil))
}

