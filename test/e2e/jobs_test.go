package e2e

import (
	"context"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/trial"
)

// jobTimeout is generous: a job takes seconds, a busy machine some more.
const jobTimeout = 2 * time.Minute

// job is a job of the tenant: two nodes with two slots each.
func job(name, runtime string, command ...string) trial.Job {
	return trial.Job{Name: name, Namespace: tenant, Runtime: runtime, Nodes: 2, Slots: 2, Command: command}
}

// run runs a job as the tenant's editor to its end, and removes it after the test.
func run(ctx SpecContext, j trial.Job) trial.Result {
	GinkgoHelper()
	removeAfterwards(j)
	limited, cancel := context.WithTimeoutCause(ctx, jobTimeout, fmt.Errorf("no end within %s", jobTimeout))
	defer cancel()
	result, err := trial.Run(limited, editor, j, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// start creates a job and returns when its first rank runs.
func start(ctx SpecContext, user trial.User, j trial.Job) *trainer.TrainJob {
	GinkgoHelper()
	removeAfterwards(j)
	object := j.TrainJob()
	Expect(user.Client.Create(ctx, object)).To(Succeed())
	Eventually(condition(ctx, user, object, "Running")).Should(BeTrue())
	return object
}

// condition tells whether a TrainJob has a condition that is true.
func condition(ctx context.Context, user trial.User, object *trainer.TrainJob, name string) func() bool {
	return func() bool {
		current := &trainer.TrainJob{}
		if err := user.Client.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
			return false
		}
		return meta.IsStatusConditionTrue(current.Status.Conditions, name)
	}
}

func removeAfterwards(j trial.Job) {
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, j.TrainJob()))).To(Succeed())
		Eventually(leftovers(ctx, j)).Should(BeEmpty())
	})
}

// leftovers names every object in the job's namespace that belongs to the job.
func leftovers(ctx context.Context, j trial.Job) func() ([]string, error) {
	lists := map[string]client.ObjectList{
		"Pod": &corev1.PodList{}, "Job": &batchv1.JobList{}, "JobSet": &jobset.JobSetList{}, "Secret": &corev1.SecretList{},
		"ConfigMap": &corev1.ConfigMapList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{}, "Service": &corev1.ServiceList{},
	}
	return func() ([]string, error) {
		var names []string
		for kind, list := range lists {
			if err := admin.Client.List(ctx, list, client.InNamespace(j.Namespace)); err != nil {
				return nil, err
			}
			err := meta.EachListItem(list, func(object runtime.Object) error {
				if o := object.(client.Object); belongsTo(o, j.Name) {
					names = append(names, kind+" "+o.GetName())
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return names, nil
	}
}

func belongsTo(object client.Object, trainJob string) bool {
	if object.GetLabels()[mpi.TrainJobLabel] == trainJob || object.GetLabels()[mpi.JobSetNameLabel] == trainJob {
		return true
	}
	for _, owner := range object.GetOwnerReferences() {
		if owner.Name == trainJob {
			return true
		}
	}
	return object.GetName() == mpi.SSHAuthSecretName(trainJob) || object.GetName() == mpi.HostfileConfigMapName(trainJob)
}

func exists(ctx context.Context, object client.Object, namespace, name string) func() (bool, error) {
	return func() (bool, error) {
		err := admin.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
}

func owned(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}
