// Command mpi-dashboard serves the page about jobs in a cluster, behind a proxy that logs users in. It has no rights:
// each request to the API server carries the token of the user.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/version"
	"lockstep.dev/lockstep/pkg/dashboard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	command := newCommand()
	command.SetContext(ctx)
	code := cli.Run(command, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options hold the settings of a deployment.
type options struct {
	address, probes   string
	server, authority string
	gate              dashboard.Gate
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "mpi-dashboard",
		Short: "Serve the page about jobs behind a proxy that logs users in",
		Long: `Serve a page about TrainJobs to the users of a cluster. A proxy in front logs users in and puts the token of
each into a header. Requests to the API server carry that token and no other, so RBAC decides what each user sees.

The page is served by plain HTTP, for a proxy in the same pod.`,
		Example: `  mpi-dashboard --host jobs.example.com --token-header authorization`,
		Args:    cli.ArgsBetween(0, 0),
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.address, "bind-address", "127.0.0.1:8080", "address that serves the page")
	flags.StringVar(&o.probes, "health-probe-bind-address", ":8081", "address that serves /healthz")
	flags.StringSliceVar(&o.gate.Hosts, "host", nil,
		"names under which browsers reach the page; requests to others are refused")
	flags.StringVar(&o.gate.Header, "token-header", "x-forwarded-access-token",
		"header with the token of the user, with or without \"Bearer \"")
	flags.StringVar(&o.server, "api-server", podServer(), "URL of the API server (default in a pod: its own cluster's)")
	flags.StringVar(&o.authority, "certificate-authority", "/etc/lockstep/ca.crt",
		"file with the certificates by which the API server is known")
	flags.StringVar(&o.gate.Prometheus.URL, "prometheus", "",
		"URL of a Prometheus that is asked, with the token of the user, what pods used over time")
	flags.StringVar(&o.gate.Prometheus.Authority, "prometheus-certificate-authority", "",
		"file with the certificates by which Prometheus is known (default: those of the system)")
	return command
}

// podServer returns the URL of the API server as a pod has it in its environment, empty elsewhere.
func podServer() string {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return ""
	}
	return "https://" + net.JoinHostPort(host, port)
}

// run serves until the context ends.
func (o options) run(ctx context.Context) error {
	switch {
	case len(o.gate.Hosts) == 0:
		return errors.New("`--host` is missing: give the name of the page, such as jobs.example.com")
	case o.server == "":
		return errors.New("`--api-server` is missing: outside of a pod it has no default")
	}
	o.gate.Cluster = &rest.Config{
		Host: o.server, TLSClientConfig: rest.TLSClientConfig{CAFile: o.authority},
		QPS: -1, UserAgent: "mpi-dashboard/" + version.String(), WarningHandler: rest.NoWarnings{},
	}
	if _, err := rest.TLSConfigFor(o.gate.Cluster); err != nil {
		return cli.Failure(fmt.Errorf("read the `--certificate-authority`: %w", err))
	}
	healthz := http.NewServeMux()
	healthz.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	serving, ctx := errgroup.WithContext(ctx)
	for address, handler := range map[string]http.Handler{
		o.address: o.gate.Serve(ctx, version.String(), dashboard.SharedLimits()), o.probes: healthz,
	} {
		serving.Go(func() error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
			if err != nil {
				return cli.Failure(err)
			}
			return dashboard.Serve(ctx, listener, handler)
		})
	}
	return serving.Wait()
}
