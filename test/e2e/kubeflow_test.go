package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// journey is what a user of Kubeflow's SDK saw (kubeflow/journey.py).
type journey struct {
	// Runtimes have nodes, device and number of devices.
	Runtimes map[string][]any
	Jobs     map[string]struct {
		Contained struct {
			Statuses []string
			// RunningAfter is how long after the last rank had begun the job was Running, in seconds.
			RunningAfter float64
			Nodes        int
			Steps        [][]string
			Log, Events  []string
			Listed       bool
		}
		Function struct {
			Status string
			Log    []string
		}
		Failing struct {
			Error  string
			Events []string
		}
	}
}

// travel runs the journey through runtimes, as the tenant's editor, with nothing but the SDK from PyPI.
func travel(ctx SpecContext, runtimes ...string) journey {
	GinkgoHelper()
	folder := filepath.Join("..", "suite", "kubeflow")
	packages, err := exec.CommandContext(ctx, folder).Output()
	Expect(err).NotTo(HaveOccurred(), "%s", stderrOf(err))
	config := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(cluster.EditorKubeconfig(ctx, tenant, config)).To(Succeed())
	python := exec.CommandContext(ctx, "python3", append([]string{filepath.Join("kubeflow", "journey.py"), tenant}, runtimes...)...)
	python.Env = append(python.Environ(), "PYTHONPATH="+strings.TrimSpace(string(packages)), "KUBECONFIG="+config)
	out, err := python.Output()
	Expect(err).NotTo(HaveOccurred(), "%s", stderrOf(err))
	AddReportEntry("journey", string(out))
	var seen journey
	Expect(json.Unmarshal(out, &seen)).To(Succeed())
	return seen
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// expectRightJourney is what is right in both modes; what a runtime is by default, clients read of the executor's only.
func expectRightJourney(seen journey, runtimes ...string) {
	GinkgoHelper()
	for _, runtime := range runtimes {
		jobs := seen.Jobs[runtime]
		By(runtime)
		Expect(jobs.Contained.Statuses).To(BeElementOf([]string{"Created", "Running", "Complete"}, []string{"Running", "Complete"}), "%s was created before it could be looked at", runtime)
		AddReportEntry(runtime+" was Running", fmt.Sprintf("%.1f s after its last rank began", jobs.Contained.RunningAfter))
		Expect(jobs.Contained.Nodes).To(Equal(2))
		Expect(jobs.Contained.Steps).To(ConsistOf([]string{"node-0", "Running", "cpu"}, []string{"node-1", "Running", "cpu"}))
		Expect(jobs.Contained.Log).To(ContainElement(ContainSubstring("rank=3 size=4")))
		Expect(jobs.Contained.Events).To(ContainElements("PodsReady", "TrainingStarted", "Completed"))
		Expect(jobs.Contained.Listed).To(BeTrue())
		Expect(jobs.Failing.Error).To(ContainSubstring("Failed"), "whoever waits for a job that fails gets an error")
		Expect(jobs.Failing.Events).To(ContainElement(string(diagnose.CommandFailed)))
		Expect(jobs.Function.Status).To(Equal("Complete"), "%s: %s", runtime, strings.Join(jobs.Function.Log, "\n"))
		for _, rank := range []string{"0", "1"} {
			Expect(jobs.Function.Log).To(ContainElement("function rank " + rank))
		}
	}
}

// What a client reads hardly depends on the implementation: day by day it meets one.
var _ = Describe("Kubeflow's SDK, unmodified, lists our runtimes, and sees jobs run, end and fail as they do", func() {
	see := func(ctx SpecContext, runtimes ...string) {
		seen := travel(ctx, runtimes...)
		for _, runtime := range runtimes {
			Expect(seen.Runtimes[runtime]).To(Equal([]any{float64(2), "cpu", "4"}), "nodes, device and devices of %s", runtime)
		}
		expectRightJourney(seen, runtimes...)
	}
	It("on "+runtimes[0], func(ctx SpecContext) { see(ctx, runtimes[0]) })
	It("on the others", ofReleases, func(ctx SpecContext) { see(ctx, runtimes[1:]...) })
})
