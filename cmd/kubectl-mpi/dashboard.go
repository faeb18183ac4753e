package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/version"
	"lockstep.dev/lockstep/pkg/dashboard"
)

// dashboardFlags are the flags of `dashboard`.
type dashboardFlags struct {
	port       int
	noBrowser  bool
	prometheus dashboard.Prometheus
	// first is the path of the page that is opened first, empty for the list.
	first string
}

func (f *dashboardFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.port, "port", 0, "port on 127.0.0.1; 0 takes a free one")
	cmd.Flags().BoolVar(&f.noBrowser, "no-browser", false, "only print the address")
	cmd.Flags().StringVar(&f.prometheus.URL, "prometheus", "",
		"URL of a Prometheus that is asked, with your token, what pods used over time")
	cmd.Flags().StringVar(&f.prometheus.Authority, "prometheus-certificate-authority", "",
		"file with the certificates by which Prometheus is known")
}

func newDashboard(k *kube) *cobra.Command {
	var f dashboardFlags
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Watch and understand jobs in a browser, with your own rights",
		Long: `Serve a page about your jobs on this machine and open it in the browser: the list, and of each job its phase, cause,
pods, logs, events and configuration, as they change. The page does what you may do with this kubeconfig, and nothing
else.

Only this machine can reach it, and only the browser that opens the printed address, which works once; another one is
printed then. Ctrl-C ends it.`,
		Example: `  kubectl mpi dashboard

  # On a machine without a browser: forward the port first, then open the printed address at home
  ssh -L 8765:127.0.0.1:8765 login-node
  kubectl mpi dashboard --port 8765 --no-browser`,
		Args: cli.ArgsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return k.serveDashboard(cmd.Context(), f) },
	}
	f.registerFlags(cmd)
	return cmd
}

// serveDashboard serves the page until the context ends.
func (k *kube) serveDashboard(ctx context.Context, f dashboardFlags) error {
	if f.port < 0 || f.port > 65535 {
		return usageErrorf("`--port %d` is no port: give 1 to 65535, or 0 for a free one", f.port)
	}
	config, err := k.RESTConfig()
	if err != nil {
		return err
	}
	namespace, err := k.Namespace()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return cli.Failure(fmt.Errorf("serve the page: %w: give another `--port`, or none", err))
	}
	user := dashboard.User{Config: config, Namespace: namespace}
	inner := dashboard.New(ctx, version.String(), func(*http.Request) (dashboard.User, error) { return user, nil },
		dashboard.DefaultLimits)
	inner.Prometheus = f.prometheus
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	guard := dashboard.NewGuard(port, inner, func(next string) {
		fmt.Fprintf(k.streams.ErrOut, "Opened. For another browser: %s\n", next)
	})
	guard.First = f.first
	fmt.Fprintf(k.streams.Out, "%s\n", guard.Address())
	fmt.Fprintln(k.streams.ErrOut, "The page is served until Ctrl-C.")
	if !f.noBrowser {
		remove, err := openBrowser(ctx, guard.Address())
		if err != nil {
			fmt.Fprintf(k.streams.ErrOut, "note: no browser was opened: %v\n", err)
		}
		defer remove()
	}
	return dashboard.Serve(ctx, listener, guard)
}

// openBrowser asks the desktop to open an address, by a file that only this user can read: other users of the machine see
// command lines. The result removes the file.
func openBrowser(ctx context.Context, address string) (remove func(), err error) {
	folder, err := os.MkdirTemp("", "lockstep-dashboard-")
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	file := filepath.Join(folder, "open.html")
	page := fmt.Sprintf("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">", address)
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return remove, err
	}
	return remove, startBrowser(ctx, file)
}

// startBrowser asks the desktop to open a file or an address.
func startBrowser(ctx context.Context, what string) error {
	program, args := "xdg-open", []string{what}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", what}
	}
	browser := exec.CommandContext(ctx, program, args...) //nolint:gosec // our own file, or an address
	if err := browser.Start(); err != nil {
		return err
	}
	go func() { _ = browser.Wait() }()
	return nil
}
