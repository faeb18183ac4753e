package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	jobsaudit "lockstep.dev/lockstep/pkg/jobs/audit"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// lokiVariable names the folder with the programs loki, collector and mpi-controller; test/suite/logs fills it.
const lokiVariable = "LOCKSTEP_LOKI"

func lokiProgram(name string) string {
	folder := os.Getenv(lokiVariable)
	if folder == "" {
		Skip("this needs Loki: run `make test-logs`")
	}
	return filepath.Join(folder, name)
}

const logsFolder = mixinFolder + "/logs/"

var _ = Describe("Logs in Loki", Label("logs"), Ordered, func() {
	const ada, bob = "ada@example.com", "bob@example.com"
	const aged = `{namespace=~".+"} |= "days old"`
	var (
		loki      *lokiServer
		kubelet   *podLogs
		namespace string
	)

	BeforeAll(func(ctx SpecContext) {
		lokiProgram("loki")
		folder := GinkgoT().TempDir()
		loki = startLoki(folder)
		kubelet = &podLogs{folder: filepath.Join(folder, "pods")}
		startCollector(folder, kubelet.folder, loki)
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		namespace = newNamespace(ctx)
		// First of all: of one stream Loki takes nothing that is much older than what it has. It keeps or deletes chunks of a stream as a whole.
		for whose, days := range map[string]int{controllerNamespace: 8, namespace: 8, namespace + "-6": 6} {
			kubelet.write(whose, "aged-0", string(uuid.NewUUID()), logLine{time.Now().AddDate(0, 0, -days), fmt.Sprint(days, " days old, of ", whose)})
		}
		Eventually(func() ([]string, error) {
			loki.post(ctx, "/flush")
			return loki.lines(aged)()
		}).Should(HaveLen(3))
		startControllerProgram(folder, kubelet)
	})

	It("are found by job, rank, node and agent, and so is what became of the job", func(ctx SpecContext) {
		for name, person := range map[string]string{"lost": ada, "well": ada, "other": bob} {
			js := liveAs(ctx, person, namespace, name, kubelet)
			if name == "other" {
				startAgain(ctx, js, kubelet)
			}
			endJobSet(ctx, js, map[bool]jobset.JobSetConditionType{true: jobset.JobSetFailed, false: jobset.JobSetCompleted}[name == "lost"])
		}
		lost := preset{"namespace": namespace, "job": "lost", "rank": "3", "index": "1"}
		Eventually(loki.lines(lost.query("rank"))).Should(Equal([]string{"[1,3]<stdout>:epoch 1", "[1,3]<stderr>:RuntimeError: CUDA out of memory" + strings.Repeat(".", 16<<10)}))
		Expect(loki.lines(lost.query("culprit"))()).To(HaveLen(2))
		Eventually(loki.lines(lost.query("agent"))).Should(ConsistOf(
			"mpi-agent: all nodes answered after 0.21 s", "mpi-agent: Worker 1 failed: rank 3 exited with code 1", "mpi-agent: node 0 serves", "mpi-agent: node 1 serves"))
		Expect(loki.lines(lost.query("node"))()).To(Equal([]string{"mpi-agent: node 1 serves"}))
		Expect(loki.lines(lost.query("job"))()).To(HaveLen(7))
		other := preset{"namespace": namespace, "job": "other", "attempt": "1"}
		Eventually(loki.lines(other.query("attempt"))).Should(Equal([]string{"mpi-agent: node 0 serves again"}))
		Eventually(loki.ended(lost)).Should(HaveField("Cause.Reason", diagnose.JobSetFailed))
		Eventually(loki.ended(lost.of("well"))).Should(HaveField("State", trainer.TrainJobComplete))
	})

	It("stay when job, pods and their files are gone and Loki was started again, for seven days", func(ctx SpecContext) {
		lost := preset{"namespace": namespace, "job": "lost"}
		for _, name := range []string{"lost", "well", "other"} {
			Expect(admin.Delete(ctx, trainJobNamed(namespace, name))).To(Succeed())
			Expect(client.IgnoreNotFound(admin.Delete(ctx, &jobset.JobSet{ObjectMeta: trainJobNamed(namespace, name).ObjectMeta}))).To(Succeed())
		}
		Expect(admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0))).To(Succeed())
		Expect(os.RemoveAll(kubelet.folder)).To(Succeed())
		loki.again()
		Eventually(loki.lines(lost.query("job"))).Should(HaveLen(7))
		before := loki.chunks()
		Eventually(loki.chunks).WithTimeout(2 * time.Minute).Should(HaveLen(len(before) - 1))
		// The process that has deleted a chunk answers from its memory for some time.
		loki.again()
		Eventually(loki.lines(aged)).Should(ConsistOf("6 days old, of "+namespace+"-6", "8 days old, of "+controllerNamespace), "what the controller wrote is kept for longer")
		Expect(loki.lines(lost.query("job"))()).To(HaveLen(7))
	})

	It("are deleted for a job, and for all jobs of a person that the audit log knows", func(ctx SpecContext) {
		lost := preset{"namespace": namespace, "job": "lost"}
		loki.delete(ctx, lost.query("job"))
		loki.delete(ctx, fmt.Sprintf(`{namespace="lockstep-system"} |= "\"name\":\"lost\",\"namespace\":\"%s\""`, namespace))
		Expect(jobsOf(ada, namespace)).To(ConsistOf("lost", "well"))
		loki.delete(ctx, fmt.Sprintf(`{namespace="%s", trainjob=~"%s"}`, namespace, strings.Join(jobsOf(bob, namespace), "|")))
		Eventually(loki.deleted).WithTimeout(3 * time.Minute).Should(And(Not(BeEmpty()), HaveEach("processed")))
		// The process that has deleted lines answers from its memory for some minutes.
		loki.again()
		Eventually(loki.lines(lost.of("well").query("job"))).Should(HaveLen(7))
		for _, gone := range []string{lost.query("job"), lost.query("history"), lost.of("other").query("job")} {
			Expect(loki.lines(gone)()).To(BeEmpty())
		}
		Expect(loki.ended(lost.of("well"))()).To(HaveField("State", trainer.TrainJobComplete))
	})
})

// liveAs is a job of a person: its pods have written, as kubelet keeps it, and what MPI and the agent are known to write.
func liveAs(ctx context.Context, person, namespace, name string, kubelet *podLogs) *jobset.JobSet {
	GinkgoHelper()
	config := rest.CopyConfig(environment.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: person, Groups: []string{"system:masters"}}
	trainJob := ofRuntime(ctx, trainJobNamed(namespace, name))
	Expect(newClient(config).Create(ctx, trainJob)).To(Succeed())
	js := jobSetOf(ctx, trainJob)
	pods := makePods(ctx, js, "10.0.0.1")
	long := "[1,3]<stderr>:RuntimeError: CUDA out of memory" + strings.Repeat(".", 16<<10)
	kubelet.write(namespace, pods[0].Name, string(pods[0].UID), said("mpi-agent: all nodes answered after 0.21 s", "[1,0]<stdout>:epoch 1", "[1,3]<stdout>:epoch 1", long,
		"mpi-agent: Worker 1 failed: rank 3 exited with code 1")...)
	for i, pod := range pods[1:] {
		kubelet.write(namespace, pod.Name, string(pod.UID), said("mpi-agent: node "+strconv.Itoa(i)+" serves")...)
	}
	return js
}

// startAgain adds a pod of the second attempt. JobSet counts from 0 again, because the controller makes another one.
func startAgain(ctx context.Context, js *jobset.JobSet, kubelet *podLogs) {
	GinkgoHelper()
	pod := podFor(js, mpi.NodeJob, 0)
	pod.Name += "-again"
	pod.Labels[mpi.JobSetAttemptLabel], pod.Labels[mpi.AttemptLabel] = "0", "1"
	Expect(admin.Create(ctx, &pod)).To(Succeed())
	kubelet.write(js.Namespace, pod.Name, string(pod.UID), said("mpi-agent: node 0 serves again")...)
}

// jobsOf are the jobs that a person has created in a namespace, also those that are deleted.
func jobsOf(person, namespace string) (names []string) {
	GinkgoHelper()
	file, err := os.Open(auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var history jobsaudit.History
	for event, err := range jobsaudit.ReadEvents(file) {
		Expect(err).NotTo(HaveOccurred())
		for _, step := range history.Add(event) {
			if step.Namespace == namespace && step.By == person && step.What == jobsaudit.Created {
				names = append(names, step.Job)
			}
		}
	}
	return names
}

// logLine is one that a container has written.
type logLine struct {
	at   time.Time
	text string
}

func said(texts ...string) (lines []logLine) {
	for _, text := range texts {
		lines = append(lines, logLine{time.Now(), text})
	}
	return lines
}

// podLogs writes the files of logs that kubelet and containerd would.
type podLogs struct {
	folder string
	mu     sync.Mutex
}

// write appends lines in the form of the container runtime interface: what is longer than 16 KiB comes in parts.
func (p *podLogs) write(namespace, pod, uid string, lines ...logLine) {
	GinkgoHelper()
	const longest = 16 << 10
	p.mu.Lock()
	defer p.mu.Unlock()
	folder := filepath.Join(p.folder, namespace+"_"+pod+"_"+uid, "node")
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	file, err := os.OpenFile(filepath.Join(folder, "0.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	for _, l := range lines {
		text := l.text
		for ; len(text) > longest; text = text[longest:] {
			_, _ = fmt.Fprintf(file, "%s stdout P %s\n", l.at.Format(time.RFC3339Nano), text[:longest])
		}
		_, _ = fmt.Fprintf(file, "%s stdout F %s\n", l.at.Format(time.RFC3339Nano), text)
	}
}

// preset fills in the queries of mixin/logs/queries.yaml.
type preset map[string]string

func (p preset) of(job string) preset { return preset{"namespace": p["namespace"], "job": job} }

func (p preset) query(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(logsFolder + "queries.yaml")
	Expect(err).NotTo(HaveOccurred())
	var all []struct{ Name, Query string }
	Expect(yaml.Unmarshal(text, &all)).To(Succeed())
	for _, q := range all {
		if q.Name == name {
			return regexp.MustCompile(`\$[a-z]+`).ReplaceAllStringFunc(q.Query, func(v string) string { return p[v[1:]] })
		}
	}
	Fail("no query " + name)
	return ""
}

// lokiServer is a real Loki with the settings of the mixin, and less patience.
type lokiServer struct {
	address string
	// data is its disk.
	data    string
	command func() *exec.Cmd
	running *exec.Cmd
}

func startLoki(folder string) *lokiServer {
	GinkgoHelper()
	address, grpc := freeAddress(), freeAddress()
	l := &lokiServer{address: address, data: filepath.Join(folder, "loki")}
	l.command = func() *exec.Cmd {
		// Lines of last week are written now, which Loki would refuse.
		cmd := exec.Command(lokiProgram("loki"), "-config.file="+logsFolder+"loki.yaml", "-config.expand-env=true", "-validation.reject-old-samples=false", "-ingester.flush-on-shutdown=true") //nolint:gosec // a program of the test
		cmd.Env = append(os.Environ(), "LISTEN=127.0.0.1", "PORT="+portOf(address), "GRPC_PORT="+portOf(grpc), "DATA="+l.data, "CANCEL=1s", "COMPACTION=2s", "DELETE_DELAY=1s")
		cmd.Stdout, cmd.Stderr = GinkgoWriter, GinkgoWriter
		return cmd
	}
	l.start()
	DeferCleanup(l.stop)
	return l
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func (l *lokiServer) start() {
	GinkgoHelper()
	l.running = l.command()
	Expect(l.running.Start()).To(Succeed())
	Eventually(func() error {
		answer, err := http.Get("http://" + l.address + "/config")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}).Should(Succeed())
}

func (l *lokiServer) stop() {
	if l.running == nil {
		return
	}
	_ = l.running.Process.Signal(syscall.SIGTERM)
	_ = l.running.Wait()
	l.running = nil
}

// again starts it anew with nothing but its object store, in which it has put everything.
func (l *lokiServer) again() {
	GinkgoHelper()
	l.stop()
	for _, memory := range []string{"wal", "tsdb-shipper-active", "tsdb-shipper-cache"} {
		Expect(os.RemoveAll(filepath.Join(l.data, memory))).To(Succeed())
	}
	l.start()
}

// chunks are the files of its object store that have lines.
func (l *lokiServer) chunks() []string {
	GinkgoHelper()
	paths, err := filepath.Glob(filepath.Join(l.data, "chunks", "fake", "*", "*"))
	Expect(err).NotTo(HaveOccurred())
	return paths
}

// lines are what a query finds, oldest first.
func (l *lokiServer) lines(query string) func() ([]string, error) {
	return func() ([]string, error) {
		values := url.Values{"query": {query}, "limit": {"1000"}, "direction": {"forward"}, "start": {strconv.FormatInt(time.Now().AddDate(0, 0, -20).UnixNano(), 10)}}
		answer, err := http.Get("http://" + l.address + "/loki/api/v1/query_range?" + values.Encode())
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("query %s: %s: %s %w", query, answer.Status, text, err)
		}
		var body struct {
			Data struct{ Result []struct{ Values [][]string } }
		}
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, err
		}
		var found [][]string
		for _, stream := range body.Data.Result {
			found = append(found, stream.Values...)
		}
		slices.SortStableFunc(found, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		var lines []string
		for _, f := range found {
			lines = append(lines, f[1])
		}
		return lines, nil
	}
}

// ended is what the controller has written of the end of a job.
func (l *lokiServer) ended(p preset) func() (view.Job, error) {
	query := p.query("history")
	return func() (view.Job, error) {
		lines, err := l.lines(query)()
		if err != nil || len(lines) != 1 {
			return view.Job{}, fmt.Errorf("%d lines: %w", len(lines), err)
		}
		var said struct{ Job view.Job }
		return said.Job, json.Unmarshal([]byte(lines[0]), &said)
	}
}

// delete asks for the deletion of what a query finds.
func (l *lokiServer) delete(ctx context.Context, query string) {
	GinkgoHelper()
	l.post(ctx, "/loki/api/v1/delete?"+url.Values{"query": {query}, "start": {strconv.FormatInt(time.Now().AddDate(0, 0, -20).Unix(), 10)}}.Encode())
}

// deleted are the states of all requests for deletion.
func (l *lokiServer) deleted() (states []string, err error) {
	answer, err := http.Get("http://" + l.address + "/loki/api/v1/delete")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var requests []struct{ Status string }
	err = json.NewDecoder(answer.Body).Decode(&requests)
	for _, r := range requests {
		states = append(states, r.Status)
	}
	return states, err
}

func (l *lokiServer) post(ctx context.Context, path string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.address+path, nil)
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	text, err := io.ReadAll(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	Expect(answer.StatusCode).To(Equal(http.StatusNoContent), "%s", text)
}

func startCollector(folder, pods string, loki *lokiServer) {
	GinkgoHelper()
	state := filepath.Join(folder, "collector")
	Expect(os.MkdirAll(state, 0o755)).To(Succeed())
	cmd := exec.Command(lokiProgram("collector"), "--config="+logsFolder+"collector.yaml")
	cmd.Env = append(os.Environ(), "STATE="+state, "PODS="+pods, "KUBE_AUTH=kubeConfig", "KUBECONFIG="+adminConfig(folder), "LOKI=http://"+loki.address)
	runUntilOver(cmd, GinkgoWriter)
}

// startControllerProgram runs mpi-controller, whose log kubelet keeps.
func startControllerProgram(folder string, kubelet *podLogs) {
	GinkgoHelper()
	cmd := exec.Command(lokiProgram("mpi-controller"), "--kubeconfig="+adminConfig(folder), "--namespace="+controllerNamespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	read, write := io.Pipe()
	go func() {
		defer GinkgoRecover()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			GinkgoWriter.Println(lines.Text())
			kubelet.write(controllerNamespace, "mpi-controller-0", "00000000-0000-4000-8000-000000000001", said(lines.Text())...)
		}
	}()
	runUntilOver(cmd, write)
}

func adminConfig(folder string) string {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	text, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(folder, "admin.kubeconfig")
	Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}

func runUntilOver(cmd *exec.Cmd, output io.Writer) {
	GinkgoHelper()
	cmd.Stdout, cmd.Stderr = output, output
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}
