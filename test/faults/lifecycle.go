package main

import (
	"context"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/platform"
)

// What happens to the job as a whole, or to the control plane.
func lifecycleFaults() []Fault {
	helloFor := func(seconds string) func(*trainer.TrainJob) {
		return command("mpirun", "-n", "4", "mpi-hello", "--sleep", seconds)
	}
	return []Fault{
		{
			Name: "deadline", How: "activeDeadlineSeconds is 5, the ranks run longer", Ranks: false, After: 5 * time.Second,
			Want:  []mpi.Reason{diagnose.DeadlineExceeded},
			Shape: func(job *trainer.TrainJob) { job.Spec.ActiveDeadlineSeconds = 5 },
		},
		{
			Name: "gang timeout", How: "a PodGroup with a timeout of 10 s while the machines are full", After: 10 * time.Second,
			Want: []mpi.Reason{diagnose.GangTimeout}, Shape: inSandbox("fault-gang"),
			Before: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				if err := t.AddAddons(ctx, "podgroup"); err != nil {
					return nil, err
				}
				err := t.CopyRuntime(ctx, "openmpi4-cpu", "fault-gang", func(r *trainer.ClusterTrainingRuntime) {
					r.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
						Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To[int32](10)},
					}}
				})
				if err != nil {
					return nil, err
				}
				return fillMachines(ctx, t)
			},
		},
		{
			Name: "controller down for a minute", How: "the controller has no pod for 60 s; the ranks end meanwhile", Ranks: true,
			Shape: helloFor("20"), During: controllerDown(time.Minute),
		},
		{
			Name: "controller killed", How: "the pod of the controller is deleted while ranks run", Ranks: true, Shape: helloFor("5"),
			During: controllerDown(0),
		},
		{
			Name: "API server restarted", How: "kube-apiserver ends and is started again while ranks run", Ranks: true, Shape: helloFor("10"),
			// JobSet's controller crashes meanwhile and is started again after kubelet's back-off. The job is over before, but
			// nobody ends its nodes.
			Limit: 3 * time.Minute, Settling: 90 * time.Second,
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				return t.working, t.RestartComponent(ctx, "kube-apiserver")
			},
		},
	}
}

func controllerDown(pause time.Duration) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		name := client.ObjectKey{Namespace: platform.Namespace, Name: "mpi-controller"}
		up := func(ctx context.Context) error { return t.scale(ctx, name, 1) }
		if err := t.scale(ctx, name, 0); err != nil {
			return up, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		return nil, up(ctx)
	}
}
