package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

var _ = Describe("An editor of a tenant who certifies a runtime", func() {
	It("gets what the cluster's spec says of it then, and leaves nothing behind", func(ctx SpecContext) {
		kubectl := newMPICommand(ctx)
		const runtime = "openmpi5-cpu"
		left := func(ctx context.Context) (names []string) {
			jobs := &trainer.TrainJobList{}
			Expect(admin.Client.List(ctx, jobs, client.InNamespace(tenant))).To(Succeed())
			for i := range jobs.Items {
				if strings.HasPrefix(jobs.Items[i].Name, "certify-") {
					names = append(names, jobs.Items[i].Name)
				}
			}
			return names
		}
		DeferCleanup(func(ctx SpecContext) {
			for _, name := range left(ctx) {
				_ = admin.Client.Delete(ctx, &trainer.TrainJob{ObjectMeta: owned(name, tenant)})
			}
		})

		By("measuring, as people see it")
		out, _ := kubectl.run(0, "certify", runtime, "--slots", "2", "--for", "2s")
		AddReportEntry(runtime, out)
		Expect(out).To(And(HavePrefix(runtime+" holds: 4 ranks on 2 nodes, 4 pairs between nodes\n"), ContainSubstring("  certified:\n    - runtime: "+runtime+"\n")))
		Eventually(left).WithContext(ctx).Should(BeEmpty())

		By("measuring, as programs read it")
		out, _ = kubectl.run(0, "certify", runtime, "--slots", "2", "--for", "2s", "-o", "json")
		var made v1alpha1.Certification
		Expect(json.Unmarshal([]byte(out), &made)).To(Succeed(), out)
		live := &trainer.ClusterTrainingRuntime{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Name: runtime}, live)).To(Succeed())
		Expect(made.Fingerprint).To(Equal(live.Annotations[mpi.FingerprintAnnotation]))
		Expect(made.Image).To(MatchRegexp(`^sha256:[0-9a-f]{64}$`))
		Expect(made.By).To(Equal("jane"))
		Expect([]int32{made.Nodes, made.Ranks, made.Pairs}).To(Equal([]int32{2, 4, 4}))

		By("asking for more than the network has")
		_, why := kubectl.run(1, "certify", runtime, "--slots", "2", "--for", "2s", "--min-bandwidth", "100000000")
		Expect(why).To(And(ContainSubstring("`"+runtime+"` is not certified:\n  ranks 0 ("), ContainSubstring("at least 100000000 is asked for")))
		Expect(left(ctx)).To(HaveLen(1), "whoever looks for the reason finds the job")
		kubectl.run(0, "delete", left(ctx)[0])
		Eventually(left).WithContext(ctx).Should(BeEmpty())

		By("pressing Ctrl-C")
		stopped := kubectl.start("certify", runtime, "--slots", "2", "--for", "1m")
		Eventually(stopped.Err).Should(gbytes.Say("trainjob/certify-[a-z0-9]+ created"))
		Eventually(stopped.Interrupt()).Should(gexec.Exit(130))
		Eventually(left).WithContext(ctx).Should(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})
