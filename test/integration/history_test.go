package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/history"
	"lockstep.dev/lockstep/pkg/history/store"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

var _ = Describe("The history of jobs", Ordered, func() {
	const printing, lines = 16, 10_000
	const secret = "correct-horse-" + "battery"
	var (
		kubelet          *logKubelet
		historian        *historyProcess
		namespace, other string
		run              *keptRun
	)

	BeforeAll(func(ctx SpecContext) {
		kubelet = startLogKubelet(ctx)
		namespace, other = newNamespace(ctx), newNamespace(ctx)
		ensureNamespace(ctx, controllerNamespace)
		historian = newHistoryProcess(
			ctx,
			store.Limits{For: time.Hour, PerJob: 1 << 30, PerNamespace: 1 << 30, Total: 1 << 30},
		)
		historian.start()
		DeferCleanup(func() { historian.stop() })
	})

	It(
		"keeps the output of 16 pods whole and in order, through a restart and a pod that is deleted by force",
		func(ctx SpecContext) {
			run = newKeptRun(ctx, namespace, "train", "jane@example.com", secret, printing)
			kubelet.print(0, 3000, run.names()...)
			Eventually(historian.written(namespace)).Should(BeNumerically(">", 0))
			historian.stop()
			kubelet.print(3000, 6000, run.names()...)
			historian.start()
			killed := run.pods[5]
			Eventually(historian.lines(ctx, run.key(ctx), killed.Name)).Should(HaveLen(6000))
			kubelet.print(6000, lines, killed.Name)
			Expect(admin.Delete(ctx, killed, client.GracePeriodSeconds(0))).To(Succeed())
			kubelet.end(killed.Name)
			kubelet.print(6000, lines, run.names()...)
			Eventually(historian.lines(ctx, run.key(ctx), killed.Name)).Should(HaveLen(lines))
			run.end(ctx, kubelet)
			Eventually(func() bool { return historian.get(ctx, run.key(ctx)).Log.Whole }).Should(BeTrue())
			run.remove(ctx)
			for _, name := range run.names() {
				printed := historian.lines(ctx, run.key(ctx), name)()
				Expect(printed).To(HaveLen(lines), name)
				for i, line := range printed {
					Expect(line).To(Equal(textOf(name, i)))
				}
			}
			Expect(historian.get(ctx, run.key(ctx)).Log.Note).To(BeEmpty())
		},
	)

	It("keeps what is known of the job, and no secret", func(ctx SpecContext) {
		j := historian.get(ctx, run.key(ctx))
		Expect(j.State).To(Equal(trainer.TrainJobFailed))
		Expect(j.User).To(Equal("jane@example.com"))
		Expect(j.Objects.Pods).To(HaveLen(printing))
		Expect(j.Objects.Events).To(ContainElement(HaveField("Message", "said of the launcher, with ***")))
		record, found := jobv1.Read(j.Objects.TrainJob.Annotations, j.UID)
		Expect(found).To(BeTrue())
		Expect(record.Phase).To(Equal(jobv1.Failed))
		text, err := json.Marshal(j)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring(secret))
		Expect(string(text)).To(ContainSubstring("DB_PASSWORD"))
	})

	It("lets those read and delete whom RBAC lets in the namespace", func(ctx SpecContext) {
		path := run.key(ctx)
		viewer, editor, stranger := historyClient(
			ctx,
			namespace,
			"viewer",
			"get",
			"list",
		), historyClient(
			ctx,
			namespace,
			"editor",
			"get",
			"list",
			"delete",
		), historyClient(
			ctx,
			other,
			"stranger",
			"get",
			"list",
			"delete",
		)
		Expect(viewer.Get().AbsPath(path, "log").Do(ctx).Error()).To(Succeed())
		Expect(apierrors.IsForbidden(viewer.Delete().AbsPath(path).Do(ctx).Error())).To(BeTrue())
		for _, denied := range []*rest.Request{
			stranger.Get().AbsPath(path), stranger.Get().AbsPath(path, "log"),
			stranger.Delete().AbsPath(path), stranger.Get().AbsPath(filepath.Dir(path)),
			stranger.Get().AbsPath("/apis/history.lockstep.dev/v1alpha1/keptjobs"),
		} {
			Expect(apierrors.IsForbidden(denied.Do(ctx).Error())).To(BeTrue(), denied.URL().String())
		}
		Expect(historian.list(ctx, stranger, other, "")).To(BeEmpty())
		Expect(editor.Delete().AbsPath(path).Param("dryRun", "All").Do(ctx).Error()).To(Succeed())
		Expect(historian.list(ctx, editor, namespace, "trainJob=train")).To(HaveLen(1))
		Expect(
			apierrors.IsBadRequest(
				viewer.Get().AbsPath(filepath.Dir(path)).Param("fieldSelector", "owner=x").Do(ctx).Error(),
			),
		).To(
			BeTrue(),
		)
	})

	It("is read by kubectl mpi when the job is gone", func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		output, err := exec.CommandContext(
			ctx,
			"go",
			"build",
			"-o",
			folder+"/",
			"../../cmd/kubectl-mpi",
		).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		path := filepath.Join(folder, "config")
		Expect(os.WriteFile(path, environment.KubeConfig, 0o600)).To(Succeed())
		mpi := func(args ...string) string {
			GinkgoHelper()
			command := exec.CommandContext(
				ctx,
				filepath.Join(folder, "kubectl-mpi"),
				append(args, "--kubeconfig", path, "-n", namespace)...)
			text, err := command.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(text))
			return string(text)
		}
		Expect(mpi("history")).To(MatchRegexp(`train +Failed +jane@example.com +\S+ ago +\d+`))
		Expect(mpi("why", "train")).To(ContainSubstring("note: `train` is gone; this is from the history\n"))
		Expect(mpi("describe", "train", "-o", "wide")).To(And(
			ContainSubstring("said of the launcher, with ***"), ContainSubstring("train-node-0-15-x7x2p")))
		merged := strings.Split(mpi("logs", "train", "--merge", "--role", "all", "--color", "never"), "\n")
		Expect(len(merged)).To(BeNumerically(">=", printing*lines))
		tail := mpi("logs", "train", "--role", "node", "--tail", "2", "--rank", "7", "--attempt", "0")
		Expect(strings.Count(tail, "prints line 9999\n")).To(Equal(printing-1), tail)
		Expect(mpi("logs", "train", "--attempt", "1")).NotTo(ContainSubstring("prints"))
	})

	It("answers nobody but the API server", func(ctx SpecContext) {
		direct := &http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		} //nolint:gosec // whom it asks does not matter
		request, err := http.NewRequestWithContext(
			ctx,
			http.MethodGet,
			"https://"+historian.options.Address+run.key(ctx),
			nil,
		)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("X-Remote-User", "admin")
		request.Header.Set("X-Remote-Group", "system:masters")
		answer, err := direct.Do(request)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Body.Close()).To(Succeed())
		Expect(answer.StatusCode).To(Equal(http.StatusUnauthorized))
	})

	It("is purged by job and by person, but not of what runs", func(ctx SpecContext) {
		for name, user := range map[string]string{"of-joe": "joe", "also-of-joe": "joe", "of-jane": "jane"} {
			done := newKeptRun(ctx, namespace, name, user, secret, 1)
			kubelet.print(0, 10, done.names()...)
			Eventually(historian.lines(ctx, done.key(ctx), done.names()[0])).Should(HaveLen(10))
			if name != "also-of-joe" {
				done.end(ctx, kubelet)
				Eventually(func() bool { return historian.get(ctx, done.key(ctx)).Ended != nil }).Should(BeTrue())
			}
		}
		editor := historyClient(ctx, namespace, "purger", "get", "list", "delete")
		ofJoe := historian.list(ctx, editor, namespace, "user=joe")
		Expect(ofJoe).To(HaveLen(2))
		for _, j := range ofJoe {
			err := editor.Delete().AbsPath(keptPath(&j)).Do(ctx).Error()
			if j.TrainJob == "also-of-joe" {
				Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
				continue
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(apierrors.IsNotFound(editor.Get().AbsPath(keptPath(&j), "log").Do(ctx).Error())).To(BeTrue())
		}
		Expect(historian.list(ctx, editor, namespace, "user=joe")).To(HaveLen(1))
		Expect(historian.list(ctx, editor, namespace, "user=jane")).To(HaveLen(1))
		// What was removed does not come back with the next change of its job, or with the next process.
		historian.stop()
		historian.start()
		Consistently(
			func() []kept.Job { return historian.list(ctx, editor, namespace, "user=joe") },
		).WithTimeout(
			3 * time.Second,
		).Should(
			HaveLen(1),
		)
	})

	It("holds its limits", func(ctx SpecContext) {
		historian.stop()
		historian.options.Limits.PerNamespace = 1
		historian.start()
		reader := historyClient(ctx, namespace, "reader", "get", "list")
		Eventually(
			func() []kept.Job { return historian.list(ctx, reader, namespace, "") },
		).Should(
			HaveExactElements(HaveField("TrainJob", "also-of-joe")),
		)
		Expect(historian.written(namespace)()).To(BeNumerically("<=", 1))
	})
})

// keptRun is a job that runs: its launcher and nodes print through a kubelet.
type keptRun struct {
	job  *trainer.TrainJob
	pods []*corev1.Pod
}

func newKeptRun(ctx context.Context, namespace, name, user, secret string, pods int) *keptRun {
	GinkgoHelper()
	r := &keptRun{job: trainJobNamed(namespace, name)}
	r.job.Labels = map[string]string{mpi.TrainJobLabel: name}
	r.job.Annotations = map[string]string{view.UserAnnotation: user}
	r.job.Spec.Trainer.Env = []corev1.EnvVar{{Name: "DB_PASSWORD", Value: secret}}
	Expect(admin.Create(ctx, r.job)).To(Succeed())
	for i := range pods {
		role := mpi.NodeJob
		if i == 0 {
			role = mpi.LauncherJob
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace,
				Name:      fmt.Sprintf("%s-%s-0-%d-x7x2p", name, role, i),
				Labels: map[string]string{
					mpi.JobSetNameLabel:      name,
					mpi.ReplicatedJobLabel:   role,
					mpi.CompletionIndexLabel: strconv.Itoa(max(0, i-1)),
				},
			},
			Spec: corev1.PodSpec{
				NodeName:      "log-machine",
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: mpi.Container, Image: "registry.test/mpi:1"}},
			},
		}
		Expect(admin.Create(ctx, pod)).To(Succeed())
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: mpi.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
		Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		r.pods = append(r.pods, pod)
	}
	Expect(admin.Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    namespace,
			GenerateName: "e-",
		},
		Reason:         "Said",
		LastTimestamp:  metav1.Now(),
		Message:        "said of the launcher, with " + secret,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: r.pods[0].Name},
	})).To(Succeed())
	return r
}

func (r *keptRun) names() (names []string) {
	for _, pod := range r.pods {
		names = append(names, pod.Name)
	}
	return names
}

func (r *keptRun) key(context.Context) string {
	return keptPath(&kept.Job{ObjectMeta: metav1.ObjectMeta{Namespace: r.job.Namespace, Name: kept.NameOf(r.job)}})
}

func keptPath(j *kept.Job) string {
	return "/apis/history.lockstep.dev/v1alpha1/namespaces/" + j.Namespace + "/keptjobs/" + j.Name
}

// end fails the job, as mpi-controller does it.
func (r *keptRun) end(ctx context.Context, kubelet *logKubelet) {
	GinkgoHelper()
	kubelet.end(r.names()...)
	for _, pod := range r.pods {
		if client.IgnoreNotFound(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)) == nil &&
			pod.DeletionTimestamp == nil {
			pod.Status.Phase = corev1.PodFailed
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{
				{
					Name:  mpi.Container,
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
				},
			}
			_ = admin.Status().Update(ctx, pod) // one was deleted
		}
	}
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(r.job), r.job)).To(Succeed())
	record, err := json.Marshal(jobv1.Record{Version: jobv1.Version, UID: r.job.UID, Phase: jobv1.Failed})
	Expect(err).NotTo(HaveOccurred())
	r.job.Annotations[jobv1.Annotation] = string(record)
	Expect(admin.Update(ctx, r.job)).To(Succeed())
	r.job.Status.Conditions = []metav1.Condition{
		{
			Type:               trainer.TrainJobFailed,
			Status:             metav1.ConditionTrue,
			Reason:             "Test",
			LastTransitionTime: metav1.Now(),
		},
	}
	Expect(admin.Status().Update(ctx, r.job)).To(Succeed())
}

// remove deletes it with its pods.
func (r *keptRun) remove(ctx context.Context) {
	GinkgoHelper()
	Expect(admin.Delete(ctx, r.job)).To(Succeed())
	Expect(
		admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(r.job.Namespace), client.GracePeriodSeconds(0)),
	).To(
		Succeed(),
	)
}

// logKubelet is where the API server reads logs, with the answers of kubelet.
type logKubelet struct {
	mu    sync.Mutex
	said  map[string][]string
	over  map[string]bool
	newer chan struct{}
}

func startLogKubelet(ctx context.Context) *logKubelet {
	GinkgoHelper()
	k := &logKubelet{said: map[string][]string{}, over: map[string]bool{}, newer: make(chan struct{})}
	server := httptest.NewUnstartedServer(k)
	server.Config.ErrorLog = log.New(GinkgoWriter, "kubelet: ", 0)
	server.StartTLS()
	DeferCleanup(server.CloseClientConnections)
	address, err := url.Parse(server.URL)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	Expect(err).NotTo(HaveOccurred())
	machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "log-machine"}}
	Expect(admin.Create(ctx, machine)).To(Succeed())
	machine.Status = corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.Hostname()}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
	}
	Expect(admin.Status().Update(ctx, machine)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, machine)).To(Succeed()) })
	return k
}

func textOf(pod string, i int) string {
	return fmt.Sprintf("[1,%d]<stdout>: %s prints line %d", i%8, pod, i)
}

// print has pods print lines of some numbers, those that they have not printed.
func (k *logKubelet) print(from, to int, pods ...string) {
	for ; from < to; from += 100 {
		k.mu.Lock()
		for _, pod := range pods {
			for i := len(k.said[pod]); i < min(from+100, to); i++ {
				k.said[pod] = append(k.said[pod], time.Now().UTC().Format(time.RFC3339Nano)+" "+textOf(pod, i)+"\n")
			}
		}
		close(k.newer)
		k.newer = make(chan struct{})
		k.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// end says that pods print no more.
func (k *logKubelet) end(pods ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range pods {
		k.over[pod] = true
	}
	close(k.newer)
	k.newer = make(chan struct{})
}

// ServeHTTP answers for the log of a container, whose pod is the third part of the path.
func (k *logKubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, query := strings.Split(r.URL.Path, "/")[3], r.URL.Query()
	since, _ := time.Parse(time.RFC3339, query.Get("sinceTime"))
	for next := 0; r.Context().Err() == nil; {
		k.mu.Lock()
		fresh, over, newer := k.said[pod][next:], k.over[pod], k.newer
		next = len(k.said[pod])
		k.mu.Unlock()
		for _, line := range fresh {
			stamp, _, _ := strings.Cut(line, " ")
			if at, _ := time.Parse(time.RFC3339Nano, stamp); !at.Before(since) {
				_, _ = io.WriteString(w, line)
			}
		}
		_ = http.NewResponseController(w).Flush()
		if over || query.Get("follow") != "true" {
			return
		}
		select {
		case <-r.Context().Done():
		case <-newer:
		}
	}
}

// historyProcess is `mpi-controller history`, behind an APIService.
type historyProcess struct {
	config  *rest.Config
	reader  rest.Interface
	options history.Options
	stop    func()
}

func newHistoryProcess(ctx context.Context, limits store.Limits) *historyProcess {
	GinkgoHelper()
	address := freeAddress()
	h := &historyProcess{config: serviceAccount(controllerNamespace, "mpi-history"), options: history.Options{
		Folder:       GinkgoT().TempDir(),
		Limits:       limits,
		Address:      address,
		ProbeAddress: "0",
		Host:         "mpi-history." + controllerNamespace + ".svc",
	}}
	h.reader = clientsOf(environment.Config)
	_, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.ParseInt(port, 10, 32)
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-history"},
		Spec: corev1.ServiceSpec{
			Type:         corev1.ServiceTypeExternalName,
			ExternalName: "localhost",
			Ports:        []corev1.ServicePort{{Port: int32(number)}},
		},
	})).To(Succeed())
	objects, err := render(map[string]any{"history": map[string]any{"storage": "1Gi"}})
	Expect(err).NotTo(HaveOccurred())
	service := &unstructured.Unstructured{}
	for _, object := range objects {
		switch object.GetKind() {
		case "APIService":
			service = object
			Expect(unstructured.SetNestedField(object.Object, number, "spec", "service", "port")).To(Succeed())
			fallthrough
		case "ClusterRole", "ClusterRoleBinding", "RoleBinding":
			if strings.Contains(object.GetName(), "history") {
				Expect(admin.Create(ctx, object)).To(Succeed())
			}
		}
	}
	DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, service)).To(Succeed()) })
	return h
}

func clientsOf(config *rest.Config) rest.Interface {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return clients.CoreV1().RESTClient()
}

// start runs it until stop, and waits until it answers.
func (h *historyProcess) start() {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- history.Run(ctx, h.config, h.options) }()
	h.stop = sync.OnceFunc(func() {
		GinkgoHelper()
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	Eventually(func() error {
		return h.reader.Get().AbsPath("/apis/history.lockstep.dev/v1alpha1/keptjobs").Do(ctx).Error()
	}).Should(Succeed())
}

// written is how many bytes of logs a namespace has.
func (h *historyProcess) written(namespace string) func() (sum int64) {
	return func() (sum int64) {
		files, _ := filepath.Glob(filepath.Join(h.options.Folder, namespace, "*", "log.gz"))
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				sum += info.Size()
			}
		}
		return sum
	}
}

func (h *historyProcess) get(ctx context.Context, path string) (j kept.Job) {
	GinkgoHelper()
	text, err := h.reader.Get().AbsPath(path).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred(), string(text))
	Expect(json.Unmarshal(text, &j)).To(Succeed())
	return j
}

func (h *historyProcess) list(ctx context.Context, who rest.Interface, namespace, fields string) []kept.Job {
	GinkgoHelper()
	var text []byte
	// The API server answers 503 until it has found the process again that was started a moment ago.
	Eventually(func() (err error) {
		request := who.Get().AbsPath("/apis/history.lockstep.dev/v1alpha1/namespaces", namespace, "keptjobs")
		text, err = request.Param("fieldSelector", fields).DoRaw(ctx)
		return err
	}).WithContext(ctx).Should(Succeed())
	var list kept.JobList
	Expect(json.Unmarshal(text, &list)).To(Succeed())
	return list.Items
}

// lines are what a pod has printed, as it is kept.
func (h *historyProcess) lines(ctx context.Context, path, pod string) func() []string {
	return func() (found []string) {
		text, _ := h.reader.Get().AbsPath(path, "log").DoRaw(ctx)
		for line := range strings.Lines(string(text)) {
			if _, source, printed := kept.ParseLine(line); source == pod+"/"+mpi.Container {
				found = append(found, printed)
			}
		}
		return found
	}
}

// historyClient is a person with some verbs for kept jobs in a namespace.
func historyClient(ctx context.Context, namespace, name string, verbs ...string) rest.Interface {
	GinkgoHelper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"history.lockstep.dev"},
				Resources: []string{"keptjobs", "keptjobs/log"},
				Verbs:     slices.Clone(verbs),
			},
		},
	}
	Expect(admin.Create(ctx, role)).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	})).To(Succeed())
	user, err := environment.AddUser(envtest.User{Name: name}, nil)
	Expect(err).NotTo(HaveOccurred())
	return clientsOf(user.Config())
}

// aggregate gives the API server what it needs to ask extensions: a certificate by which they know it.
func aggregate(server *envtest.APIServer, folder string) {
	GinkgoHelper()
	sign := func(
		name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey,
	) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		Expect(err).NotTo(HaveOccurred())
		if signer == nil {
			parent, signer = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		Expect(err).NotTo(HaveOccurred())
		private, err := x509.MarshalPKCS8PrivateKey(key)
		Expect(err).NotTo(HaveOccurred())
		Expect(
			os.WriteFile(
				filepath.Join(folder, name+".crt"),
				pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
				0o600,
			),
		).To(
			Succeed(),
		)
		Expect(
			os.WriteFile(
				filepath.Join(folder, name+".key"),
				pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
				0o600,
			),
		).To(
			Succeed(),
		)
		return template, key
	}
	until := time.Now().Add(24 * time.Hour)
	ca, key := sign("proxy-ca", &x509.Certificate{
		SerialNumber: big.NewInt(
			1,
		),
		Subject:               pkix.Name{CommonName: "front-proxy-ca"},
		NotAfter:              until,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil, nil)
	sign("proxy", &x509.Certificate{
		SerialNumber: big.NewInt(
			2,
		),
		Subject:     pkix.Name{CommonName: "front-proxy-client"},
		NotAfter:    until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca, key)
	file := func(name string) string { return filepath.Join(folder, name) }
	for flag, value := range map[string]string{
		"requestheader-client-ca-file":       file("proxy-ca.crt"),
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"proxy-client-cert-file":             file("proxy.crt"),
		"proxy-client-key-file":              file("proxy.key"),
	} {
		server.Configure().Append(flag, value)
	}
}
