package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	tenant   = "team-vision"
	sandbox  = "lockstep-faults"
	machines = 2
	// keeper is the machine that keeps the cluster's own pods; victim is the one that comes to harm.
	keeper, victim = "node0", "node1"
)

// cluster is the cluster under test.
type cluster struct {
	*platform.Platform
	admin, editor testjob.User
}

func open(ctx context.Context, p *platform.Platform) (*cluster, error) {
	admin, err := p.Admin()
	if err != nil {
		return nil, err
	}
	editor, err := p.Editor(tenant)
	if err != nil {
		return nil, err
	}
	c := &cluster{Platform: p, admin: admin, editor: editor}
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return nil, err
	}
	return c, c.keepSystem(ctx)
}

// keepSystem moves the cluster's own pods to the machine that stays, so that a fault hits the job alone.
func (c *cluster) keepSystem(ctx context.Context) error {
	for _, name := range []client.ObjectKey{
		{Namespace: "kube-system", Name: "coredns"}, {Namespace: "jobset-system", Name: "jobset-controller-manager"},
		{Namespace: platform.Namespace, Name: "mpi-controller"},
	} {
		patch := []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"` + keeper + `"}}}}}`)
		deployment := &appsv1.Deployment{}
		deployment.Namespace, deployment.Name = name.Namespace, name.Name
		if err := c.admin.Client.Patch(ctx, deployment, client.RawPatch("application/strategic-merge-patch+json", patch)); err != nil {
			return fmt.Errorf("keep %s on %s: %w", name.Name, keeper, err)
		}
		if err := c.settled(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// settled returns when a deployment has exactly the pods that it wants.
func (c *cluster) settled(ctx context.Context, name client.ObjectKey) error {
	return until(ctx, 2*time.Minute, "deployment "+name.String()+" does not settle", func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		if err := c.admin.Client.Get(ctx, name, d); err != nil {
			return false, err
		}
		wanted := *d.Spec.Replicas
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted, nil
	})
}

// scale changes how many replicas a deployment has and returns when it has them.
func (c *cluster) scale(ctx context.Context, name client.ObjectKey, replicas int) error {
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = name.Namespace, name.Name
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if err := c.admin.Client.Patch(ctx, deployment, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return fmt.Errorf("scale %s: %w", name.Name, err)
	}
	return c.settled(ctx, name)
}

// healthy returns when all machines are ready and take pods.
func (c *cluster) healthy(ctx context.Context) error {
	return until(ctx, 2*time.Minute, "not all machines are ready", func(ctx context.Context) (bool, error) {
		nodes := &corev1.NodeList{}
		if err := c.admin.Client.List(ctx, nodes); err != nil {
			return false, err
		}
		ready := 0
		for _, node := range nodes.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
					ready++
				}
			}
		}
		return ready == machines, nil
	})
}

// working returns when jobs run again: controllers that crash without an API server, and what admits pods to the network, come back at
// different times.
func (c *cluster) working(ctx context.Context) error {
	return until(ctx, 5*time.Minute, "no job runs to its end", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		job := testjob.Job{Name: "fault-is-over", Namespace: tenant, Runtime: "openmpi4-cpu", Nodes: 2, Slots: 2, Command: []string{"mpirun", "-n", "4", "mpi-hello"}}
		result, err := testjob.Run(ctx, c.editor, job, io.Discard)
		err = errors.Join(err, client.IgnoreNotFound(c.admin.Client.Delete(context.WithoutCancel(ctx), job.TrainJob())))
		return result.Condition == trainer.TrainJobComplete, err
	})
}

// until asks again and again; errors of the API server are taken as not yet, because faults stop it too.
func until(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		ok, err := done(ctx)
		if err != nil {
			last = err
		}
		return ok && err == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%s: %w: %w", what, err, last)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
