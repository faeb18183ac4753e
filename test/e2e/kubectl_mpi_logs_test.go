package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/trial"
)

// counting prints numbered lines, a hundred at a time, after its ranks have run.
const counting = `mpirun -n 4 mpi-hello && for i in $(seq 0 %d); do echo "count $i"; [ $((i %% 100)) = 0 ] && sleep 0.1; done; true`

// counted are the numbers that were read, by pod.
type counted struct {
	mu      sync.Mutex
	numbers map[string][]int
}

func (c *counted) take(lines []logs.Line) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range lines {
		var n int
		if _, err := fmt.Sscanf(line.Text, "count %d", &n); err == nil && line.Source.Role == mpi.LauncherJob {
			c.numbers[line.Source.UID] = append(c.numbers[line.Source.UID], n)
		}
	}
	return nil
}

func (c *counted) most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, numbers := range c.numbers {
		most = max(most, len(numbers))
	}
	return most
}

var _ = Describe("The logs of a job", func() {
	It("are followed through an eviction of a node: no line is lost, none comes twice", func(ctx SpecContext) {
		const last = 9999
		object := start(ctx, editor, job("counts", "openmpi5-cpu", "bash", "-c", fmt.Sprintf(counting, last)))
		got := &counted{numbers: map[string][]int{}}
		ended := make(chan error, 1)
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			from := podlogs.Job{Namespace: object.Namespace, Name: object.Name, Reader: editor.Client, Core: editor.Logs.CoreV1()}
			_, err := logs.Run(following, from, logs.Options{Follow: true}, got.take)
			ended <- err
		}()
		Eventually(got.most).Should(BeNumerically(">", last/10))
		evict(ctx, worker(ctx, object))
		Eventually(func() bool {
			return condition(ctx, editor, object, trainer.TrainJobComplete)() || condition(ctx, editor, object, trainer.TrainJobFailed)()
		}).Should(BeTrue())
		Eventually(ended).Should(Receive(BeNil()), "the reader ends with the job")
		for uid, numbers := range got.numbers {
			for i, n := range numbers {
				Expect(n).To(Equal(i), "of launcher pod %s", uid)
			}
			fmt.Fprintf(GinkgoWriter, "%d lines of launcher pod %s\n", len(numbers), uid)
		}
	})
})

// mpiCommand runs `kubectl mpi` as the editor of the tenant, with nothing but the rights of that role.
type mpiCommand struct{ program, kubeconfig string }

func newMPICommand(ctx SpecContext) mpiCommand {
	GinkgoHelper()
	program, err := gexec.BuildWithEnvironment("lockstep.dev/lockstep/cmd/kubectl-mpi", []string{"CGO_ENABLED=0"}, "-buildvcs=false", "-trimpath")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	c := mpiCommand{program, filepath.Join(GinkgoT().TempDir(), "kubeconfig")}
	Expect(cluster.EditorKubeconfig(ctx, tenant, c.kubeconfig)).To(Succeed())
	return c
}

// run expects an exit code and returns what was printed.
func (c mpiCommand) run(code int, args ...string) (stdout, stderr string) {
	GinkgoHelper()
	command := exec.Command(c.program, append([]string{"--kubeconfig", c.kubeconfig, "--namespace", tenant}, args...)...)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	Eventually(session).Should(gexec.Exit())
	stdout, stderr = string(session.Out.Contents()), string(session.Err.Contents())
	Expect(session.ExitCode()).To(Equal(code), "%v: %s", args, stderr)
	return stdout, stderr
}

var _ = Describe("An editor with kubectl mpi", func() {
	It("runs a script of a folder, repeats it, compares the runs and packs what is known", func(ctx SpecContext) {
		kubectlMPI := newMPICommand(ctx)
		first, second, fails := job("script", "", "").Name, job("script", "", "").Name+"-again", job("fails", "", "").Name
		for _, name := range []string{first, second, fails} {
			removeAfterwards(ctx, trial.Job{Name: name, Namespace: tenant})
		}
		folder := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(folder, "run.sh"), []byte("mpirun --output tag -n 4 mpi-hello && cat data/input.txt && echo LR=$LR\n"), 0o600)).To(Succeed())
		Expect(os.Mkdir(filepath.Join(folder, "data"), 0o700)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "data", "input.txt"), []byte("three\nlines «ä»\n  here\n"), 0o600)).To(Succeed())
		little := []string{"--runtime", "openmpi5-cpu", "--nodes", "2", "--slots", "2", "--resources", "cpu=100m,memory=512Mi"}

		out, _ := kubectlMPI.run(0, slices.Concat([]string{"submit", first, "--files", folder, "--follow"}, little, []string{"--", "sh", "./run.sh"})...)
		Expect(out).To(ContainSubstring("three\nlines «ä»\n  here\n"), "what was taken along is there byte by byte")
		out, _ = kubectlMPI.run(0, "logs", first, "--rank", "3")
		Expect(out).To(HavePrefix("3| "))

		kubectlMPI.run(0, "clone", first, second, "--set", "env.LR=0.1", "--wait")
		out, _ = kubectlMPI.run(0, "logs", second)
		Expect(out).To(And(ContainSubstring("LR=0.1\n"), ContainSubstring("lines «ä»")))
		out, _ = kubectlMPI.run(0, "diff", first, second)
		Expect(out).To(MatchRegexp(`launcher env LR +- +0\.1`))
		Expect(out).NotTo(ContainSubstring("image"))

		_, failure := kubectlMPI.run(3, slices.Concat([]string{"submit", fails, "--wait"}, little, []string{"--", "sh", "-c", "mpirun -n 4 mpi-hello; exit 7"})...)
		Expect(failure).To(ContainSubstring(fails + " failed: CommandFailed: "))

		archive := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		kubectlMPI.run(0, "bundle", first, "--file", archive)
		listed, err := exec.Command("tar", "-tzf", archive).Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(listed)).To(And(ContainSubstring(first+"/trainjob.yaml"), ContainSubstring(first+"/events.txt"), ContainSubstring(first+"/logs/"+first+"-launcher")))
	})

	It("is told before a job is made what would become of it", func(ctx SpecContext) {
		kubectlMPI := newMPICommand(ctx)
		little := []string{"--runtime", "openmpi5-cpu", "--resources", "cpu=100m,memory=512Mi"}
		out, _ := kubectlMPI.run(0, slices.Concat([]string{"preflight", "ahead", "--nodes", "2"}, little, []string{"--", "mpirun"})...)
		Expect(out).To(Or(HavePrefix("fits now"), HavePrefix("waits")))
		out, _ = kubectlMPI.run(6, slices.Concat([]string{"preflight", "ahead", "--nodes", "4000"}, little, []string{"--", "mpirun"})...)
		Expect(out).To(HavePrefix("never"))
		_, refused := kubectlMPI.run(6, slices.Concat([]string{"submit", "ahead", "--nodes", "4000"}, little, []string{"--", "mpirun"})...)
		Expect(refused).To(ContainSubstring("spec.trainer.numNodes is 4000"))
		_, lacking := kubectlMPI.run(1, "exec", "no-such-job", "--", "true")
		Expect(lacking).To(ContainSubstring("no-such-job"))
	})
})
