package e2e

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

var _ = Describe("Whoever operates the platform", func() {
	It("sees every phase of a job in the metrics, its pods as long as there are some, and its life in events, each step once and in order", func(ctx SpecContext) {
		meter := cluster.OurMeter()
		before, err := meter.Read(ctx)
		Expect(err).NotTo(HaveOccurred())
		// Long enough for a pass of a slow controller to see it run.
		j := job("measured", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "2")
		object := submit(ctx, editor, j.TrainJob())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		for _, phase := range []string{"queued", "gang_wait", "image_pull", "gate", "connect", "mpi_launch", "time_to_start", "running"} {
			Eventually(observed(ctx, meter, phase)).Should(BeNumerically(">", before.Count("mpi_trainjob_phase_seconds", "phase", phase)), phase)
		}
		after, err := meter.Read(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Sum("mpi_trainjob_ended_total", "outcome", "Complete")).To(BeNumerically(">", before.Sum("mpi_trainjob_ended_total", "outcome", "Complete")))

		Eventually(told(ctx, j.Name)).Should(Equal(life))
		Expect(client.IgnoreNotFound(editor.Client.Delete(ctx, object))).To(Succeed())
		Eventually(func() (float64, error) {
			now, err := meter.Read(ctx)
			return now.Sum("mpi_trainjob_pods", "trainjob", j.Name), err
		}).Should(BeZero())
	})

	It("reads the same events of a job that was over before the controller heard of its run", func(ctx SpecContext) {
		j := job("unheard", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello")
		object := submit(ctx, editor, j.TrainJob())
		// Without it the controller cannot reach the launcher, which asks DNS then.
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: mpi.NetworkPolicyName(j.Name), Namespace: tenant}}
		onlyPods := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "remove", "path": "/spec/ingress/1"}]`))
		Eventually(func() error { return admin.Client.Patch(ctx, policy, onlyPods) }).Should(Succeed())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		Eventually(func() ([]string, error) {
			all, err := told(ctx, j.Name)()
			return slices.DeleteFunc(all, func(reason string) bool { return reason == string(diagnose.LauncherUnreachable) }), err // after ten seconds
		}).Should(Equal(life))
	})

	It("reads why a job failed in its events, in the words of its condition", func(ctx SpecContext) {
		j := job("told-why", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello", "--exit-rank", "2", "--exit-code", "3")
		result := run(ctx, j)
		Eventually(told(ctx, j.Name)).Should(HaveExactElements("Submitted", "GangScheduling", "PodsReady", "TrainingStarted", result.Reason))
		Eventually(notes(ctx, j.Name)).Should(ContainElement(HavePrefix(beginning(result.Message))))
	})
})

// life are the events of a job that does well.
var life = []string{"Submitted", "GangScheduling", "PodsReady", "TrainingStarted", "Completed"}

func observed(ctx context.Context, meter *platform.Meter, phase string) func() (uint64, error) {
	return func() (uint64, error) {
		now, err := meter.Read(ctx)
		return now.Count("mpi_trainjob_phase_seconds", "phase", phase), err
	}
}

// told are the reasons of the events of a TrainJob, as its user may read them, oldest first.
func told(ctx context.Context, name string) func() ([]string, error) {
	return toldOf(ctx, editor, &trainer.TrainJob{ObjectMeta: owned(name, tenant)})
}

// toldOf are those that a user may read of any job.
func toldOf(ctx context.Context, user testjob.User, object *trainer.TrainJob) func() ([]string, error) {
	return func() ([]string, error) {
		return eventsOf(ctx, user, object, func(e eventsv1.Event) string { return e.Reason })
	}
}

// notes are their texts.
func notes(ctx context.Context, name string) func() ([]string, error) {
	return func() ([]string, error) {
		return eventsOf(ctx, editor, &trainer.TrainJob{ObjectMeta: owned(name, tenant)}, func(e eventsv1.Event) string { return e.Note })
	}
}

func eventsOf(ctx context.Context, user testjob.User, object *trainer.TrainJob, part func(eventsv1.Event) string) ([]string, error) {
	current := &trainer.TrainJob{}
	if err := user.Client.Get(ctx, keyOf(object), current); err != nil {
		return nil, err
	}
	list := &eventsv1.EventList{}
	if err := user.Client.List(ctx, list, client.InNamespace(object.Namespace)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var parts []string
	for _, e := range list.Items {
		if e.Regarding.UID == current.UID {
			parts = append(parts, part(e))
		}
	}
	return parts, nil
}

// beginning is as much of a message as surely fits an event.
func beginning(message string) string { return message[:min(len(message), 900)] }
