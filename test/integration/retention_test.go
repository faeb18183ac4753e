package integration

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// A tenant's `retention.finishedJobs` becomes an annotation of its namespaces.
var _ = Describe("In a namespace that keeps finished jobs for a time", func() {
	It("those that finished longer ago are deleted, of any runtime, and no others", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		namespace := newNamespace(ctx)
		annotate := fmt.Sprintf(`{"metadata":{"annotations":{%q:"24h"}}}`, mpi.FinishedJobsAnnotation)
		Expect(admin.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, client.RawPatch(types.MergePatchType, []byte(annotate)))).To(Succeed())
		ended := func(namespace, name string, condition metav1.Condition) *trainer.TrainJob {
			trainJob := trainJobNamed(namespace, name)
			trainJob.Spec.RuntimeRef.Name = "somebody-elses"
			Expect(admin.Create(ctx, trainJob)).To(Succeed())
			text, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/status", "value": trainer.TrainJobStatus{Conditions: []metav1.Condition{condition}}}})
			Expect(err).NotTo(HaveOccurred())
			Expect(admin.Status().Patch(ctx, trainJob, client.RawPatch(types.JSONPatchType, text))).To(Succeed())
			return trainJob
		}
		condition := func(kind string, age time.Duration) metav1.Condition {
			return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.NewTime(time.Now().Add(-age))}
		}
		old := ended(namespace, "failed-yesterday", condition(trainer.TrainJobFailed, 25*time.Hour))
		kept := []*trainer.TrainJob{
			ended(namespace, "complete-today", condition(trainer.TrainJobComplete, time.Hour)),
			ended(namespace, "suspended-yesterday", condition(trainer.TrainJobSuspended, 25*time.Hour)),
			ended(newNamespace(ctx), "elsewhere", condition(trainer.TrainJobComplete, 25*time.Hour)),
		}
		runController(reconciler.Options{LeaderElection: true, Identity: "retention-0"})
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(old), &trainer.TrainJob{}))
		}).Should(BeTrue())
		for _, trainJob := range kept {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob)).To(Succeed())
			Expect(trainJob.DeletionTimestamp).To(BeNil())
		}
	})
})
