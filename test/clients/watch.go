package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Witness has seen every status that each TrainJob of a cluster ever had, of those that our controller writes to.
type Witness struct {
	stop    context.CancelFunc
	stopped chan error

	mu       sync.Mutex
	statuses int
	misread  map[string]error
}

// Watch begins to look, until Verdict is asked for.
func Watch(config *rest.Config) (*Witness, error) {
	scheme := runtime.NewScheme()
	if err := trainer.AddToScheme(scheme); err != nil {
		return nil, err
	}
	informers, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("watch TrainJobs: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Witness{stop: stop, stopped: make(chan error, 1), misread: map[string]error{}}
	informer, err := informers.GetInformer(ctx, &trainer.TrainJob{})
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: w.see, UpdateFunc: func(_, now any) { w.see(now) }})
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch TrainJobs: %w", err)
	}
	go func() { w.stopped <- informers.Start(ctx) }()
	return w, nil
}

// see judges a TrainJob by who writes it: beside Kubeflow Trainer our controller writes no status, but a record.
func (w *Witness) see(object any) {
	trainJob, is := object.(*trainer.TrainJob)
	if !is {
		return
	}
	writes := func(subresource string) bool {
		return slices.ContainsFunc(trainJob.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
			return m.Manager == mpi.ControllerName && m.Subresource == subresource
		})
	}
	ours := writes("status")
	if !ours && !writes("") {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses++
	if err := Misread(trainJob.Status.Conditions, ours); err != nil {
		w.misread[trainJob.Namespace+"/"+trainJob.Name+": "+err.Error()] = fmt.Errorf("TrainJob %s/%s: %w", trainJob.Namespace, trainJob.Name, err)
	}
}

// Verdict ends the watch, and says how many statuses there were and which of them clients would have misread.
func (w *Witness) Verdict() (statuses int, misread error) {
	w.stop()
	err := <-w.stopped
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.misread {
		err = errors.Join(err, m)
	}
	return w.statuses, err
}
