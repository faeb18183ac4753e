package job_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func TestPodGroups(t *testing.T) {
	with := func(policy trainer.PodGroupPolicySource) *job.Runtime {
		runtime := runtimeOf(false)
		runtime.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: policy}
		return runtime
	}
	volcano := with(trainer.PodGroupPolicySource{Volcano: &trainer.VolcanoPodGroupPolicySource{}})
	volcano.Spec.Template.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "research"}
	cases := map[string]struct {
		runtime    *job.Runtime
		apiVersion string
		spec       map[string]any
		labels     string
		annotation string
	}{
		"Coscheduling": {
			with(trainer.PodGroupPolicySource{Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To[int32](120)}}),
			"scheduling.x-k8s.io/v1alpha1",
			map[string]any{"minMember": int64(3), "scheduleTimeoutSeconds": int64(120)},
			"demo", "",
		},
		"Volcano": {
			volcano, "scheduling.volcano.sh/v1beta1",
			map[string]any{"minMember": int64(3), "queue": "research", "minResources": map[string]any{"cpu": "4100m", "memory": "2Gi"}},
			"", "demo",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			made := resolved(t, tc.runtime)
			group := desired.PodGroup(made)
			if diff := cmp.Diff(tc.spec, group.Object["spec"]); diff != "" {
				t.Errorf("the launcher counts: -want, +got:\n%s", diff)
			}
			if group.GetAPIVersion() != tc.apiVersion || group.GetName() != "demo" || !metav1.IsControlledBy(group, trainJobOf()) {
				t.Errorf("it is the job's: %v", group.Object)
			}
			js := desired.JobSet(made)
			for _, rj := range js.Spec.ReplicatedJobs {
				pod := rj.Template.Spec.Template
				if pod.Labels["scheduling.x-k8s.io/pod-group"] != tc.labels || pod.Annotations["scheduling.k8s.io/group-name"] != tc.annotation {
					t.Errorf("pods of %s name their group: %v %v", rj.Name, pod.Labels, pod.Annotations)
				}
				if len(rj.DependsOn) > 0 {
					t.Error("nothing waits for pods before its own exist: a gang would wait for itself")
				}
			}
		})
	}
	if group := desired.PodGroup(resolved(t, runtimeOf(false))); group != nil {
		t.Errorf("without a gang scheduler there is none: %v", group)
	}
}

func TestPodGroupComesBeforeTheJobSet(t *testing.T) {
	o := observe.Observed{Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false)}
	o.Runtime.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{Volcano: &trainer.VolcanoPodGroupPolicySource{}}}
	decision, err := decide.Decide(phase.DeriveFacts(o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{everything[0], everything[1], "PodGroup demo", everything[2], everything[3]}
	if diff := cmp.Diff(want, outlineOf(o, decision).Create); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
