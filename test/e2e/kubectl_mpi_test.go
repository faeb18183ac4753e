package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/guide"
	"lockstep.dev/lockstep/test/testjob"
)

// mpiCommand runs `kubectl mpi` by the real kubectl, as the editor of the tenant with nothing but the rights of that role.
type mpiCommand struct{ folder, kubeconfig string }

func newMPICommand(ctx SpecContext) mpiCommand {
	GinkgoHelper()
	program, err := gexec.BuildWithEnvironment("lockstep.dev/lockstep/cmd/kubectl-mpi", []string{"CGO_ENABLED=0"}, "-buildvcs=false", "-trimpath")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
	c := mpiCommand{folder: filepath.Dir(program), kubeconfig: filepath.Join(GinkgoT().TempDir(), "kubeconfig")}
	Expect(os.Symlink(cluster.Kubectl, filepath.Join(c.folder, "kubectl"))).To(Succeed())
	Expect(cluster.EditorKubeconfig(ctx, tenant, c.kubeconfig)).To(Succeed())
	return c
}

// command is a command line in an environment in which kubectl finds the plugin and the cluster.
func (c mpiCommand) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "PATH="+c.folder+":"+os.Getenv("PATH"))
	return cmd
}

// start begins `kubectl mpi` with arguments.
func (c mpiCommand) start(args ...string) *gexec.Session {
	GinkgoHelper()
	session, err := gexec.Start(c.command(filepath.Join(c.folder, "kubectl"), append([]string{"mpi"}, args...)...), GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return session
}

// run expects an exit code and returns what was printed.
func (c mpiCommand) run(code int, args ...string) (stdout, stderr string) {
	GinkgoHelper()
	session := c.start(args...)
	Eventually(session).Should(gexec.Exit())
	stdout, stderr = string(session.Out.Contents()), string(session.Err.Contents())
	Expect(session.ExitCode()).To(Equal(code), "%v: %s%s", args, stdout, stderr)
	return stdout, stderr
}

var _ = Describe("An editor of a tenant with kubectl mpi", func() {
	It("submits, watches, meets a fault, understands it, repeats and compares", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		long, train := job("journey", "", "").Name, job("journey-oom", "", "").Name+"-train" // a number at the end of a name is what clone counts on from
		larger := train + "-2"
		for _, name := range []string{long, train, larger} {
			removeAfterwards(ctx, testjob.Job{Name: name, Namespace: tenant})
		}
		submit := func(name, memory string, rest ...string) []string {
			return slices.Concat([]string{"submit", name, "--runtime", "openmpi5-cpu", "--nodes", "2", "--slots", "2", "--resources", "cpu=100m,memory=" + memory}, rest)
		}

		By("submitting a job that is held back, and resuming it")
		out, _ := kubectl.run(0, submit(long, "512Mi", "--suspend", "-o", "json", "--", "mpirun", "--output", "tag", "mpi-hello", "--sleep", "3600")...)
		var made struct{ Name, Namespace, UID, Phase string }
		Expect(json.Unmarshal([]byte(out), &made)).To(Succeed())
		Expect(made.UID).NotTo(BeEmpty())
		Expect([]string{made.Name, made.Namespace, made.Phase}).To(Equal([]string{long, tenant, "Created"}))
		watching := kubectl.start("list", "--watch")
		Eventually(watching).Should(gbytes.Say(long + ` .* Suspended`))
		kubectl.run(0, "resume", long)
		kubectl.run(0, "wait", long, "--for=running", "--timeout=2m")
		Eventually(watching).Should(gbytes.Say(long + ` .* Running +2/2`))
		Eventually(watching.Interrupt()).Should(gexec.Exit(130))

		By("giving up a wait, and leaving while its output is followed")
		_, late := kubectl.run(4, "wait", long, "--timeout=1s")
		Expect(late).To(ContainSubstring("after 1s " + long + " is Running, not complete"))
		following := kubectl.start("logs", long, "--follow", "--rank", "3")
		Eventually(following).Should(gbytes.Say(`3\| rank=3 size=4`))
		Eventually(following.Interrupt()).Should(gexec.Exit(130))
		Expect(string(following.Err.Contents())).To(ContainSubstring("The job goes on. `kubectl mpi logs " + long + " -f` shows it again"))
		kubectl.run(0, "delete", long, "--wait")
		_, gone := kubectl.run(1, "get", long)
		Expect(gone).To(ContainSubstring("there is no TrainJob `" + long + "`"))

		By("asking too little memory")
		_, failure := kubectl.run(3, submit(train, "256Mi", "--wait", "--", "mpirun", "-n", "4", "bash", "-o", "pipefail", "-c",
			`[ $OMPI_COMM_WORLD_RANK != 3 ] || head -c 300M /dev/zero | tail > /dev/null && exec mpi-hello`)...)
		Expect(failure).To(ContainSubstring(train + " failed: OOMKilled: "))
		expectOneStory(ctx, kubectl, train, diagnose.OOMKilled)

		By("doing what the remedy says, and nothing else")
		kubectl.run(2, "clone", train, "--set", "colour=red")
		kubectl.run(0, "clone", train, "--set", "resources.memory=1Gi", "--wait")
		out, _ = kubectl.run(0, "diff", train, larger)
		Expect(out).To(And(MatchRegexp(`memory +256Mi +1Gi`), MatchRegexp(`result +Failed OOMKilled +Complete`), Not(ContainSubstring("command"))))
		kubectl.run(0, "wait", larger)

		By("staying within the rights of the role")
		_, lacks := kubectl.run(5, "exec", larger, "--", "true")
		Expect(lacks).To(And(ContainSubstring("User 'jane' lacks 'create' permission for pods/exec in namespace '"+tenant+"'"), ContainSubstring("may do this: ask its admins")))
		_, lacks = kubectl.run(5, "list", "--namespace", otherTenant)
		Expect(lacks).To(MatchRegexp(`User '\S+' lacks 'list' permission for trainjobs in namespace '` + otherTenant + `'`))
	})

	It("follows the guide to a first job, and sees what it shows", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		for _, name := range []string{"first", "script", "large", "large-2", "save"} {
			removeAfterwards(ctx, testjob.Job{Name: name, Namespace: tenant})
		}
		path, err := filepath.Abs("../../docs/guide/run-a-job.md")
		Expect(err).NotTo(HaveOccurred())
		folder := GinkgoT().TempDir()
		page := guide.Page{Path: path, Settle: settledPage, Update: os.Getenv("LOCKSTEP_UPDATE") == "1", Run: func(line string) string {
			shell := kubectl.command("sh", "-c", line)
			shell.Dir = folder
			printed, _ := shell.CombinedOutput() // a job that fails is one of the things that are shown
			return string(printed)
		}}
		Expect(page.Check(GinkgoTB())).To(BeNumerically(">", 9))
	}, SpecTimeout(5*time.Minute))

	It("runs a script of a folder, repeats it, compares the runs and packs what is known", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		first, second, fails := job("of-a-folder", "", "").Name, job("of-a-folder", "", "").Name+"-again", job("fails", "", "").Name
		for _, name := range []string{first, second, fails} {
			removeAfterwards(ctx, testjob.Job{Name: name, Namespace: tenant})
		}
		folder := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(folder, "run.sh"), []byte("mpirun --output tag -n 4 mpi-hello && cat data/input.txt && echo LR=$LR\n"), 0o600)).To(Succeed())
		Expect(os.Mkdir(filepath.Join(folder, "data"), 0o700)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(folder, "data", "input.txt"), []byte("three\nlines «ä»\n  here\n"), 0o600)).To(Succeed())
		little := []string{"--runtime", "openmpi5-cpu", "--nodes", "2", "--slots", "2", "--resources", "cpu=100m,memory=512Mi"}

		out, _ := kubectl.run(0, slices.Concat([]string{"submit", first, "--files", folder, "--follow"}, little, []string{"--", "sh", "./run.sh"})...)
		Expect(out).To(ContainSubstring("three\nlines «ä»\n  here\n"), "what was taken along is there byte by byte")
		out, _ = kubectl.run(0, "logs", first, "--rank", "3")
		Expect(out).To(HavePrefix("3| "))

		kubectl.run(0, "clone", first, second, "--set", "env.LR=0.1", "--wait")
		out, _ = kubectl.run(0, "logs", second)
		Expect(out).To(And(ContainSubstring("LR=0.1\n"), ContainSubstring("lines «ä»")))
		out, _ = kubectl.run(0, "diff", first, second)
		Expect(out).To(MatchRegexp(`launcher env LR +- +0\.1`))
		Expect(out).NotTo(ContainSubstring("image"))

		_, failure := kubectl.run(3, slices.Concat([]string{"submit", fails, "--wait"}, little, []string{"--", "sh", "-c", "mpirun -n 4 mpi-hello; exit 7"})...)
		Expect(failure).To(ContainSubstring(fails + " failed: CommandFailed: "))

		archive := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		kubectl.run(0, "bundle", first, "--file", archive)
		listed, err := exec.Command("tar", "-tzf", archive).Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(listed)).To(And(ContainSubstring(first+"/trainjob.yaml"), ContainSubstring(first+"/events.txt"), ContainSubstring(first+"/logs/"+first+"-launcher")))
	})

	It("gets results out of a claim, and leaves nothing behind", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		saves := job("saves", "", "").Name
		removeAfterwards(ctx, testjob.Job{Name: saves, Namespace: tenant})
		folder := GinkgoT().TempDir()
		kubectl.run(0, "submit", saves, "--runtime", "mpich-cpu", "--pvc", "results:/results", "--wait", "--", "sh", "-c",
			"rm -rf /results/e2e && mkdir -p '/results/e2e/a b' && cd /results/e2e && mpirun true && "+
				"head -c 3000000 /dev/urandom > 'a b/model' && ln -s 'a b' latest && touch locked && chmod 0 locked && "+
				"sha256sum < 'a b/model'")
		sum, _ := kubectl.run(0, "logs", saves)

		copied, _ := kubectl.run(0, "cp", saves+":/results/e2e/a b", folder)
		Expect(copied).To(Equal("files: 1, bytes: 3000000\n"))
		_, unread := kubectl.run(1, "cp", saves+":/results/e2e", folder)
		Expect(unread).To(ContainSubstring("not all files can be read: open /results/e2e/locked: permission denied"))
		model, err := os.ReadFile(filepath.Join(folder, "e2e", "latest", "model"))
		Expect(err).NotTo(HaveOccurred())
		Expect(sum).To(ContainSubstring(fmt.Sprintf("%x", sha256.Sum256(model))))

		_, failure := kubectl.run(1, "cp", saves+":/results/e2e/absent", folder)
		Expect(failure).To(ContainSubstring("/results/e2e/absent: no such file or directory"))
		_, failure = kubectl.run(1, "cp", saves+":/tmp/x", folder)
		Expect(failure).To(ContainSubstring("its claims are at /results (claim `results`)"))
		left, _ := kubectl.run(0, "list", "-o", "name")
		Expect(left).NotTo(ContainSubstring("trainjob/cp-"))
	}, SpecTimeout(5*time.Minute))

	It("is told before a job is made what would become of it", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		little := []string{"--runtime", "openmpi5-cpu", "--resources", "cpu=100m,memory=512Mi"}
		out, _ := kubectl.run(0, slices.Concat([]string{"preflight", "ahead", "--nodes", "2"}, little, []string{"--", "mpirun"})...)
		Expect(out).To(Or(HavePrefix("fits now"), HavePrefix("waits")))
		out, _ = kubectl.run(6, slices.Concat([]string{"preflight", "ahead", "--nodes", "4000"}, little, []string{"--", "mpirun"})...)
		Expect(out).To(HavePrefix("never"))
		_, refused := kubectl.run(6, slices.Concat([]string{"submit", "ahead", "--nodes", "4000"}, little, []string{"--", "mpirun"})...)
		Expect(refused).To(ContainSubstring("spec.trainer.numNodes is 4000"))
	})
})

// What is not the same twice on a page: times and ages, ends of names of pods, machines, the order of ranks, and how wide a column is.
var (
	pageTimes    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+Z|\b(\d+[hms])+\b|\b\d+\.\d+ s\b`)
	pagePods     = regexp.MustCompile(`(-0-\d)-[a-z0-9]{5}\b`)
	pageMachines = regexp.MustCompile(`\bnode\d+\b`)
	pageStates   = regexp.MustCompile(`Succeeded \(exit code 0\)|Running, not ready|Running`) // kubelet may tell of an end after the job has
	pageLeft     = regexp.MustCompile(`\d pods? with (?:its|their) logs?`)
	pageMeasured = regexp.MustCompile(`(?m)^Used .*$|\d+ MiB in use`)
	pageSpaces   = regexp.MustCompile(`[ \t]+`)
	// On a slow machine a launcher is up before anybody has sent it addresses, and PRRTE loses a race with its child (docs/limits.md); two jobs may
	// take the same number of seconds, and then do not differ.
	pageSometimes = regexp.MustCompile(`(?m)^(?:\| )?(?:mpi-agent: nobody sent the addresses|\[\S+\] plm:ssh: Warning: setpgid|took\b).*\n`)
	pageRanks     = regexp.MustCompile(`(?:(?:\S+ )?(?:rank|library)=.*\n)+`)
)

func settledPage(text string) string {
	text = pageTimes.ReplaceAllString(pageSometimes.ReplaceAllString(text, ""), "TIME")
	text = pagePods.ReplaceAllString(text, "$1")
	text = pageMachines.ReplaceAllString(text, "MACHINE")
	text = pageStates.ReplaceAllString(text, "STATE")
	text = pageLeft.ReplaceAllString(text, "PODS")
	text = pageMeasured.ReplaceAllString(text, "MEASURED")
	text = pageSpaces.ReplaceAllString(text, " ")
	return pageRanks.ReplaceAllStringFunc(text, func(ranks string) string {
		lines := strings.SplitAfter(ranks, "\n")
		slices.Sort(lines)
		return strings.Join(lines, "")
	})
}

// expectOneStory: condition, event, `why`, `describe`, `list`, `wait` and JSON give the same reason and the same text.
func expectOneStory(ctx SpecContext, kubectl mpiCommand, name string, reason mpi.Reason) {
	GinkgoHelper()
	key := client.ObjectKey{Namespace: tenant, Name: name}
	object := &trainer.TrainJob{}
	Expect(editor.Client.Get(ctx, key, object)).To(Succeed())
	failed := meta.FindStatusCondition(status.AllConditions(object), trainer.TrainJobFailed)
	Expect(failed).NotTo(BeNil())
	Expect(failed.Reason).To(Equal(string(reason)))

	Eventually(func(g Gomega) {
		events := &corev1.EventList{}
		g.Expect(editor.Client.List(ctx, events, client.InNamespace(tenant))).To(Succeed())
		i := slices.IndexFunc(events.Items, func(e corev1.Event) bool { return e.InvolvedObject.UID == object.UID && e.Reason == failed.Reason })
		g.Expect(i).To(BeNumerically(">=", 0), "an event with the reason")
		g.Expect(failed.Message).To(HavePrefix(strings.TrimSuffix(events.Items[i].Message, "…")))
	}).Should(Succeed())
	for _, command := range []string{"get", "why", "describe", "wait --for=ended"} {
		out, _ := kubectl.run(0, append(strings.Fields(command), name, "-o", "json")...)
		var shown struct{ Cause struct{ Reason, Text string } }
		Expect(json.Unmarshal([]byte(out), &shown)).To(Succeed(), command)
		Expect([]string{shown.Cause.Reason, shown.Cause.Text}).To(Equal([]string{failed.Reason, failed.Message}), command)
	}
	record, _ := jobv1.Read(object.Annotations, object.UID)
	Expect(record.Cause).NotTo(BeNil())
	parts := *record.Cause
	for _, command := range []string{"why", "describe"} {
		out, _ := kubectl.run(0, command, name)
		Expect(out).To(And(ContainSubstring(failed.Reason+": "+parts.Message+"\n"), ContainSubstring("What to do: "+parts.Remedy+"\n")), command)
	}
	out, _ := kubectl.run(0, "events", name)
	Expect(out).To(ContainSubstring(failed.Reason))
	out, _ = kubectl.run(0, "list", "--status", "failed")
	Expect(out).To(MatchRegexp(name + ` .* Failed: ` + failed.Reason))
}
