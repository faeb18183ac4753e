package integration

import (
	"context"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// fetchesData is a spec of the controller: the data of a job comes before its gang.
func fetchesData(ctx context.Context, namespace string) {
	trainJob := ofRuntime(ctx, trainJobNamed(namespace, "demo"))
	trainJob.Spec.Initializer = &trainer.Initializer{Dataset: &trainer.DatasetInitializer{
		StorageUri: new("s3://bucket/set"), SecretRef: &corev1.LocalObjectReference{Name: "bucket"},
	}}
	create(ctx, trainJob)
	created := func() string {
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob)).To(Succeed())
		return job.MessageOf(trainJob.Status.Conditions, job.Created)
	}
	Eventually(created, 10*time.Second).Should(And(
		ContainSubstring("PersistentVolumeClaim `lockstep-data`"), ContainSubstring("Secret `bucket`")))
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: meta("bucket")})).To(Succeed())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(mpi.DataClaim)}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	Expect(admin.Create(ctx, claim)).To(Succeed())

	fetch := &batchv1.Job{}
	suspended := func() *bool {
		if admin.Get(ctx, in(namespace, "demo-dataset-initializer"), fetch) != nil {
			return nil
		}
		return fetch.Spec.Suspend
	}
	Eventually(suspended, 15*time.Second).Should(HaveValue(BeFalse()))
	Eventually(created).Should(ContainSubstring("the job waits for its dataset from s3://bucket/set"))
	Expect(state(ctx, trainJob)()).To(Equal("Created"))
	patch(ctx, trainJob, `{"spec":{"suspend":true}}`)
	Eventually(suspended).Should(HaveValue(BeTrue()))
	patch(ctx, trainJob, `{"spec":{"suspend":false}}`)
	Eventually(suspended).Should(HaveValue(BeFalse()))
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), &jobset.JobSet{})).NotTo(Succeed())

	pod := &corev1.Pod{ObjectMeta: meta("demo-dataset-initializer-x"), Spec: fetch.Spec.Template.Spec}
	pod.Labels = fetch.Spec.Template.Labels
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "batch/v1", Kind: "Job", Name: fetch.Name, UID: fetch.UID, Controller: ptr.To(true)},
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodSucceeded
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
	js := jobSetOf(ctx, trainJob)
	for _, rj := range js.Spec.ReplicatedJobs {
		Expect(job.MainContainer(&rj.Template.Spec.Template.Spec).VolumeMounts).To(ContainElement(corev1.VolumeMount{
			Name: mpi.DataVolume, MountPath: mpi.DatasetDir, ReadOnly: true,
			SubPath: mpi.DataPath(string(trainJob.UID), mpi.DatasetInitializer),
		}))
	}
}
