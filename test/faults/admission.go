package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Jobs that the namespace or the API server does not allow.
func admissionFaults() []Fault {
	named := metav1.ObjectMeta{Name: "fault", Namespace: tenant}
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	return []Fault{
		{
			Name: "quota exceeded", How: "a ResourceQuota of 300m of CPU, the job asks for 600m",
			Want: []mpi.Reason{diagnose.QuotaExceeded}, Says: []string{"300m"},
			Before: with(&corev1.ResourceQuota{ObjectMeta: named, Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("300m")},
			}}),
		},
		{
			Name: "quota used by others", How: "a ResourceQuota of 2 pods, of which another pod uses one", Waits: true,
			Want: []mpi.Reason{diagnose.QuotaExceeded}, Says: []string{"2"}, Before: quotaInUse,
		},
		{
			Name: "LimitRange", How: "a LimitRange allows 100m of CPU per container, the job asks for 250m",
			Want: []mpi.Reason{diagnose.LimitRangeViolated}, Says: []string{"100m"},
			Before: with(&corev1.LimitRange{ObjectMeta: named, Spec: corev1.LimitRangeSpec{
				Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: cpu("100m"), Default: cpu("100m"), DefaultRequest: cpu("100m")}},
			}}),
		},
		{
			Name: "PodSecurity refusal", How: "the job asks for root in a namespace that enforces `restricted`",
			Want: []mpi.Reason{diagnose.PodSecurityDenied}, Says: []string{"restricted"},
			Shape: func(job *trainer.TrainJob) {
				patchPods(job, mpi.NodeJob, trainer.PodSpecPatch{Containers: []trainer.ContainerPatch{{
					Name: mpi.Container, SecurityContext: &corev1.SecurityContext{
						RunAsUser: ptr.To[int64](0), RunAsNonRoot: ptr.To(false),
					},
				}}})
			},
		},
		{
			Name: "missing runtime", How: "the job names a runtime that does not exist (in a namespace without a tenant)", Waits: true,
			Want: []mpi.Reason{diagnose.RuntimeNotFound}, Says: []string{"none-such"},
			Shape: func(job *trainer.TrainJob) { job.Namespace, job.Spec.RuntimeRef.Name = sandbox, "none-such" },
		},
		{
			Name: "missing service account", How: "the runtime's pods run as a service account that does not exist", Waits: true,
			Want: []mpi.Reason{diagnose.ServiceAccountMissing}, Says: []string{"none-such"},
			Shape: inSandbox("fault-account"),
			Before: runtimeLike("fault-account", func(r *trainer.ClusterTrainingRuntime) {
				eachPod(r, func(_ string, pod *corev1.PodSpec) { pod.ServiceAccountName = "none-such" })
			}),
		},
		{
			Name: "key name taken", How: "a Secret of another owner has the name of the job's key",
			Want: []mpi.Reason{diagnose.NameTaken}, Says: []string{"ssh-auth"},
			Before: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: mpi.SSHAuthSecretName(t.job.Name), Namespace: t.job.Namespace}}
				return t.forget(secret), t.admin.Client.Create(ctx, secret)
			},
		},
	}
}

// with creates an object before the job and deletes it afterwards.
func with(object client.Object) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		copied, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return nil, nil
		}
		if err := t.admin.Client.Create(ctx, copied); err != nil {
			return nil, err
		}
		undo := t.forget(copied)
		quota, ok := copied.(*corev1.ResourceQuota)
		if !ok {
			return undo, nil
		}
		// Until it has counted, a quota refuses everything.
		return undo, until(ctx, settling, "the quota does not count", func(ctx context.Context) (bool, error) {
			err := t.admin.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
			return len(quota.Status.Used) > 0, err
		})
	}
}

// quotaInUse makes a quota that has room for a job's pods but for one.
func quotaInUse(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	var undo undoing
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "fault", Namespace: tenant},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	if err := undo.do(ctx, t, with(quota)); err != nil {
		return undo.all, err
	}
	pod := idlePod("lockstep-neighbour", keeper, 10)
	pod.Namespace = tenant
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	undo.add(t.forget(pod))
	return undo.all, t.admin.Client.Create(ctx, pod)
}

func inSandbox(runtime string) func(*trainer.TrainJob) {
	return func(job *trainer.TrainJob) { job.Namespace, job.Spec.RuntimeRef.Name = sandbox, runtime }
}

// runtimeLike makes a runtime like that of the catalog, but for a change.
func runtimeLike(name string, change func(*trainer.ClusterTrainingRuntime)) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		return nil, t.CopyRuntime(ctx, "openmpi4-cpu", name, change)
	}
}

func eachPod(r *trainer.ClusterTrainingRuntime, change func(role string, pod *corev1.PodSpec)) {
	jobs := r.Spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		change(jobs[i].Name, &jobs[i].Template.Spec.Template.Spec)
	}
}
