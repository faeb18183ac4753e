package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/pkg/mpi/template"
	"lockstep.dev/lockstep/test/bench/series"
)

const (
	system = "lockstep-system"
	noisy  = "team-noisy"
	calm   = "team-calm"
	// concurrency is the default of mpi-controller.
	concurrency = 10
	// creators create TrainJobs of the noisy tenant at the same time.
	creators = 20
	// alone is how many jobs the calm tenant creates before there is any noise, and pause is between two of its jobs.
	alone    = 10
	pause    = 200 * time.Millisecond
	runLimit = 10 * time.Minute
)

// measure starts API server and controller, and stops both.
func measure(ctx context.Context, jobs int) (report Report, err error) {
	report = Report{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), LoadBefore: series.Load(), Jobs: jobs}
	environment := &envtest.Environment{ErrorIfCRDPathMissing: true}
	if environment.CRDDirectoryPaths, err = pinned.CRDs(pinned.Trainer, pinned.JobSet); err != nil {
		return report, err
	}
	config, err := environment.Start()
	if err != nil {
		return report, fmt.Errorf("start the API server: %w", err)
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	account, err := environment.AddUser(envtest.User{
		Name: "system:serviceaccount:" + system + ":" + mpi.ControllerName, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}, nil)
	if err != nil {
		return report, err
	}
	tenants, err := prepare(ctx, config)
	if err != nil {
		return report, err
	}
	ctx, stop := context.WithTimeout(ctx, runLimit)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return reconciler.Run(ctx, account.Config(), reconciler.Options{Namespace: system, Concurrency: concurrency, MetricsAddress: "0"})
	})
	group.Go(func() error {
		defer stop()
		return report.run(ctx, tenants)
	})
	err = group.Wait()
	return report, err
}

// prepare makes namespaces, the rights of the controller and a runtime, and returns the client of both tenants. The client has no limit: the
// noise is as loud as the API server lets it be.
func prepare(ctx context.Context, config *rest.Config) (client.WithWatch, error) {
	scheme, err := kinds.Scheme()
	if err != nil {
		return nil, err
	}
	own := rest.CopyConfig(config)
	own.QPS = -1
	tenants, err := client.NewWithWatch(own, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	built, err := template.Runtime{
		Name: "openmpi", Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1", World: mpi.World{Nodes: 8, SlotsPerNode: 1},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, Agent: template.Agent{Image: "registry.test/agent:1"},
	}.Build()
	if err != nil {
		return nil, err
	}
	objects := []client.Object{built, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: mpi.ControllerName}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: mpi.ControllerName}},
	}}
	for _, namespace := range []string{system, noisy, calm} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	for _, object := range objects {
		if err := tenants.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("prepare the cluster: %w", err)
		}
	}
	return tenants, nil
}

// run lets the calm tenant create jobs, alone and beside the noisy one.
func (r *Report) run(ctx context.Context, tenants client.WithWatch) error {
	calmSets, err := jobSets(ctx, tenants, calm)
	if err != nil {
		return err
	}
	defer calmSets.Stop()
	noisySets, err := jobSets(ctx, tenants, noisy)
	if err != nil {
		return err
	}
	defer noisySets.Stop()
	// The first one waits for the controller, too.
	if _, err := delay(ctx, tenants, calmSets, "warm"); err != nil {
		return err
	}
	for i := range alone {
		if err := r.Alone.add(ctx, tenants, calmSets, fmt.Sprint("alone-", i)); err != nil {
			return err
		}
	}
	return r.beside(ctx, tenants, calmSets, noisySets)
}

// beside lets both create jobs, until the noisy tenant has its last JobSet.
func (r *Report) beside(ctx context.Context, tenants client.Client, calmSets, noisySets watch.Interface) error {
	var through atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	group.Go(func() error { return r.noise(ctx, tenants) })
	group.Go(func() error {
		defer through.Store(true)
		for range r.Jobs {
			if _, err := added(ctx, noisySets); err != nil {
				return err
			}
		}
		r.JobSetsSeconds = time.Since(start).Seconds()
		return nil
	})
	group.Go(func() error {
		for i := 0; !through.Load(); i++ {
			if err := r.Beside.add(ctx, tenants, calmSets, fmt.Sprint("beside-", i)); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// noise creates the jobs of the noisy tenant.
func (r *Report) noise(ctx context.Context, tenants client.Client) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range r.Jobs {
		group.Go(func() error { return tenants.Create(ctx, trainJob(noisy, fmt.Sprintf("noise-%04d", i))) })
	}
	return group.Wait()
}

// add creates a job, adds its delay and waits a little.
func (d *delays) add(ctx context.Context, tenants client.Client, sets watch.Interface, name string) error {
	took, err := delay(ctx, tenants, sets, name)
	if err != nil {
		return err
	}
	*d = append(*d, took.Seconds())
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pause):
		return nil
	}
}

// delay creates a job of the calm tenant, and returns how long it took until its JobSet was there.
func delay(ctx context.Context, tenants client.Client, sets watch.Interface, name string) (time.Duration, error) {
	start := time.Now()
	if err := tenants.Create(ctx, trainJob(calm, name)); err != nil {
		return 0, err
	}
	for {
		if made, err := added(ctx, sets); err != nil || made == name {
			return time.Since(start), err
		}
	}
}

func trainJob(namespace, name string) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "openmpi"}, Trainer: &trainer.Trainer{Command: []string{"mpirun", "train"}}},
	}
}

func jobSets(ctx context.Context, tenants client.WithWatch, namespace string) (watch.Interface, error) {
	return tenants.Watch(ctx, &jobset.JobSetList{}, client.InNamespace(namespace))
}

// added waits for the next JobSet that is made, and returns its name.
func added(ctx context.Context, sets watch.Interface) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case e, open := <-sets.ResultChan():
			if !open {
				return "", errors.New("the watch of JobSets has ended")
			}
			if made, is := e.Object.(*jobset.JobSet); is && e.Type == watch.Added {
				return made.Name, nil
			}
		}
	}
}
