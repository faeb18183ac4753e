package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
)

// counting prints numbered lines, a hundred at a time, after its ranks have run.
const counting = `mpirun -n 4 mpi-hello && for i in $(seq 0 %d); do echo "count $i"; [ $((i %% 100)) = 0 ] && sleep 0.1; done; true`

// countingEach prints numbered lines into the log of each pod, and is mpirun's own business in none.
const countingEach = `mpirun -n %d --map-by ppr:1:node bash -c 'exec > /proc/1/fd/1; for i in $(seq 0 %d); do echo "count $i"; [ $((i %% 100)) = 0 ] && sleep 0.2; done; true'`

// counted are the numbers that were read, by pod, and how late the latest of them was.
type counted struct {
	mu      sync.Mutex
	numbers map[string][]int
	behind  time.Duration
}

func (c *counted) take(lines []logs.Line) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range lines {
		var n int
		if _, err := fmt.Sscanf(line.Text, "count %d", &n); err == nil {
			c.numbers[line.Source.UID] = append(c.numbers[line.Source.UID], n)
			c.behind = max(c.behind, time.Since(line.Time))
		}
	}
	return nil
}

func (c *counted) most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, numbers := range c.numbers {
		most = max(most, len(numbers))
	}
	return most
}

// expectInOrder expects of each pod all numbers from the first one on, each once.
func (c *counted) expectInOrder() {
	GinkgoHelper()
	for uid, numbers := range c.numbers {
		for i, n := range numbers {
			Expect(n).To(Equal(i), "of pod %s", uid)
		}
	}
}

// follow reads the logs of a job until it is over.
func (c *counted) follow(ctx context.Context, from podlogs.JobLogs) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := logs.Run(ctx, from, logs.Options{Follow: true}, c.take)
		ended <- err
	}()
	return ended
}

// connections are those of one client, which can be broken.
type connections struct {
	mu   sync.Mutex
	open []net.Conn
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	made, err := (&net.Dialer{}).DialContext(ctx, network, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.open = append(c.open, made)
	}
	return made, err
}

func (c *connections) cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	broken := len(c.open)
	for _, connection := range c.open {
		_ = connection.Close()
	}
	c.open = nil
	return broken
}

// firstOfContainer matches the status of a process of ours that is process 1 of a container, besides its number on the machine.
var firstOfContainer = regexp.MustCompile(`(?s)^Name:\tmpi-.*\nNSpid:[\t\d]*\t1\n`)

// killFirst kills the first process of a pod's container, which nothing inside can: from its machine, which is this one.
func killFirst(pod corev1.Pod) {
	GinkgoHelper()
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	Expect(err).NotTo(HaveOccurred())
	for _, file := range groups {
		folder := filepath.Dir(file)
		group, _ := os.ReadFile(file)
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		if !firstOfContainer.Match(status) || !strings.Contains(string(group), string(pod.UID)) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(folder))
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(id, syscall.SIGKILL)).To(Succeed())
		return
	}
	Fail("no first process of pod " + pod.Name)
}

var _ = Describe("The logs of a job", func() {
	It("are followed through an eviction of a node: no line is lost, none comes twice", func(ctx SpecContext) {
		const last = 9999
		object := start(ctx, editor, job("counts", "openmpi5-cpu", "bash", "-c", fmt.Sprintf(counting, last)))
		got := &counted{numbers: map[string][]int{}}
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := got.follow(following, podlogs.JobLogs{Namespace: object.Namespace, Name: object.Name, Reader: editor.Client, Core: editor.Logs.CoreV1()})
		Eventually(got.most).Should(BeNumerically(">", last/10))
		evict(ctx, worker(ctx, object))
		Eventually(func() bool {
			return condition(ctx, editor, object, trainer.TrainJobComplete)() || condition(ctx, editor, object, trainer.TrainJobFailed)()
		}).Should(BeTrue())
		Eventually(ended).Should(Receive(BeNil()), "the reader ends with the job")
		got.expectInOrder()
	})

	Context("of sixteen pods, which print ten thousand lines each", Ordered, Serial, func() {
		const pods, last, runtime = 16, 9999, "sixteen"

		BeforeAll(func(ctx SpecContext) {
			onlyWhenMeasured()
			sandboxRuntime(ctx, runtime, func(r *trainer.ClusterTrainingRuntime) {
				r.Annotations = nil // those of the catalog bound the number of nodes
				little := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
				for _, role := range []string{mpi.LauncherJob, mpi.NodeJob} {
					podOf(&r.Spec, role).Containers[0].Resources = corev1.ResourceRequirements{Requests: little}
				}
			})
		})

		DescribeTable("are followed: no line is lost, none comes twice, while", func(ctx SpecContext, fault func(context.Context, *connections, []corev1.Pod), ends string) {
			j := job("sixteen-"+strings.ToLower(ends), runtime, "bash", "-c", fmt.Sprintf(countingEach, pods, last))
			j.Namespace, j.Resources, j.Nodes, j.Slots = lifeNamespace, nil, pods, 1
			object := start(ctx, admin, j)
			line, got := &connections{}, &counted{numbers: map[string][]int{}}
			config := rest.CopyConfig(cluster.Config)
			config.Dial, config.QPS = line.dial, -1
			reader, err := client.New(config, client.Options{Scheme: admin.Client.Scheme()})
			Expect(err).NotTo(HaveOccurred())
			core, err := kubernetes.NewForConfig(config)
			Expect(err).NotTo(HaveOccurred())
			ended := got.follow(ctx, podlogs.JobLogs{Namespace: j.Namespace, Name: j.Name, Reader: reader, Core: core.CoreV1()})
			Eventually(got.most).Should(BeNumerically(">", last/4))
			fault(ctx, line, podsOf(ctx, object))
			Eventually(condition(ctx, admin, object, ends)).WithTimeout(3 * time.Minute).Should(BeTrue())
			Eventually(ended).Should(Receive(BeNil()), "the reader ends with the job")
			got.expectInOrder()
			Expect(got.numbers).To(HaveLen(pods))
			all := 0
			for uid, numbers := range got.numbers {
				all += len(numbers)
				if ends == trainer.TrainJobComplete {
					Expect(numbers).To(HaveLen(last+1), "of pod %s", uid)
				}
			}
			expectAllOfThoseThatStayed(ctx, got, podsOf(ctx, object))
			fmt.Fprintf(lines, "%s: %d lines of %d pods, at most %s behind\n", CurrentSpecReport().LeafNodeText, all, len(got.numbers), got.behind.Round(10*time.Millisecond))
		},
			Entry("its connections break ten times", func(_ context.Context, line *connections, _ []corev1.Pod) {
				for broken := 0; broken < 10; broken++ {
					Expect(line.cut()).To(BeNumerically(">", 0))
					time.Sleep(time.Second)
				}
			}, trainer.TrainJobComplete),
			Entry("a node is deleted", func(ctx context.Context, _ *connections, pods []corev1.Pod) {
				Expect(admin.Client.Delete(ctx, &pods[ofRole(pods, mpi.NodeJob)])).To(Succeed())
			}, trainer.TrainJobFailed),
			Entry("the launcher's container is killed", func(_ context.Context, _ *connections, pods []corev1.Pod) {
				killFirst(pods[ofRole(pods, mpi.LauncherJob)])
			}, trainer.TrainJobFailed),
		)
	})
})

// countedLine is a line of the program, and not its command, which the agent quotes.
var countedLine = regexp.MustCompile(`(?m)^count \d+$`)

func ofRole(pods []corev1.Pod, role string) int {
	return slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels[mpi.ReplicatedJobLabel] == role })
}

// expectAllOfThoseThatStayed compares what was followed with what kubelet has now of the pods that are still there.
func expectAllOfThoseThatStayed(ctx context.Context, got *counted, pods []corev1.Pod) {
	GinkgoHelper()
	for _, pod := range pods {
		text, err := admin.Logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: mpi.Container}).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		printed := len(countedLine.FindAll(text, -1))
		if pod.DeletionTimestamp != nil { // kubelet removes its log at any time, and then answers with an empty one
			Expect(len(got.numbers[string(pod.UID)])).To(BeNumerically(">=", printed), pod.Name)
			continue
		}
		Expect(got.numbers[string(pod.UID)]).To(HaveLen(printed), pod.Name)
	}
}
