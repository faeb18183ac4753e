package integration

import (
	"context"
	"net"
	"net/url"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// takeover is how long a job may wait for the next leader, and slack what a busy machine takes longer.
const (
	takeover = 5 * time.Second
	slack    = 5 * time.Second
)

// A leader that was killed has not given its lease back.
var _ = Describe("After a leader was killed", ofOutages, func() {
	It("its successor in the same pod goes on at once", func(ctx SpecContext) {
		prepareElection(ctx)
		now := metav1.NowMicro()
		Expect(admin.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-controller"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("mpi-controller-0"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To[int32](0),
			},
		})).To(Succeed())
		runController(reconciler.Options{LeaderElection: true, Identity: "mpi-controller-0"})
		made(ctx, "orphan")
	})
})

// Cut off is as good as killed, for all others, and worse: it comes back.
var _ = Describe("A leader that is cut off from the API server", ofOutages, func() {
	It("stops before another one takes over, within 5 s, and does no harm when it comes back", func(ctx SpecContext) {
		prepareElection(ctx)
		firstProbes, secondProbes := freeAddress(), freeAddress()
		line := newLine()
		first := superviseOver(line.through(serviceAccount(controllerNamespace, "mpi-controller")), reconciler.Options{LeaderElection: true, Identity: "mpi-controller-0", ProbeAddress: firstProbes})
		made(ctx, "before")
		runController(reconciler.Options{LeaderElection: true, Identity: "mpi-controller-1", ProbeAddress: secondProbes})
		Eventually(ask("http://" + secondProbes + "/readyz")).Should(Equal("200 ok"))

		worst := time.Duration(0)
		before := startedByManagers()
		for range 2 {
			line.cut()
			begin := time.Now()
			stopped := make(chan time.Duration, 1)
			go func() {
				defer GinkgoRecover()
				Eventually(ask("http://" + firstProbes + "/readyz")).Should(HavePrefix("503 "))
				stopped <- time.Since(begin)
			}()
			Eventually(holder(ctx)).WithTimeout(takeover + slack).Should(Equal("mpi-controller-1"))
			took := time.Since(begin)
			worst = max(worst, took)
			Expect(<-stopped).To(BeNumerically("<", took), "the first one still works")
			js := made(ctx, "meanwhile")
			GinkgoWriter.Printf("another one leads after %.1f s\n", took.Seconds())

			line.mend()
			Eventually(ask("http://" + firstProbes + "/readyz")).Should(Equal("200 ok"))
			Consistently(holder(ctx)).WithTimeout(time.Second).Should(Equal("mpi-controller-1"))
			same := &jobset.JobSet{}
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(js), same)).To(Succeed())
			Expect(same.UID).To(Equal(js.UID))
			Expect(first.Load()).To(BeEquivalentTo(1), "it stopped and began again in its process")
			giveBack(ctx, "mpi-controller-0", secondProbes)
		}
		Eventually(startedByManagers).Should(Equal(before), "what a manager has started ends with it, where the process goes on")
		GinkgoWriter.Printf("the slowest took %.1f s\n", worst.Seconds())
	})
})

// Nobody can rule out that a process is stopped between its look at the lease and its request. What it does then is harmless: what it
// makes has the same name, and what it changes or deletes must be what it has seen.
var _ = Describe("Two leaders at one time", ofOutages, func() {
	It("do what one would do", func(ctx SpecContext) {
		prepareElection(ctx)
		for _, identity := range []string{"mpi-controller-0", "mpi-controller-1"} {
			runController(reconciler.Options{Identity: identity})
		}
		for range 10 {
			namespace := newNamespace(ctx)
			trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "twice")))
			js := jobSetOf(ctx, trainJob)
			endJobSet(ctx, js, jobset.JobSetCompleted)
			Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
			Consistently(state(ctx, trainJob)).WithTimeout(200 * time.Millisecond).Should(Equal("Complete"))
			var all jobset.JobSetList
			Expect(admin.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
			Expect(all.Items).To(ConsistOf(HaveField("UID", js.UID)))
		}
	})
})

// startedByManagers counts the goroutines of this process that wait for events to write, and those that filter a watch.
func startedByManagers() map[string]int {
	GinkgoHelper()
	var stacks strings.Builder
	Expect(pprof.Lookup("goroutine").WriteTo(&stacks, 2)).To(Succeed())
	counts := map[string]int{}
	for _, by := range []string{"k8s.io/client-go/tools/events.(*eventBroadcasterImpl).StartEventWatcher", "k8s.io/apimachinery/pkg/watch.Filter"} {
		counts[by] = strings.Count(stacks.String(), "created by "+by+" ")
	}
	return counts
}

func prepareElection(ctx SpecContext) {
	GinkgoHelper()
	ensureNamespace(ctx, controllerNamespace)
	installPermissions(ctx, nil)
	forgetLease(ctx)
}

// made returns the JobSet that a leader makes for a new TrainJob.
func made(ctx SpecContext, name string) *jobset.JobSet {
	GinkgoHelper()
	return jobSetOf(ctx, create(ctx, ofRuntime(ctx, trainJobNamed(newNamespace(ctx), name))))
}

func lease(ctx context.Context) *coordinationv1.Lease {
	found := &coordinationv1.Lease{}
	if admin.Get(ctx, client.ObjectKey{Namespace: controllerNamespace, Name: "mpi-controller"}, found) != nil {
		return nil
	}
	return found
}

func holder(ctx context.Context) func() string {
	return func() string {
		if l := lease(ctx); l != nil {
			return ptr.Deref(l.Spec.HolderIdentity, "")
		}
		return ""
	}
}

// giveBack makes somebody the leader again: it takes the lease away from all others for as long as it takes him to see it.
func giveBack(ctx SpecContext, identity, othersProbes string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		l := lease(ctx)
		g.Expect(l).NotTo(BeNil())
		now := metav1.NowMicro()
		l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &identity, &now, ptr.To[int32](3)
		g.Expect(admin.Update(ctx, l)).To(Succeed())
	}).Should(Succeed())
	Consistently(holder(ctx)).WithTimeout(2 * time.Second).Should(Equal(identity))
	Eventually(ask("http://" + othersProbes + "/readyz")).Should(Equal("200 ok"))
}

// line is a way to the API server that can be cut: what is sent then arrives nowhere, and no connection ends.
type line struct {
	listener net.Listener
	to       string
	mutex    sync.Mutex
	open     *sync.Cond
	isCut    bool
}

func newLine() *line {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the test
	Expect(err).NotTo(HaveOccurred())
	address, err := url.Parse(environment.Config.Host)
	Expect(err).NotTo(HaveOccurred())
	l := &line{listener: listener, to: address.Host}
	if l.to == "" {
		l.to = environment.Config.Host
	}
	l.open = sync.NewCond(&l.mutex)
	go l.serve()
	DeferCleanup(func() {
		l.mend()
		Expect(listener.Close()).To(Succeed())
	})
	return l
}

// through returns a configuration that takes the line.
func (l *line) through(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.Host = "https://" + l.listener.Addr().String()
	return own
}

func (l *line) serve() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to) //nolint:noctx // it lives as long as the test
		if err != nil {
			_ = from.Close()
			continue
		}
		go l.carry(from, to)
		go l.carry(to, from)
	}
}

// carry takes over what is read, and waits while the line is cut.
func (l *line) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mutex.Lock()
		for l.isCut {
			l.open.Wait()
		}
		l.mutex.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *line) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.isCut = true
}

// mend lets through what waited, as a network does that comes back.
func (l *line) mend() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.isCut = false
	l.open.Broadcast()
}
