package e2e

import (
	"context"
	"fmt"
	"sync"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
)

// counting prints numbered lines, a hundred at a time, after its ranks have run.
const counting = `mpirun -n 4 mpi-hello && for i in $(seq 0 %d); do echo "count $i"; [ $((i %% 100)) = 0 ] && sleep 0.1; done; true`

// counted are the numbers that were read, by pod.
type counted struct {
	mu      sync.Mutex
	numbers map[string][]int
}

func (c *counted) take(lines []logs.Line) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range lines {
		var n int
		if _, err := fmt.Sscanf(line.Text, "count %d", &n); err == nil && line.Source.Role == mpi.LauncherJob {
			c.numbers[line.Source.UID] = append(c.numbers[line.Source.UID], n)
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

var _ = Describe("The logs of a job", func() {
	It("are followed through an eviction of a node: no line is lost, none comes twice", func(ctx SpecContext) {
		const last = 9999
		object := start(ctx, editor, job("counts", "openmpi5-cpu", "bash", "-c", fmt.Sprintf(counting, last)))
		got := &counted{numbers: map[string][]int{}}
		ended := make(chan error, 1)
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			from := podlogs.Job{Namespace: object.Namespace, Name: object.Name, Reader: editor.Client, Core: editor.Logs.CoreV1()}
			_, err := logs.Run(following, from, logs.Options{Follow: true}, got.take)
			ended <- err
		}()
		Eventually(got.most).Should(BeNumerically(">", last/10))
		evict(ctx, worker(ctx, object))
		Eventually(func() bool {
			return condition(ctx, editor, object, trainer.TrainJobComplete)() || condition(ctx, editor, object, trainer.TrainJobFailed)()
		}).Should(BeTrue())
		Eventually(ended).Should(Receive(BeNil()), "the reader ends with the job")
		for uid, numbers := range got.numbers {
			for i, n := range numbers {
				Expect(n).To(Equal(i), "of launcher pod %s", uid)
			}
			fmt.Fprintf(GinkgoWriter, "%d lines of launcher pod %s\n", len(numbers), uid)
		}
	})
})
