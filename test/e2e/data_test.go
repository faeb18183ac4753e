package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

const dataJob = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: NAME
  annotations: {lockstep.dev/artifacts: "ARTIFACTS"}
spec:
  runtimeRef: {name: openmpi5-cpu}
  initializer:
    dataset:
      storageUri: s3://bucket/set
      env: [{name: ENDPOINT, value: "http://HOST"}]
      secretRef: {name: SECRET}
  trainer:
    numNodes: 2
    numProcPerNode: 1
    command: [mpirun, bash, -c, "COMMAND"]
`

var _ = Describe("Data of a job", Serial, func() {
	It("is fetched once for all jobs of a namespace, before they start", func(ctx SpecContext) {
		editor := newMPICommand(ctx)
		admin := mpiCommand{folder: editor.folder, kubeconfig: cluster.Kubeconfig}
		secret := rand.Text()
		host := startStore(ctx, admin, secret)
		Expect(admin.kubectl("", "exec", "store", "-n", "storage", "--", "sh", "-c",
			"mkdir -p /tmp/data/bucket/set/deep && cd /tmp/data/bucket/set && printf first > a && printf second > deep/b",
		)).To(gexec.Exit(0))

		By("giving the tenant a claim for data, and a way to the store")
		claim := "  storage:\n    - {name: lockstep-data, size: 1Gi}\n"
		Expect(cluster.Amend(ctx, tenant, "  storage:\n", claim, "  people:\n", `  network:
    egress:
      - namespace: storage
        podLabels: {app: store}
        ports: [{port: 7070}]
  people:
    secrets: [`+tenant+"-editors]\n")).To(Succeed())
		DeferCleanup(func() {
			admin.kubectl("", "delete", "pvc", "lockstep-data", "-n", tenant, "--wait=false")
			admin.kubectl("", "delete", "secret", "bucket", "wrong", "-n", tenant)
		})
		for name, key := range map[string]string{"bucket": secret, "wrong": "wrong"} {
			Expect(editor.kubectl("", "create", "secret", "generic", name, "-n", tenant,
				"--from-literal=ACCESS_KEY_ID=store", "--from-literal=SECRET_ACCESS_KEY="+key,
				"--from-literal=ENDPOINT=http://"+host)).To(gexec.Exit(0))
		}
		run := func(as mpiCommand, namespace, title, secret, command, artifacts string) string {
			GinkgoHelper()
			name := job(title, "", "").Name
			values := strings.NewReplacer(
				"NAME", name, "SECRET", secret, "COMMAND", command, "HOST", host, "ARTIFACTS", artifacts)
			Expect(as.kubectl(values.Replace(dataJob), "create", "-n", namespace, "-f", "-")).To(gexec.Exit(0))
			DeferCleanup(func() { as.kubectl("", "mpi", "delete", name, "-n", namespace) })
			return name
		}
		// Ranks can read, and neither write nor find the key.
		const reads = "set -e; cd /workspace/dataset; test \\\"$(cat a deep/b)\\\" = firstsecond; " +
			"if touch c 2>/dev/null; then exit 7; fi; if env | grep -q ^SECRET_ACCESS_KEY=; then exit 8; fi"
		for i, how := range []string{"fetched in", "already there"} {
			name := run(editor, tenant, []string{"data", "again"}[i], "bucket", reads, "")
			Expect(editor.kubectl("", "mpi", "wait", name, "-n", tenant, "--timeout=2m")).To(gexec.Exit(0))
			output := editor.kubectl("", "logs", "job/"+name+"-dataset-initializer", "-n", tenant).Out
			Expect(output).To(gbytes.Say("2 files, 11 bytes of s3://bucket/set: " + how))
		}

		By("copying what a job makes, after its end, with the same key")
		// 40 MB are more than one part of an upload.
		const writes = "set -e; cd $LOCKSTEP_ARTIFACTS_DIR; touch step-$OMPI_COMM_WORLD_RANK; " +
			"if [ $OMPI_COMM_WORLD_RANK = 0 ]; then head -c 40000000 /dev/zero > model; fi"
		made := run(editor, tenant, "makes", "bucket", writes, "{to: s3://bucket/runs, secret: bucket}")
		Eventually(func() string {
			return string(editor.kubectl("", "mpi", "artifacts", made, "-n", tenant).Out.Contents())
		}).WithTimeout(2 * time.Minute).Should(And(ContainSubstring("s3://bucket/runs/"+made), ContainSubstring("3 files")))
		manifest := admin.kubectl("", "exec", "store", "-n", "storage", "--", "sh", "-c",
			"cat /tmp/data/bucket/runs/"+made+"-*/lockstep.json")
		Expect(string(manifest.Out.Contents())).To(And(ContainSubstring(`"uri": "s3://bucket/set"`),
			ContainSubstring(`"name": "model"`), ContainSubstring(fmt.Sprintf("%x", sha256.Sum256(make([]byte, 40000000))))))

		By("going on with the folder in another job")
		next := job("goes-on", "", "").Name
		Expect(editor.kubectl("", "mpi", "clone", made, next, "-n", tenant, "--resume", "--set", "artifacts=", "--wait",
			"--", "mpirun", "sh", "-c", "test -f $LOCKSTEP_ARTIFACTS_DIR/step-1")).To(gexec.Exit(0))
		DeferCleanup(func() { editor.kubectl("", "mpi", "delete", next, "-n", tenant) })

		By("getting a file of it from the volume")
		model := filepath.Join(GinkgoT().TempDir(), "model")
		Expect(editor.kubectl("", "mpi", "cp", made+":/workspace/artifacts/model", "-n", tenant, model)).To(gexec.Exit(0))
		Expect(os.ReadFile(model)).To(HaveLen(40000000))

		By("a wrong key")
		name := run(editor, tenant, "denied", "wrong", "true", "")
		Expect(editor.kubectl("", "mpi", "wait", name, "-n", tenant, "--timeout=2m")).NotTo(gexec.Exit(0))
		why := editor.kubectl("", "mpi", "why", name, "-n", tenant)
		Expect(string(why.Out.Contents())).To(And(ContainSubstring("DataDenied"), ContainSubstring("HTTP 403"),
			ContainSubstring("the Secret that secretRef names")))

		By("another tenant, which has neither the claim nor the key")
		other := mpiCommand{folder: editor.folder, kubeconfig: filepath.Join(GinkgoT().TempDir(), "kubeconfig")}
		Expect(cluster.EditorKubeconfig(ctx, otherTenant, other.kubeconfig)).To(Succeed())
		name = run(other, otherTenant, "foreign", "bucket", "true", "")
		Eventually(func() string {
			return string(other.kubectl("", "mpi", "why", name, "-n", otherTenant).Out.Contents())
		}).Should(And(ContainSubstring("PersistentVolumeClaim `lockstep-data`"), ContainSubstring("Secret `bucket`")))
	})
})
