package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// programs is a namespace that no spec of the bundle has, as that of a CI system.
const programs = "ci"

// robots are two pods with nothing but the tokens of their accounts. The bundle knows the first account.
const robots = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME, namespace: ci}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: ci}
spec:
  serviceAccountName: NAME
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: "lockstep.test/mpi/openmpi:5", command: [sleep, infinity]}]
---
`

const robotsJob = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec: {runtimeRef: {name: openmpi5-cpu}, trainer: {numNodes: 2, numProcPerNode: 2, command: [mpirun, mpi-hello]}}
`

// notebook is a program as one writes it in a notebook.
const notebook = `
from lockstep import MPIClient, MPITrainer
client = MPIClient(namespace="NAMESPACE")
name = client.train("openmpi5-cpu", trainer=MPITrainer(nodes=2, command=["mpirun", "mpi-hello"]))
print(name, client.wait(name, timeout=120).phase)
client.delete(name)
`

var _ = Describe("A program in the cluster", Ordered, func() {
	var editor, admin mpiCommand
	kubectl := func(input string, args ...string) *gexec.Session {
		GinkgoHelper()
		command := admin.command(filepath.Join(admin.folder, "kubectl"), args...)
		command.Stdin = strings.NewReader(input)
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		return session.Wait(2 * time.Minute)
	}

	BeforeAll(func(ctx SpecContext) {
		Expect(cluster.AdmitEditors(ctx, tenant, "{serviceAccount: ci/robot}")).To(Succeed())
		editor = newMPICommand(ctx)
		admin = mpiCommand{folder: editor.folder, kubeconfig: cluster.Kubeconfig}
		Expect(kubectl("", "create", "namespace", programs)).To(gexec.Exit(0))
		DeferCleanup(func() { kubectl("", "delete", "namespace", programs, "--wait=false") })
		named, unnamed := strings.ReplaceAll(robots, "NAME", "robot"), strings.ReplaceAll(robots, "NAME", "other")
		Expect(kubectl(named+unnamed, "apply", "-f", "-")).To(gexec.Exit(0))
		ready := kubectl("", "wait", "pods", "-n", programs, "--all", "--for=condition=Ready", "--timeout=2m")
		Expect(ready).To(gexec.Exit(0))
	})

	It("submits a job with its own token if a spec names its account", func() {
		program, err := os.ReadFile(filepath.Join(editor.folder, "kubectl-mpi"))
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range []string{"robot", "other"} {
			Expect(kubectl(string(program), "exec", "-i", pod, "-n", programs, "--", "sh", "-c",
				"cat > /tmp/kubectl-mpi && chmod 755 /tmp/kubectl-mpi")).To(gexec.Exit(0))
		}
		name := job("robot", "", "").Name
		in := func(pod, input string, args ...string) *gexec.Session {
			GinkgoHelper()
			here := []string{"exec", "-i", pod, "-n", programs, "--", "/tmp/kubectl-mpi", "-n", tenant}
			return kubectl(input, append(here, args...)...)
		}

		By("an account that no spec names")
		refused := in("other", strings.ReplaceAll(robotsJob, "NAME", name), "create", "-f", "-")
		Expect(refused.ExitCode()).NotTo(BeZero())
		Expect(string(refused.Err.Contents())).To(ContainSubstring(
			"User 'system:serviceaccount:ci:other' lacks 'create' permission for trainjobs in namespace '" + tenant + "'"))

		By("the account of the spec")
		began := time.Now()
		created := in("robot", strings.ReplaceAll(robotsJob, "NAME", name), "create", "-f", "-", "-o", "json")
		took := time.Since(began).Round(10 * time.Millisecond)
		fmt.Fprintf(lines, "an account of another namespace created a job in %s\n", took)
		Expect(created).To(gexec.Exit(0))
		var made struct{ Name, Namespace, UID, Phase string }
		Expect(json.Unmarshal(created.Out.Contents(), &made)).To(Succeed())
		Expect([]string{made.Name, made.Namespace}).To(Equal([]string{name, tenant}))
		Expect(in("robot", "", "wait", name, "--timeout=2m")).To(gexec.Exit(0))
		Expect(in("robot", "", "delete", name)).To(gexec.Exit(0))
	})

	It("trains with Python and its own token, in the lines of a notebook", func(ctx SpecContext) {
		installed, _, _ := installedPackage(ctx)
		// 3.13 is the Python of the image.
		sdk := output(exec.CommandContext(ctx, filepath.Join("..", "suite", "kubeflow")), "TARGET_PYTHON=3.13")
		for _, folder := range []string{installed, sdk} {
			tar := exec.CommandContext(ctx, "tar", "-C", folder, "--exclude=__pycache__", "-cf", "-", ".")
			packed, err := tar.Output()
			Expect(err).NotTo(HaveOccurred())
			unpack := "import sys, tarfile\n" +
				"tarfile.open(fileobj=sys.stdin.buffer, mode='r|').extractall('/tmp/packages', filter='data')"
			in := []string{"exec", "-i", "robot", "-n", programs, "--", "python3", "-c", unpack}
			Expect(kubectl(string(packed), in...)).To(gexec.Exit(0))
		}
		program := strings.ReplaceAll(notebook, "NAMESPACE", tenant)
		Expect(len(strings.Split(strings.TrimSpace(program), "\n"))).To(BeNumerically("<=", 10))
		ran := kubectl(program, "exec", "-i", "robot", "-n", programs, "--",
			"env", "PYTHONPATH=/tmp/packages", "python3", "-")
		Expect(ran).To(gexec.Exit(0))
		Expect(string(ran.Out.Contents())).To(HaveSuffix(" Complete\n"))
	})
})
