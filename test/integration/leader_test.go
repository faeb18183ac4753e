package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// A leader that was killed has not given its lease back.
var _ = Describe("After a leader was killed", func() {
	DescribeTable("the next one goes on", func(ctx SpecContext, identity string, atMost time.Duration) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		now := metav1.NowMicro()
		Expect(admin.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-controller"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("mpi-controller-0"), LeaseDurationSeconds: ptr.To[int32](10), AcquireTime: &now, RenewTime: &now, LeaseTransitions: ptr.To[int32](0),
			},
		})).To(Succeed())
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(newNamespace(ctx), "orphan")))
		begin := time.Now()
		runController(reconciler.Options{LeaderElection: true, Identity: identity})
		Eventually(func() error {
			return admin.Get(context.Background(), client.ObjectKeyFromObject(trainJob), &jobset.JobSet{})
		}).WithTimeout(atMost).Should(Succeed())
		GinkgoWriter.Printf("%s took over after %.1f s\n", identity, time.Since(begin).Seconds())
	},
		// A busy machine needs seconds for a controller that starts; whoever waits for the lease needs ten more.
		Entry("at once, in the same pod", "mpi-controller-0", 9*time.Second),
		Entry("when the lease has run out, in another pod", "mpi-controller-1", time.Minute),
	)
})
