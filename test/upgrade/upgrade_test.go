// Package upgrade replaces parts of a platform while jobs are in flight: each ends as it would have without.
//
// `make test-upgrade` runs it on a local cluster. The earlier release is a commit of this repository, built from its
// own sources.
package upgrade

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	namespace = "lockstep-upgrade"
	runtime   = "openmpi5-cpu"
	machines  = 2
)

func TestUpgrade(t *testing.T) {
	if os.Getenv("LOCKSTEP_EARLIER") == "" {
		t.Skip("SKIPPED: this needs a real cluster and an earlier release: run `make test-upgrade`")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(platform.ScaleTimeout(2 * time.Minute))
	SetDefaultEventuallyPollingInterval(platform.ScaleTimeout(200 * time.Millisecond))
	RunSpecs(t, "upgrade")
}

var (
	tools   platform.Tools
	cluster *platform.Platform
	admin   testjob.User
)

// release is a bundle and its compiler.
type release struct{ root, compiler string }

// earlier is in the folder that test/suite/upgrade makes, and ours is this checkout.
func earlier() release {
	root := os.Getenv("LOCKSTEP_EARLIER")
	return release{root: root, compiler: filepath.Join(root, "build", "bin", "runtime-compiler")}
}

func ours() release { return release{root: tools.Root, compiler: tools.Compiler} }

// change replaces a text of a file of the bundle.
type change struct{ file, from, to string }

// The bundle's files that change.
const (
	runtimeFile = "catalog/runtimes/" + runtime + ".yaml"
	clusterFile = "overlays/local/cluster.yaml"
)

var (
	// A job whose pods are made from this runtime never starts.
	otherImage   = change{runtimeFile, "image: lockstep.test/mpi/openmpi:5", "image: lockstep.test/mpi/openmpi:gone"}
	withRestarts = change{runtimeFile, "\nspec:\n", "\nspec:\n  restarts: 2\n"}
	newAgent     = change{clusterFile, "mpi-agent:earlier", "mpi-agent:dev"}
	earlierAgent = change{clusterFile, "mpi-agent:dev", "mpi-agent:earlier"}
)

// install compiles a bundle after changes, applies it as the guide does, and returns when its controller is at work.
func install(ctx context.Context, r release, changes ...change) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	for _, part := range []string{"catalog", "tenants", "overlays", "charts"} {
		Expect(os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(r.root, part)))).To(Succeed())
	}
	for _, c := range append(changes, withRestarts) {
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(ContainSubstring(c.from), c.file)
		Expect(os.WriteFile(path, []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o600)).To(Succeed())
	}
	run(ctx, r.compiler, "build", "--root", dir, "--cluster", "local", "--out", filepath.Join(dir, "dist"))
	kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(dir, "dist", "local"))
	kubectl(ctx, "-n", platform.Namespace, "rollout", "status", "deployment/mpi-controller", "--timeout=180s")
}

func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return run(ctx, cluster.Kubectl, append([]string{"--kubeconfig", cluster.Kubeconfig}, args...)...)
}

func run(ctx context.Context, program string, args ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = tools.Root
	printed, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %s: %s", program, strings.Join(args, " "), printed)
	return string(printed)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	tools, err = platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	tools.Needs = []string{"mpi-agent", "mpi-controller", "openmpi5"}
	cluster, err = platform.Prepare(ctx, tools, machines, platform.NewProgress(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return cluster.Close(context.Background()) })
	archives, err := filepath.Glob(filepath.Join(earlier().root, "archives", "*"))
	Expect(err).NotTo(HaveOccurred())
	run(ctx, tools.Cluster, append([]string{"load"}, archives...)...)
	Expect(cluster.AddAddons(ctx, "kueue")).To(Succeed())
	admin, err = cluster.Admin()
	Expect(err).NotTo(HaveOccurred())
	install(ctx, earlier())
	Expect(cluster.Sandbox(ctx, namespace)).To(Succeed())
	makeQueues(ctx)
}, NodeTimeout(platform.ScaleTimeout(30*time.Minute)))

// crdsOf returns the folder of the CRDs of a version of Kubeflow Trainer.
func crdsOf(ctx context.Context, version string) string {
	GinkgoHelper()
	dir := run(ctx, "go", "mod", "download", "-json", "github.com/kubeflow/trainer/v2@"+version)
	_, dir, _ = strings.Cut(dir, `"Dir": "`)
	dir, _, _ = strings.Cut(dir, `"`)
	return filepath.Join(dir, "manifests", "base", "crds")
}

const (
	earlierTrainer = "v2.2.1"
	ourTrainer     = "v2.3.0"
)

func applyCRDs(version string) func(SpecContext) {
	return func(ctx SpecContext) {
		kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", crdsOf(ctx, version))
	}
}

// cell is a change of the platform. Stopped are jobs that lose their pods to a new runtime, and begin again. Without
// them new jobs run, too.
func cell(name string, before, after func(SpecContext), stopped ...string) TableEntry {
	return Entry(name, before, after, stopped, SpecTimeout(platform.ScaleTimeout(10*time.Minute)))
}

// settled is how long what a change sets off may take to begin.
const settled = 5 * time.Second

func with(r func() release, changes ...change) func(SpecContext) {
	return func(ctx SpecContext) { install(ctx, r(), changes...) }
}

var _ = Describe("Jobs in flight end as they would have", Ordered, ContinueOnFailure, func() {
	DescribeTable("when the platform gets", func(ctx SpecContext, before, after func(SpecContext), stopped []string) {
		before(ctx)
		jobs := begin(ctx)
		DeferCleanup(func(ctx SpecContext) {
			for _, j := range append(jobs, fresh()) {
				j.remove(ctx)
			}
		})
		after(ctx)
		// Kueue looks at a job again when something of it changes.
		kubectl(ctx, "annotate", "trainjobs", "--all", "-n", namespace, "lockstep.dev-test/upgraded=yes")
		time.Sleep(platform.ScaleTimeout(settled))
		if len(stopped) == 0 {
			jobs = append(jobs, fresh())
		}
		var wrong []string
		for _, j := range jobs {
			want := j.want
			if slices.Contains(stopped, j.state) {
				want += begunAgain
			}
			got := j.end(ctx)
			AddReportEntry(j.state, got)
			if got != want {
				wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", j.state, got, want))
			}
		}
		Expect(wrong).To(BeEmpty())
	},
		cell("nothing", with(earlier), func(SpecContext) {}),
		// Kueue compares the containers of a job that it has admitted with the runtime of today (docs/queueing.md).
		cell("another image of the runtime", with(earlier), with(earlier, otherImage), "running", "urgent"),
		cell("a new agent", with(earlier), with(earlier, newAgent)),
		cell("the CRDs of a later Kubeflow Trainer", func(ctx SpecContext) {
			with(earlier)(ctx)
			applyCRDs(earlierTrainer)(ctx)
		}, applyCRDs(ourTrainer)),
		cell("Kueue anew", with(earlier), func(ctx SpecContext) {
			Expect(cluster.RemoveAddons(ctx, "kueue")).To(Succeed())
			Expect(cluster.AddAddons(ctx, "kueue")).To(Succeed())
		}),
		cell("a new controller and the agent of before", with(earlier), with(ours, earlierAgent)),
		cell("this release", with(earlier), with(ours)),
		cell("the release before this one back", with(ours), with(earlier)),
	)
})
