package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	gpuNamespace = "lockstep-gpus"
	gpu          = corev1.ResourceName("nvidia.com/gpu")
)

// The machines have no GPUs; they say that they have 12 each, which is all that the scheduler looks at.
var _ = Describe("Without enough GPUs, an MPI job", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		eachMachineOffers(ctx, gpu, "12")
	})

	It("says how many it asked for and how many there are", func(ctx SpecContext) {
		j := job("thirsty", "openmpi4-cpu", "mpirun", "mpi-hello")
		j.Namespace, j.Nodes, j.Slots = gpuNamespace, 8, 1
		object := j.TrainJob()
		object.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{gpu: resource.MustParse("4")},
		}
		submit(ctx, admin, object)
		Eventually(said(ctx, object, "PodsReady")).Should(HavePrefix("Insufficient GPUs: requested 32, available 24. Waiting for 8 worker pods. Only 6 nodes available."))
	})
})
