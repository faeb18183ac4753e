package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/testjob"
)

// attempt is one run of a fault.
type attempt struct {
	*cluster
	fault Fault
	job   *trainer.TrainJob
	log   *launcherLog
	// target is whom the fault hits, as far as a message must name it.
	target target
}

// nodes and slots are the world of a job, unless its fault shapes another.
const nodes, slots = 2, 2

// settling is how long pods and keys of a finished job may stay.
const settling = 20 * time.Second

// try makes one run.
func (c *cluster) try(ctx context.Context, f Fault, run int) (row Row, err error) {
	t := &attempt{cluster: c, fault: f, job: shaped(f, run)}
	t.log = &launcherLog{user: c.admin, job: t.job}
	if f.Hits != nil {
		t.target = f.Hits(t.job.Name)
	}
	row = Row{Fault: f.Name, Run: run, How: f.How, Want: wanted(f)}
	defer func(began time.Time) { row.Took = time.Since(began).Seconds() }(time.Now())
	var undo undoing
	// A run that was interrupted is undone all the same.
	defer func() { err = errors.Join(err, undo.all(context.WithoutCancel(ctx))) }()
	if err := undo.do(ctx, t, f.Before); err != nil {
		return row, fmt.Errorf("prepare: %w", err)
	}
	creator := c.editor
	if t.job.Namespace != tenant {
		creator = c.admin
	}
	at := time.Now()
	if err := creator.Client.Create(ctx, t.job); err != nil {
		return row, fmt.Errorf("create the job: %w", err)
	}
	undo.add(t.remove)
	if f.Ranks {
		if at, err = t.ranksRun(ctx); err != nil {
			return row, err
		}
	}
	if f.During != nil {
		at = time.Now()
		if err := undo.do(ctx, t, f.During); err != nil {
			return row, fmt.Errorf("inject: %w", err)
		}
		if len(f.Want) == 0 {
			at = time.Now()
		}
	}
	t.judge(ctx, &row, at.Add(f.After))
	if row.Ended == trainer.TrainJobFailed || row.Ended == trainer.TrainJobComplete {
		row.Left = t.unsettled(ctx)
	}
	if err := undo.all(ctx); err != nil {
		return row, err
	}
	row.Left = append(row.Left, t.survivors(ctx)...)
	row.Leftovers = len(row.Left)
	return row, c.healthy(ctx)
}

func shaped(f Fault, run int) *trainer.TrainJob {
	job := testjob.Job{
		Name: jobName(f, run), Namespace: tenant, Runtime: f.mpi().runtime, Nodes: nodes, Slots: slots,
		Command: []string{"mpirun", "-n", "4", "mpi-hello", "--sleep", "120"},
	}.TrainJob()
	if f.Shape != nil {
		f.Shape(job)
	}
	return job
}

// jobName tells the rows of a fault for several implementations apart, whose titles differ at the end only.
func jobName(f Fault, run int) string {
	title := strings.TrimSuffix(f.Name, f.mpi().suffix())
	return strings.Join([]string{"fault", dashed(title), f.mpi().label, strconv.Itoa(run)}, "-")
}

// dashed makes a part of a name of a fault's title, short enough for a pod.
func dashed(title string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(title))
	return strings.Trim(name[:min(len(name), 24)], "-")
}

func wanted(f Fault) []string {
	if len(f.Want) == 0 {
		return []string{trainer.TrainJobComplete}
	}
	var want []string
	for _, reason := range f.Want {
		want = append(want, string(reason))
	}
	return want
}

// ranksRun returns when all ranks have printed their line, and when the last of them did. A job that ends first is no
// error: what its fault did is then the matter of judge.
func (t *attempt) ranksRun(ctx context.Context) (time.Time, error) {
	world := int(*t.job.Spec.Trainer.NumNodes) * int(*t.job.Spec.Trainer.NumProcPerNode)
	err := until(ctx, 2*time.Minute, "the ranks do not run", func(ctx context.Context) (bool, error) {
		t.log.read(ctx)
		if t.log.ranks() >= world {
			return true, nil
		}
		s, err := t.see(ctx)
		return s.final, err
	})
	if at := t.log.lastMark(); !at.IsZero() {
		return at, err
	}
	return time.Now(), err
}

// unsettled names running pods and keys of a finished job that stay.
func (t *attempt) unsettled(ctx context.Context) []string {
	var left []string
	_ = until(ctx, t.fault.settling(), "", func(ctx context.Context) (bool, error) {
		left = nil
		pods, err := t.pods(ctx)
		if err != nil {
			return false, err
		}
		for _, pod := range pods {
			// One that was told to end, on a machine that is gone, cannot say that it has. Whether it does is seen later.
			if pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending) {
				left = append(left, "running Pod "+pod.Name)
			}
		}
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: t.job.Namespace, Name: mpi.SSHAuthSecretName(t.job.Name)}
		err = client.IgnoreNotFound(t.admin.Client.Get(ctx, key, secret))
		if len(secret.OwnerReferences) > 0 { // not one that the fault made
			left = append(left, "Secret "+key.Name)
		}
		return len(left) == 0, err
	})
	return left
}

// remove deletes the job.
func (t *attempt) remove(ctx context.Context) error {
	job := &trainer.TrainJob{ObjectMeta: t.job.ObjectMeta}
	return client.IgnoreNotFound(t.admin.Client.Delete(ctx, job))
}

// survivors names objects that outlive the deletion of the job.
func (t *attempt) survivors(ctx context.Context) []string {
	var left []string
	_ = until(ctx, 45*time.Second, "", func(ctx context.Context) (bool, error) {
		var err error
		left, err = testjob.Leftovers(ctx, t.admin.Client, t.job.Namespace, t.job.Name)
		return len(left) == 0, err
	})
	return left
}

func (t *attempt) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := t.admin.Client.List(ctx, list, client.InNamespace(t.job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: t.job.Name})
	return list.Items, err
}

// undoing is a stack of what must be undone.
type undoing []func(context.Context) error

func (u *undoing) add(undo func(context.Context) error) { *u = append(*u, undo) }

func (u *undoing) do(ctx context.Context, t *attempt, what step) error {
	if what == nil {
		return nil
	}
	undo, err := what(ctx, t)
	if undo != nil {
		u.add(undo)
	}
	return err
}

func (u *undoing) all(ctx context.Context) error {
	var errs []error
	for len(*u) > 0 {
		last := len(*u) - 1
		undo := (*u)[last]
		*u = (*u)[:last]
		errs = append(errs, undo(ctx))
	}
	return errors.Join(errs...)
}
