package job_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// What the API server, kubelet or the scheduler will not do in the end, ends the job.
func TestStuck(t *testing.T) {
	pulling := func(reason, words string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodPending
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: mpi.Container, Image: "registry.test/mpi:1",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: words}},
			}}
		}
	}
	unplaced := func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available: 2 Insufficient cpu."}}
	}
	launcher, node := podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready)
	refusedWith := func(message string) observe.Observed {
		o := started(trainJobOf())
		o.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "jobset-uid"}, Reason: "JobCreationFailed", Message: message}}
		return o
	}
	image := func(reason, words string, since time.Duration) observe.Observed {
		return sawFact(withPods(started(trainJobOf()), launcher, node, podOf(mpi.NodeJob, 1, pulling(reason, words))), observe.FactImage, "node-1", t0.Add(-since))
	}
	toldBefore := func(o observe.Observed, message string) observe.Observed {
		o.TrainJob = trainJobOf(hasCondition(job.PodsReady, "False", t0), func(trainJob *trainer.TrainJob) {
			c := &trainJob.Status.Conditions[len(trainJob.Status.Conditions)-1]
			c.Reason, c.Message = string(diagnose.ImagePull), message
		})
		return o
	}
	gang := func(timeout string, edits ...func(*trainer.TrainJob)) observe.Observed {
		o := withPods(started(trainJobOf(edits...)), launcher, node, podOf(mpi.NodeJob, 1, unplaced))
		o.Runtime = runtimeOf(false)
		o.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: timeout}
		return o
	}
	coscheduling := gang("")
	coscheduling.Runtime = runtimeOf(false)
	coscheduling.Runtime.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
		Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To[int32](45)},
	}}
	cases := map[string]struct {
		reason  string
		o       observe.Observed
		end     mpi.Reason
		requeue time.Duration
	}{
		"Invalid":     {"a pod that is invalid stays so", refusedWith(`Pod "demo-node-0-0-x7x2p" is invalid: spec.containers[0].env[0].name`), "PodInvalid", 0},
		"Security":    {"", refusedWith(`pods "x" is forbidden: violates PodSecurity "restricted:latest"`), "PodSecurityDenied", 0},
		"Limits":      {"", refusedWith(`pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2`), "LimitRangeViolated", 0},
		"Quota":       {"another pod may end", refusedWith(`pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4`), "", podsAskedAgain},
		"ImageSoon":   {"an image may come in a moment", image("ErrImagePull", "not found", 44*time.Second), "", time.Second},
		"ImageLong":   {"but not forever", image("ImagePullBackOff", "Back-off: not found", phase.ImagePullTimeout), "ImagePullFailed", 0},
		"ImageSilent": {"kubelet did not always repeat the words", toldBefore(image("ImagePullBackOff", "", phase.ImagePullTimeout), "Failed to pull image 'registry.test/mpi:1': the image does not exist; first failing pod: x"), "ImagePullFailed", 0},
		"ImageBusy":   {"a busy registry passes, however long it takes", image("ErrImagePull", "429 Too Many Requests", 10*phase.ImagePullTimeout), "", 0},
		"ImageAway":   {"", image("ImagePullBackOff", "dial tcp 10.0.0.9:443: i/o timeout", 10*phase.ImagePullTimeout), "", 0},
		"ImageOdd":    {"nobody knows whether this passes", image("ErrImagePull", "the registry sings", 10*phase.ImagePullTimeout), "", 0},
		"ImageName":   {"what is no name never becomes one", image("InvalidImageName", "", 0), "ImagePullFailed", 0},
		"GangSoon":    {"", gang("61s"), "", time.Second},
		"GangLong":    {"", gang("60s"), "GangTimeout", 0},
		"GangScheduler": {
			"the timeout of the gang scheduler is that of the job", coscheduling, "GangTimeout", 0,
		},
		"GangTogether": {"a gang that ran once has started", gang("10s", hasCondition(job.PodsReady, "True", t0)), "", 0},
		"GangResumed":  {"the time counts again from the resumption", gang("10s", hasCondition(trainer.TrainJobSuspended, "False", t0.Add(-9*time.Second))), "", time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			reason, _ := finishes(decision)
			if reason != tc.end || decision.RequeueAfter != tc.requeue {
				t.Errorf("%s: want end %q, next look in %s; got %q, %s", tc.reason, tc.end, tc.requeue, reason, decision.RequeueAfter)
			}
			if tc.end != "" {
				told := tc.o
				told.TrainJob = trainJobOf(func(trainJob *trainer.TrainJob) {
					trainJob.Status = statusAfter(phase.DeriveFacts(tc.o), decision, nil)
				})
				after, err := decide.Decide(phase.DeriveFacts(told), nil)
				if err != nil {
					t.Fatal(err)
				}
				want := outline{Ours: true, Over: true, Delete: []string{"JobSet demo jobset-uid"}}
				if diff := cmp.Diff(want, outlineOf(told, after)); diff != "" {
					t.Errorf("%s: the JobSet goes once the end is told: -want, +got:\n%s", tc.reason, diff)
				}
			}
			if tc.end != "" && !phase.DeriveFacts(tc.o).NeedsChildren() {
				t.Errorf("%s: the key must be found to be deleted", tc.reason)
			}
		})
	}
}

func TestRefusedForGood(t *testing.T) {
	kind := schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}
	resource := schema.GroupResource{Group: "jobset.x-k8s.io", Resource: "jobsets"}
	cases := map[string]struct {
		err  error
		want mpi.Reason
	}{
		"Invalid":   {fmt.Errorf("create JobSet demo: %w", apierrors.NewInvalid(kind, "demo", nil)), "InvalidObject"},
		"Bad":       {apierrors.NewBadRequest("admission webhook denied the request"), "InvalidObject"},
		"Large":     {fmt.Errorf("create JobSet demo: %w", apierrors.NewInternalError(errors.New("etcdserver: request is too large"))), "InvalidObject"},
		"Larger":    {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "InvalidObject"},
		"Forbidden": {apierrors.NewForbidden(resource, "demo", errors.New("exceeded quota")), ""},
		"Conflict":  {apierrors.NewConflict(resource, "demo", nil), ""},
		"Away":      {errors.New("connection refused"), ""},
		"None":      {nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo-mpi-ssh-auth", UID: "s1"}}
			final := decide.Decision{Ours: true, Create: []job.Object{key}}.EndIfRefused(tc.err)
			if tc.want == "" {
				if final != nil {
					t.Errorf("may pass when it is tried again: %v", outlineOf(started(trainJobOf()), *final))
				}
				return
			}
			want := outline{Ours: true, End: tc.want, Delete: []string{"Secret demo-mpi-ssh-auth s1"}}
			if diff := cmp.Diff(want, outlineOf(started(trainJobOf()), *final)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
