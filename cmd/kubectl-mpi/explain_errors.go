package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
)

// errInterrupted ends a command that somebody has stopped. Commands that leave something behind say how to come back first.
var errInterrupted = errors.New("interrupted")

// explainError returns an error in plain words with the exit code that it stands for.
func (k *kube) explainError(ctx context.Context, err error) error {
	var ended cli.ExitError
	switch {
	case err == nil, isUsage(err), errors.As(err, &ended), errors.Is(err, cli.ErrReported):
		return err
	case ctx.Err() != nil:
		return exitWith(exitInterrupted, errInterrupted)
	}
	e := apierror.Explain(err)
	if clientcmd.IsEmptyConfig(err) || e.Kind == apierror.NoServer && k.namesNoCluster() {
		return cli.Failure(errors.New("there is no kubeconfig that names a cluster: give one with --kubeconfig or $KUBECONFIG, or log in (for example with `oc login`)"))
	}
	return exitWith(exitCodeOf(e.Kind), k.withRemedy(ctx, e))
}

// namesNoCluster reports whether neither the flags nor the kubeconfig name a cluster: then a port of this machine was asked, as by kubectl.
func (k *kube) namesNoCluster() bool {
	config, err := k.flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(config.Clusters) == 0 && *k.flags.APIServer == ""
}

// exitCodeOf returns the exit code for a kind of error.
func exitCodeOf(kind apierror.ErrorKind) int {
	switch kind {
	case apierror.Forbidden, apierror.Unknown:
		return exitForbidden
	case apierror.Refused:
		return exitRefused
	}
	return cli.ExitFailure
}

// withRemedy adds what to do.
func (k *kube) withRemedy(ctx context.Context, e *apierror.ExplainedError) error {
	remedy := ""
	switch e.Kind {
	case apierror.Refused:
		remedy = k.quotaRemedy(e)
	case apierror.Forbidden:
		remedy = k.forbiddenHint(ctx, e)
	case apierror.Unknown:
		remedy = "log in again, or choose another context (--context)"
	case apierror.Exists:
		namespace, _ := k.Namespace() // the kubeconfig was read before
		remedy = fmt.Sprintf("choose another name, or give `submit --replace` once it is over, or `submit --numbered`; "+
			"%s runs the old one again", k.commandHint(namespace, "clone %s", e.Name))
	case apierror.NotFound:
		remedy = k.notFoundHint(ctx, e)
	case apierror.NoKind:
		remedy = "ask whoever runs the cluster: Kubeflow Trainer's CRDs have to be installed (`kubectl get crd trainjobs.trainer.kubeflow.org`)"
	case apierror.NoServer:
		remedy = "`kubectl cluster-info` shows whether it is the cluster; --context and --kubeconfig choose another"
	}
	if remedy == "" {
		return e
	}
	return fmt.Errorf("%w. %s", e, capitalizeFirst(remedy))
}
