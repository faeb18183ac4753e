package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/cluster"
	"lockstep.dev/lockstep/test/cluster/internal/dirs"
	"lockstep.dev/lockstep/test/cluster/internal/programs"
	"lockstep.dev/lockstep/test/cluster/internal/progress"
)

// ensure builds programs; it works without root and without a cluster.
func ensure(cmd *cobra.Command, names []string) ([]programs.Program, error) {
	for _, name := range names {
		if !slices.Contains(programs.All(), name) {
			return nil, usageError{fmt.Errorf("unknown program %q: known are %v", name, programs.All())}
		}
	}
	builder, _, closed, err := openBuilder(cmd)
	if err != nil {
		return nil, err
	}
	defer closed()
	built, err := builder.Ensure(cmd.Context(), names...)
	if err != nil {
		return nil, err
	}
	var list []programs.Program
	for _, name := range programs.All() {
		if p, ok := built[name]; ok {
			list = append(list, p)
		}
	}
	return list, nil
}

func openBuilder(cmd *cobra.Command) (builder *programs.Builder, d dirs.Dirs, closed func(), err error) {
	if d, err = dirs.Find(); err != nil {
		return nil, d, nil, err
	}
	say := progress.New(cmd.ErrOrStderr())
	if builder, err = cluster.Builder(cmd.Context(), d, say); err != nil {
		say.Close()
		return nil, d, nil, err
	}
	return builder, d, say.Close, nil
}

func buildCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build [PROGRAM...]",
		Short: "Build programs into the cache and print where they are",
		Example: `  cluster build
  cluster build etcd kube-apiserver
  cluster build -o json`,
		ValidArgs: programs.All(),
	}
	asJSON := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wantJSON, err := asJSON()
		if err != nil {
			return err
		}
		list, err := ensure(cmd, args)
		if err != nil {
			return err
		}
		if wantJSON {
			return printJSON(cmd.OutOrStdout(), list)
		}
		for _, p := range list {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), p.Name, p.Path); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func assetsCommand() *cobra.Command {
	var kubernetes string
	cmd := &cobra.Command{
		Use:   "assets",
		Short: "Print a folder with etcd, kube-apiserver and kubectl, for envtest",
		Long: `assets builds etcd, kube-apiserver and kubectl if they are missing, and prints a
folder that holds them as controller-runtime's envtest expects it.`,
		Example: `  KUBEBUILDER_ASSETS="$(cluster assets)" go test ./test/integration/...
  cluster assets --kubernetes 1.34`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			builder, d, closed, err := openBuilder(cmd)
			if err != nil {
				return err
			}
			defer closed()
			server, err := builder.APIServer(kubernetes)
			if err != nil {
				return usageError{err}
			}
			built, err := builder.Ensure(cmd.Context(), "etcd", server, "kubectl")
			if err != nil {
				return err
			}
			wanted := map[string]programs.Program{"etcd": built["etcd"], "kube-apiserver": built[server], "kubectl": built["kubectl"]}
			dir, err := programs.Link(d.Programs(), "assets", wanted)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
	cmd.Flags().StringVar(&kubernetes, "kubernetes", "", "minor version of the API server, such as 1.34; without it that of clusters")
	return cmd
}
