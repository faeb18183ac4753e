package preflight

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/test/vectors"
)

type vector struct {
	Name     string                 `json:"name"`
	TrainJob *trainer.TrainJob      `json:"trainJob"`
	Runtime  *mpijob.Runtime        `json:"runtime"`
	Quotas   []corev1.ResourceQuota `json:"quotas"`
	Limits   []corev1.LimitRange    `json:"limits"`
	Want     Answer                 `json:"want"`
	Summary  string                 `json:"summary"`
}

// TestVectors: the Python package judges quotas as this one does.
func TestVectors(t *testing.T) {
	memory := resource.MustParse("3Gi")
	large := job(4)
	large.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": memory, "nvidia.com/gpu": resource.MustParse("8")}}
	small := job(4)
	small.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}}
	defaults := []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("2")}, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("500m")},
	}}}}}
	whole := runtime(t)
	whole.Spec.MLPolicy.MPI.RunLauncherAsNode = ptr.To(true)
	list := []vector{
		{Name: "Fits", TrainJob: job(4), Runtime: runtime(t), Quotas: of("requests.cpu", "5", "0")},
		{Name: "Suspended", TrainJob: suspended(job(4)), Runtime: runtime(t), Quotas: of("cpu", "5", "1")},
		{Name: "Waits", TrainJob: job(4), Runtime: runtime(t), Quotas: of("requests.cpu", "5", "1500m")},
		{Name: "Overused", TrainJob: job(4), Runtime: runtime(t), Quotas: of("requests.memory", "5Gi", "6Gi")},
		{Name: "Never", TrainJob: job(40), Runtime: runtime(t), Quotas: of("requests.cpu", "11", "0")},
		{Name: "NotEvenOne", TrainJob: job(4), Runtime: runtime(t), Quotas: of("requests.cpu", "5", "3")},
		{Name: "GPUs", TrainJob: large, Runtime: runtime(t), Quotas: append(of("limits.memory", "10Gi", "0"), of("requests.nvidia.com/gpu", "24", "8")...)},
		{Name: "Pods", TrainJob: job(4), Runtime: runtime(t), Quotas: append(of("pods", "4", "0"), of("count/pods", "9", "6")...)},
		{Name: "Small", TrainJob: small, Runtime: runtime(t), Quotas: of("requests.memory", "3Gi", "512Mi")},
		{Name: "LauncherIsANode", TrainJob: small, Runtime: whole, Quotas: of("requests.cpu", "1", "500m")},
		{Name: "Unspecified", TrainJob: job(4), Runtime: unlimited(t), Quotas: of("limits.memory", "10Gi", "0")},
		{Name: "Defaults", TrainJob: job(4), Runtime: unlimited(t), Quotas: of("requests.cpu", "2", "0"), Limits: defaults},
		{Name: "NodesOfTheRuntime", TrainJob: withoutTrainer(), Runtime: runtime(t), Quotas: of("requests.cpu", "3", "1")},
	}
	for i, v := range list {
		list[i].Want = JudgeInput(Input{TrainJob: v.TrainJob, Runtime: v.Runtime, Bounds: observe.NamespaceBounds{Quotas: v.Quotas, Limits: v.Limits}})
		list[i].Summary = list[i].Want.Summary()
		trim(list[i].Runtime)
	}
	vectors.Hold(t, "../../../test/vectors/preflights.json", list)
}

// unlimited is a runtime whose main containers ask for nothing.
func unlimited(t *testing.T) *mpijob.Runtime {
	t.Helper()
	r := runtime(t)
	for i := range r.Spec.Template.Spec.ReplicatedJobs {
		mpijob.MainContainer(&r.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec).Resources = corev1.ResourceRequirements{}
	}
	return r
}

// trim leaves of a runtime what counts: how many pods there are, and what they ask for.
func trim(r *mpijob.Runtime) {
	for i := range r.Spec.Template.Spec.ReplicatedJobs {
		template := &r.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template
		pod := template.Spec
		*template = corev1.PodTemplateSpec{}
		for _, c := range pod.InitContainers {
			template.Spec.InitContainers = append(template.Spec.InitContainers, corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy})
		}
		for _, c := range pod.Containers {
			template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: c.Name, Resources: c.Resources})
		}
	}
}

func of(name corev1.ResourceName, hard, used string) []corev1.ResourceQuota {
	return []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Status:     corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)}},
	}}
}

func withoutTrainer() *trainer.TrainJob {
	j := job(0)
	j.Spec.Trainer = nil
	return j
}

// TestQuantities: the Python package reads and writes amounts as Kubernetes does.
func TestQuantities(t *testing.T) {
	type quantity struct {
		In   string `json:"in"`
		Want string `json:"want"`
	}
	var list []quantity
	for _, in := range []string{
		"0", "1", "-1", "1000", "1500", "0.5", "1.5", "100m", "1000m", "1500m", "0.0000000001", "5n", "7u", "1k", "1500k", "12M", "1G", "2T", "3P", "4E", "10E", "0Gi",
		"1Ki", "512", "512Ki", "1023Ki", "1024Mi", "1.5Gi", "1536Mi", "0.5Gi", "0.1Ki", "1.1Ki", "100Gi", "2Ei", "1048576Ti", "123456789", ".5",
	} {
		q := resource.MustParse(in)
		list = append(list, quantity{in, q.String()})
	}
	vectors.Hold(t, "../../../test/vectors/quantities.json", list)
}
