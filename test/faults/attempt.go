package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/trial"
)

// attempt is one run of a fault.
type attempt struct {
	*lab
	fault Fault
	job   *trainer.TrainJob
	log   *launcherLog
}

// settling is how long pods and keys of a finished job may stay.
const settling = 20 * time.Second

// try makes one run.
func (l *lab) try(ctx context.Context, f Fault, run int) (row Row, err error) {
	t := &attempt{lab: l, fault: f, job: shaped(f, run)}
	row = Row{Fault: f.Name, Run: run, How: f.How, Want: wanted(f)}
	var undo undoing
	// A run that was interrupted is undone all the same.
	defer func() { err = errors.Join(err, undo.all(context.WithoutCancel(ctx))) }()
	if err := undo.do(ctx, t, f.Before); err != nil {
		return row, fmt.Errorf("prepare: %w", err)
	}
	creator := l.editor
	if t.job.Namespace != tenant {
		creator = l.admin
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
	if row.Condition == trainer.TrainJobFailed || row.Condition == trainer.TrainJobComplete {
		row.Left = t.unsettled(ctx)
	}
	if err := undo.all(ctx); err != nil {
		return row, err
	}
	row.Left = append(row.Left, t.survivors(ctx)...)
	row.Leftovers = len(row.Left)
	return row, l.healthy(ctx)
}

func shaped(f Fault, run int) *trainer.TrainJob {
	job := trial.Job{
		Name: fmt.Sprintf("fault-%s-%d", dashed(f.Name), run), Namespace: tenant, Runtime: "openmpi4-cpu", Nodes: 2, Slots: 2,
		Command: []string{"mpirun", "-n", "4", "mpi-hello", "--sleep", "120"},
	}.TrainJob()
	if f.Shape != nil {
		f.Shape(job)
	}
	return job
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
	t.log = &launcherLog{user: t.admin, job: t.job}
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

// seen is what the conditions say.
type seen struct {
	condition, reason, message string
	final                      bool
}

// judge watches until the right condition or a final one is there, and fills the row.
func (t *attempt) judge(ctx context.Context, row *Row, at time.Time) {
	var last seen
	limit := t.fault.limit() + max(0, time.Until(at))
	_ = until(ctx, limit, "", func(ctx context.Context) (bool, error) {
		s, err := t.see(ctx)
		if err == nil {
			last = s
		}
		return s.final || t.right(s), err
	})
	row.Condition, row.Reason, row.Message = last.condition, last.reason, last.message
	// Kubernetes keeps the creation to the second, so that a deadline may come up to a second early.
	row.Right, row.Seconds = t.right(last), max(0, time.Since(at).Seconds())
}

func (t *attempt) right(s seen) bool {
	if len(t.fault.Want) == 0 {
		return s.condition == trainer.TrainJobComplete
	}
	for _, words := range t.fault.Says {
		if !strings.Contains(strings.ToLower(s.message), strings.ToLower(words)) {
			return false
		}
	}
	return slices.Contains(t.fault.Want, mpi.Reason(s.reason))
}

// benign are reasons of conditions that say nothing of a fault.
var benign = []string{"PodsPending", "WaitingForPods", "WaitingForNodes", "Finished", "WaitingForDeletion", "JobSetCreated"}

// see reads the conditions: the final one, else one with a right reason, else one that says what is wrong.
func (t *attempt) see(ctx context.Context) (seen, error) {
	job := &trainer.TrainJob{}
	if err := t.admin.Client.Get(ctx, client.ObjectKeyFromObject(t.job), job); err != nil {
		return seen{}, err
	}
	var told seen
	for _, c := range job.Status.Conditions {
		s := seen{condition: c.Type, reason: c.Reason, message: c.Message}
		switch {
		case (c.Type == trainer.TrainJobFailed || c.Type == trainer.TrainJobComplete) && meta.IsStatusConditionTrue(job.Status.Conditions, c.Type):
			s.final = true
			return s, nil
		case c.Type == trainer.TrainJobFailed || c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobSuspended:
		case t.fault.Want != nil && t.right(s):
			return s, nil
		case c.Status == "False" && !slices.Contains(benign, c.Reason):
			told = s
		}
	}
	return told, nil
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
		if secret.Name != "" {
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
		left, err = trial.Leftovers(ctx, t.admin.Client, t.job.Namespace, t.job.Name)
		return len(left) == 0, err
	})
	return left
}

func (t *attempt) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := t.admin.Client.List(ctx, list, client.InNamespace(t.job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: t.job.Name})
	return list.Items, err
}

// pod returns the launcher's pod, or a worker's, if possible on the machine that is to come to harm.
func (t *attempt) pod(ctx context.Context, role string) (corev1.Pod, error) {
	pods, err := t.pods(ctx)
	if err != nil {
		return corev1.Pod{}, err
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return p.Labels[mpi.ReplicatedJobLabel] != role })
	if len(pods) == 0 {
		return corev1.Pod{}, fmt.Errorf("the job has no pod of the kind %s", role)
	}
	if i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName == victim }); i >= 0 {
		return pods[i], nil
	}
	return pods[0], nil
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
