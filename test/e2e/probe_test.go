package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
)

// The TrainJob and the command that reads its answer are those of the documentation.
var _ = Describe("A TrainJob that tests a runtime", func() {
	It("measures all pairs of ranks, and its user reads the answer in the log", func(ctx SpecContext) {
		manifest, read := documentedProbe()
		for _, runtime := range runtimes {
			object := manifest.DeepCopy()
			object.Name, object.Namespace, object.Spec.RuntimeRef.Name = "test-"+runtime, tenant, runtime
			submit(ctx, editor, object)
		}
		for _, runtime := range runtimes {
			object := &trainer.TrainJob{ObjectMeta: owned("test-"+runtime, tenant)}
			Eventually(completes(ctx, editor, object)).Should(BeTrue(), runtime)
			line := strings.ReplaceAll(read, manifest.Name, object.Name)
			text := asEditor(ctx, line)
			AddReportEntry(runtime, text)
			report := probe.Report{}
			Expect(json.Unmarshal([]byte(text), &report)).To(Succeed(), text)
			Expect(report.OK).To(BeTrue(), "%s: %v", runtime, report.Problems)
			Expect(report.Ranks).To(HaveLen(4), runtime)
			Expect(report.Pairs).To(HaveLen(6), "%s: all pairs of four ranks", runtime)
			for _, pair := range report.Pairs {
				Expect(pair.RoundTrip).NotTo(BeNil(), "%+v", pair)
				Expect(pair.RoundTrip.Median).To(BeNumerically(">", 0), "%+v", pair)
				Expect(pair.BandwidthThere).To(BeNumerically(">", 0), "%+v", pair)
				Expect(pair.BandwidthBack).To(BeNumerically(">", 0), "%+v", pair)
				Expect(pair.SameHost).To(Equal(report.Ranks[pair.From].Host == report.Ranks[pair.To].Host), "%+v", pair)
			}
			Expect(report.BetweenHosts.Pairs).To(Equal(4), runtime)
		}
	})
})

// documentedProbe is the manifest of docs/probe.md, and the line of shell that reads what it measured.
func documentedProbe() (manifest *trainer.TrainJob, read string) {
	GinkgoHelper()
	text := source("docs/probe.md")
	_, rest, found := strings.Cut(text, "```yaml\n")
	Expect(found).To(BeTrue())
	document, rest, _ := strings.Cut(rest, "```\n")
	manifest = &trainer.TrainJob{}
	Expect(yaml.UnmarshalStrict([]byte(document), manifest)).To(Succeed())
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "kubectl logs ") {
			read, _, _ = strings.Cut(line, " | jq")
			break
		}
	}
	Expect(read).To(ContainSubstring(manifest.Name))
	return manifest, read
}

// asEditor runs a line of shell in which kubectl speaks for an editor of the tenant.
func asEditor(ctx SpecContext, line string) string {
	GinkgoHelper()
	shell := exec.CommandContext(ctx, "bash", "-c", `program=$0 config=$1 tenant=$2
		kubectl() { "$program" --kubeconfig "$config" --as jane --as-group "$tenant-editors" --as-group system:authenticated --namespace "$tenant" "$@"; }
		`+line, cluster.Kubectl, cluster.Kubeconfig, tenant)
	shell.Stderr = GinkgoWriter // kubectl's warnings are not what is read
	out, err := shell.Output()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}
