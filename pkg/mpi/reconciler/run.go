package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Run works until the context ends. It returns an error when it must not go on in this process, such as an address that is
// taken. What may pass by itself it waits for, alive and not ready, and says why: a lease that was lost, an API server that does
// not answer, kinds that are not installed yet, and for an executor Kubeflow Trainer. A process that ended instead would be started
// again after longer and longer pauses, up to five minutes, and jobs would wait for it.
func Run(ctx context.Context, config *rest.Config, options Options) error {
	options.Mode = cmp.Or(options.Mode, Executor)
	options.clock = newServerClock(steadyClock())
	options.clock.wall = time.Now
	options.probes = newProbeServer()
	prepared := rest.CopyConfig(config)
	prepared.QPS = -1
	prepared.Wrap(options.clock.wrapTransport)
	if err := options.probes.startServing(ctx, options.ProbeAddress); err != nil {
		return err
	}
	recorder, err := newRecorder(prepared)
	if err != nil {
		return err
	}
	options.recorder = recorder
	e, err := newStartupChecks(prepared, &options)
	if err != nil {
		return err
	}
	for {
		if !e.awaitPass(ctx) {
			return nil
		}
		err := runManager(ctx, prepared, options)
		var foreign *ConflictingControllerError
		switch {
		case errors.As(err, &foreign):
		case errors.Is(err, errLeaseLost):
			ctrl.Log.Info("the controller stopped its work and starts again", "reason", err.Error())
		default:
			return err
		}
	}
}

// runManager runs one manager to its end.
func runManager(ctx context.Context, config *rest.Config, options Options) error {
	// What the manager starts ends with it, also where the process goes on.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	held, err := newLeaseGuard(config, options, func() {
		options.probes.setNotReady(errLeaseLost)
		stop()
	})
	if err != nil {
		return err
	}
	defer held.ignoreLoss()
	mgr, err := newManager(ctx, config, options, held)
	if err != nil {
		return fmt.Errorf("set up controller: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	if held.isLost() {
		return errLeaseLost
	}
	return nil
}
