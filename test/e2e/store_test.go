package e2e

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// store is a pod of the platform that serves S3, and is no one's but by its network policy.
const store = `
apiVersion: v1
kind: Namespace
metadata: {name: storage}
---
apiVersion: v1
kind: Pod
metadata: {name: store, namespace: storage, labels: {app: store}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: "lockstep.test/mpi/openmpi:5", command: [sleep, infinity]}]
`

// s3 reads an object and writes another one for each rank, with the signatures of AWS (version 4), as any client of S3.
const s3 = `
import datetime, hashlib, hmac, http.client, os
host, key = os.environ["STORE"], os.environ["AWS_SECRET_ACCESS_KEY"]
def request(method, path, body=b""):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest, scope = hashlib.sha256(body).hexdigest(), now[:8] + "/us-east-1/s3/aws4_request"
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    signed = ";".join(headers)
    canonical = "\n".join([method, path, "", *(f"{k}:{v}" for k, v in headers.items()), "", signed, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("AWS4" + key).encode()
    for part in [*scope.split("/")]:
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    sign = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, "
                                f"SignedHeaders={signed}, Signature={sign}")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{method} {path}: {answer.status} {data.decode()}")
    return data
rank = os.environ["OMPI_COMM_WORLD_RANK"]
request("PUT", "/bucket/output-" + rank, request("GET", "/bucket/input") + rank.encode())
`

const storeJob = `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  runtimeRef: {name: openmpi5-cpu}
  trainer:
    numNodes: 2
    numProcPerNode: 1
    command: [COMMAND]
    env:
      - {name: STORE, value: "HOST"}
`

const credentials = `
      - {name: AWS_ACCESS_KEY_ID, valueFrom: {secretKeyRef: {name: bucket, key: AWS_ACCESS_KEY_ID}}}
      - {name: AWS_SECRET_ACCESS_KEY, valueFrom: {secretKeyRef: {name: bucket, key: AWS_SECRET_ACCESS_KEY}}}
`

var _ = Describe("An object store in the cluster", func() {
	It("is read and written by the tenant that names it, and reached by no other", func(ctx SpecContext) {
		editor := newMPICommand(ctx)
		admin := mpiCommand{folder: editor.folder, kubeconfig: cluster.Kubeconfig}
		kubectl := mpiCommand.kubectl
		secret := rand.Text()
		host := startStore(ctx, admin, secret)

		By("letting the tenant reach the store, and its editors write Secrets")
		Expect(cluster.Amend(ctx, tenant, "  people:\n", `  network:
    egress:
      - namespace: storage
        podLabels: {app: store}
        ports: [{port: 7070}]
  people:
    secrets: [`+tenant+"-editors]\n")).To(Succeed())
		Expect(kubectl(editor, "", "create", "secret", "generic", "bucket", "-n", tenant,
			"--from-literal=AWS_ACCESS_KEY_ID=store", "--from-literal=AWS_SECRET_ACCESS_KEY="+secret)).To(gexec.Exit(0))
		DeferCleanup(func() { kubectl(admin, "", "delete", "secret", "bucket", "-n", tenant) })
		Expect(kubectl(editor, "", "get", "secret", "bucket", "-n", tenant).ExitCode()).NotTo(BeZero())

		By("a job of the tenant")
		manifest := func(name, command, more string) string {
			values := strings.NewReplacer("NAME", name, "COMMAND", command, "HOST", host)
			return values.Replace(storeJob) + strings.TrimPrefix(more, "\n")
		}
		name := job("store", "", "").Name
		script := strings.ReplaceAll(strings.ReplaceAll(s3, `\`, `\\`), `"`, `\"`)
		command := `mpirun, python3, -c, "` + strings.ReplaceAll(script, "\n", `\n`) + `"`
		Expect(kubectl(editor, manifest(name, command, credentials), "create", "-n", tenant, "-f", "-")).To(gexec.Exit(0))
		DeferCleanup(func() { kubectl(editor, "", "mpi", "delete", name, "-n", tenant) })
		Expect(kubectl(editor, "", "mpi", "wait", name, "-n", tenant, "--timeout=2m")).To(gexec.Exit(0))
		written := kubectl(admin, "", "exec", "store", "-n", "storage", "--",
			"sh", "-c", "cd /tmp/data/bucket && cat output-0 output-1")
		Expect(string(written.Out.Contents())).To(Equal("from the store 0from the store 1"))

		By("a job of another tenant")
		other := mpiCommand{folder: editor.folder, kubeconfig: filepath.Join(GinkgoT().TempDir(), "kubeconfig")}
		Expect(cluster.EditorKubeconfig(ctx, otherTenant, other.kubeconfig)).To(Succeed())
		// Its ranks begin when the network plugin has the policy: before that a pod may reach anything.
		knock := `bash, -c, "mpirun true && ! timeout 5 bash -c 'exec 3<>/dev/tcp/${STORE/://}' 2>/dev/null"`
		Expect(kubectl(other, manifest(name, knock, ""), "create", "-n", otherTenant, "-f", "-")).To(gexec.Exit(0))
		DeferCleanup(func() { kubectl(other, "", "mpi", "delete", name, "-n", otherTenant) })
		Expect(kubectl(other, "", "mpi", "wait", name, "-n", otherTenant, "--timeout=2m")).To(gexec.Exit(0))
	})
})

// kubectl runs kubectl with an input, and waits for its end.
func (c mpiCommand) kubectl(input string, args ...string) *gexec.Session {
	GinkgoHelper()
	command := c.command(filepath.Join(c.folder, "kubectl"), args...)
	command.Stdin = strings.NewReader(input)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return session.Wait(2 * time.Minute)
}

// startStore runs a store of S3 in a pod, with one key and an object, and returns its host and port.
func startStore(ctx context.Context, admin mpiCommand, secret string) string {
	GinkgoHelper()
	kubectl := func(input string, args ...string) string {
		GinkgoHelper()
		session := admin.kubectl(input, args...)
		Expect(session).To(gexec.Exit(0))
		return string(session.Out.Contents())
	}
	build := exec.CommandContext(ctx, filepath.Join("build", "bin", "cluster"), "build", "versitygw")
	build.Dir = filepath.Join("..", "..")
	_, path, _ := strings.Cut(output(build), " ")
	program, err := os.ReadFile(path) //nolint:gosec // what was built here
	Expect(err).NotTo(HaveOccurred())
	kubectl(store, "apply", "-f", "-")
	DeferCleanup(func() { kubectl("", "delete", "namespace", "storage", "--wait=false") })
	kubectl("", "wait", "pod/store", "-n", "storage", "--for=condition=Ready", "--timeout=2m")
	in := []string{"exec", "-i", "store", "-n", "storage", "--", "sh", "-c"}
	kubectl(string(program), append(in, "mkdir -p /tmp/data/bucket && printf 'from the store ' > /tmp/data/bucket/input && "+
		"cat > /tmp/versitygw && chmod 755 /tmp/versitygw")...)
	kubectl("", append(in, "export ROOT_ACCESS_KEY=store ROOT_SECRET_KEY="+secret+"; "+
		"nohup /tmp/versitygw --port :7070 posix /tmp/data > /tmp/log 2>&1 & sleep 1; cat /tmp/log")...)
	return kubectl("", "get", "pod", "store", "-n", "storage", "-o", "jsonpath={.status.podIP}") + ":7070"
}
