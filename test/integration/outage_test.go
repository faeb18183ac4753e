package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// away is how long the API server is away: longer than the lease of the controller holds.
const away = 20 * time.Second

var _ = Describe("An API server that is started again", ofOutages, func() {
	It("finds the controller where it left it", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		starts := supervise(reconciler.Options{LeaderElection: true, Identity: "outage-0"})
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(newNamespace(ctx), "survivor")))
		js := jobSetOf(ctx, trainJob)
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))

		restartAPIServer(ctx)
		begin := time.Now()
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).WithTimeout(20 * time.Second).Should(Equal("Complete"))
		GinkgoWriter.Printf("Complete %.1f s after the API server was back, %d restarts of the process\n", time.Since(begin).Seconds(), starts.Load()-1)
		Expect(starts.Load()).To(BeNumerically("<=", 2), "it waits in its process; only an API server that answers in part, as one does that has just started, ends it")
	})

	It("is waited for by a controller that starts meanwhile", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		probes := freeAddress()
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(newNamespace(ctx), "early")))
		process := apiServer()
		Expect(process.Signal(syscall.SIGSTOP)).To(Succeed())
		starts := supervise(reconciler.Options{LeaderElection: true, Identity: "outage-1", ProbeAddress: probes})
		Eventually(ask("http://" + probes + "/healthz")).Should(Equal("200 ok"))
		Expect(ask("http://" + probes + "/readyz")()).To(HavePrefix("503 "))
		Expect(process.Signal(syscall.SIGCONT)).To(Succeed())
		jobSetOf(ctx, trainJob)
		Eventually(ask("http://" + probes + "/readyz")).Should(Equal("200 ok"))
		Expect(starts.Load()).To(BeEquivalentTo(1))
	})
})

var _ = Describe("A lease of Kubeflow Trainer", ofOutages, func() {
	It("keeps an executor waiting, alive and with a reason, until it has run out", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		namespace, now := newNamespace(ctx), metav1.NowMicro()
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trainer.kubeflow.org"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("kubeflow-trainer-controller-manager-0"), LeaseDurationSeconds: ptr.To[int32](6), RenewTime: &now,
			},
		}
		Expect(admin.Create(ctx, lease)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, lease)).To(Succeed()) })
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "contested")))
		probes := freeAddress()
		starts := supervise(reconciler.Options{Identity: "mpi-controller-0", ProbeAddress: probes, TrainerNamespaces: []string{namespace}})
		Eventually(ask("http://" + probes + "/readyz")).Should(And(HavePrefix("503 "), ContainSubstring("run this one with --mode companion")))
		Expect(ask("http://" + probes + "/healthz")()).To(Equal("200 ok"))
		Eventually(func(g Gomega) {
			var events corev1.EventList
			g.Expect(admin.List(ctx, &events, client.InNamespace(controllerNamespace))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(
				HaveField("InvolvedObject.Name", "mpi-controller-0"), HaveField("Reason", "ForeignController"), HaveField("Message", ContainSubstring("kubeflow-trainer-controller-manager-0")))))
		}).Should(Succeed())
		Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), &jobset.JobSet{}))).To(BeTrue())

		jobSetOf(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(job.ReasonJobSetCreated)))
		Eventually(ask("http://" + probes + "/readyz")).Should(Equal("200 ok"))
		Expect(starts.Load()).To(BeEquivalentTo(1), "it waited in its process")
	})
})

// supervise runs the controller as kubelet does: a process that ends is started again. It returns how often it started.
func supervise(options reconciler.Options) *atomic.Int32 {
	return superviseOver(serviceAccount(controllerNamespace, "mpi-controller"), options)
}

func superviseOver(config *rest.Config, options reconciler.Options) *atomic.Int32 {
	ctx, stop := context.WithCancel(context.Background())
	options.Namespace, options.Concurrency, options.MetricsAddress = controllerNamespace, 4, "0"
	starts, ended := &atomic.Int32{}, make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			starts.Add(1)
			life, end := context.WithCancel(ctx)
			err := reconciler.Run(life, config, options)
			end()
			GinkgoWriter.Printf("the controller ended: %v\n", err)
		}
	}()
	DeferCleanup(func() {
		stop()
		<-ended
	})
	return starts
}

// ask returns status code and text of an answer.
func ask(url string) func() string {
	return func() string {
		response, err := http.Get(url) //nolint:gosec,noctx // an address of this test
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d %s", response.StatusCode, text)
	}
}

// server is an API server that this suite started itself.
type apiServerProcess struct{ command *exec.Cmd }

var startedAgain apiServerProcess

func (p *apiServerProcess) end() {
	if p.command != nil {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	}
}

// restartAPIServer ends the API server, and starts it again with the same arguments after a while.
func restartAPIServer(ctx context.Context) {
	GinkgoHelper()
	process := apiServer()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process.Pid))
	Expect(err).NotTo(HaveOccurred())
	arguments := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	Expect(process.Signal(syscall.SIGKILL)).To(Succeed())
	startedAgain.end()
	time.Sleep(away)
	startedAgain.command = exec.Command(arguments[0], arguments[1:]...) //nolint:gosec,noctx // the same as before; it outlives this test
	Expect(startedAgain.command.Start()).To(Succeed())
	Eventually(func() error {
		return admin.List(ctx, &corev1.NamespaceList{}, client.Limit(1))
	}).WithTimeout(time.Minute).Should(Succeed())
}
