package job_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// BenchmarkPass is everything that a pass over a wide job asks of this package, in the order of package reconciler.
func BenchmarkPass(b *testing.B) {
	const nodes = 1000
	o := started(trainJobOf(asks(trainer.Trainer{NumNodes: ptr.To[int32](nodes)})))
	waiting := podOf(mpi.NodeJob, 0, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending })
	o.Pods = append(o.Pods, podOf(mpi.LauncherJob, 0, ready, address("10.0.0.1")), waiting)
	for i := range nodes - 1 {
		// The cache has them in no order.
		o.Pods = append(o.Pods, podOf(mpi.NodeJob, 1+(i*7919)%(nodes-1), ready, address(fmt.Sprintf("10.0.%d.%d", i/250, i%250))))
	}
	memory := observe.History{}
	b.ReportAllocs()
	for b.Loop() {
		o.RememberSince(memory)
		memory = o.History
		f := phase.DeriveFacts(o)
		if f.HasMissingPods() || f.HasUnmountedVolumes() || f.End.IsUnexplained() || f.NeedsChildren() {
			b.Fatal("nothing is wrong")
		}
		f = phase.DeriveFacts(o) // once all is read
		decision, err := decide.Decide(f, nil)
		if err != nil {
			b.Fatal(err)
		}
		statusAfter(f, decision, nil)
	}
}
