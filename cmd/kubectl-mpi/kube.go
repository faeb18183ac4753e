package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// kube is what the commands share: where they write, and the cluster that the flags and the kubeconfig name. Nothing is read and nobody is
// asked before a command needs it.
type kube struct {
	streams genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags

	config   *rest.Config
	reader   client.WithWatch
	warnings *apiWarnings
	// noGuess leaves out the name that a wrong one is probably meant to be, for commands that destroy.
	noGuess bool
}

func newKube(streams genericiooptions.IOStreams) *kube {
	return &kube{streams: streams, flags: genericclioptions.NewConfigFlags(true), warnings: newAPIWarnings(streams.ErrOut)}
}

// The pace at which a client asks the API server, as kubectl's. A command asks for little, and shall not wait for itself.
const (
	queriesPerSecond = 50
	queriesAtOnce    = 300
)

// RESTConfig returns how the cluster is reached.
func (k *kube) RESTConfig() (*rest.Config, error) {
	if k.config != nil {
		return k.config, nil
	}
	config, err := k.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = queriesPerSecond, queriesAtOnce
	// The handler that a client of controller-runtime brings would want a log instead.
	config.WarningHandler = k.warnings
	k.config = config
	return config, nil
}

// Client returns a client for all kinds that the commands work with. It asks the API server nothing by itself: the kinds are known.
func (k *kube) Client() (client.WithWatch, error) {
	if k.reader != nil {
		return k.reader, nil
	}
	config, err := k.RESTConfig()
	if err != nil {
		return nil, err
	}
	k.reader, err = fetch.NewClient(config)
	return k.reader, err
}

// CoreClient returns a client for what Client cannot do with pods: read logs, open a shell.
func (k *kube) CoreClient() (corev1client.CoreV1Interface, error) {
	config, err := k.RESTConfig()
	if err != nil {
		return nil, err
	}
	return corev1client.NewForConfig(config)
}

// Namespace returns the one of the flag -n, or of the kubeconfig's context, or `default`.
func (k *kube) Namespace() (string, error) {
	namespace, _, err := k.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	return namespace, nil
}

// explainErrors has the errors of all commands told in the same words, with the exit code that they stand for.
func (k *kube) explainErrors(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		k.explainErrors(child)
	}
	work := cmd.RunE
	if work == nil || !cmd.HasParent() {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return k.explainError(cmd.Context(), work(cmd, args))
	}
}
