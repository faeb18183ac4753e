package e2e

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eachMachineOffers lets all machines offer a resource until the test or its container ends. They do not have it; they say so, which is
// all that the scheduler looks at.
func eachMachineOffers(ctx context.Context, name corev1.ResourceName, count string) {
	GinkgoHelper()
	offer(ctx, name, count)
	DeferCleanup(func(ctx SpecContext) { offer(ctx, name, nil) })
}

// offer takes a resource away where there is none of it.
func offer(ctx context.Context, name corev1.ResourceName, count any) {
	GinkgoHelper()
	amount := map[string]any{string(name): count}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": amount, "allocatable": amount}})
	Expect(err).NotTo(HaveOccurred())
	nodes := &corev1.NodeList{}
	Expect(admin.Client.List(ctx, nodes)).To(Succeed())
	Expect(nodes.Items).To(HaveLen(machines))
	for i := range nodes.Items {
		Expect(admin.Client.Status().Patch(ctx, &nodes.Items[i], client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	}
}

// mostOfAMachine is six of the ten that each machine offers of a resource that only one container of specs asks for: a second pod with as
// much has no room, whatever runs beside it.
func mostOfAMachine(ctx context.Context, name corev1.ResourceName) corev1.ResourceRequirements {
	GinkgoHelper()
	eachMachineOffers(ctx, name, "10")
	six := corev1.ResourceList{name: resource.MustParse("6")}
	return corev1.ResourceRequirements{Requests: six, Limits: six}
}

// ask adds to what a container needs, and leaves the processors to others.
func ask(container *corev1.Container, more corev1.ResourceRequirements) {
	for name, amount := range more.Requests {
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		if container.Resources.Limits == nil {
			container.Resources.Limits = corev1.ResourceList{}
		}
		container.Resources.Requests[name], container.Resources.Limits[name] = amount, amount
	}
	container.Resources.Requests[corev1.ResourceCPU] = little().Requests[corev1.ResourceCPU]
}
