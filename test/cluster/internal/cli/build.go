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
func ensure(cmd *cobra.Command, names []string) ([]programs.Program, dirs.Dirs, error) {
	for _, name := range names {
		if !slices.Contains(programs.All(), name) {
			return nil, dirs.Dirs{}, usageError{fmt.Errorf("unknown program %q: known are %v", name, programs.All())}
		}
	}
	d, err := dirs.Find()
	if err != nil {
		return nil, d, err
	}
	say := progress.New(cmd.ErrOrStderr())
	defer say.Close()
	builder, err := cluster.Builder(cmd.Context(), d, say)
	if err != nil {
		return nil, d, err
	}
	built, err := builder.Ensure(cmd.Context(), names...)
	if err != nil {
		return nil, d, err
	}
	var list []programs.Program
	for _, name := range programs.All() {
		if p, ok := built[name]; ok {
			list = append(list, p)
		}
	}
	return list, d, nil
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
		list, _, err := ensure(cmd, args)
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
	return &cobra.Command{
		Use:   "assets",
		Short: "Print a folder with etcd, kube-apiserver and kubectl, for envtest",
		Long: `assets builds etcd, kube-apiserver and kubectl if they are missing, and prints a
folder that holds them as controller-runtime's envtest expects it.`,
		Example: `  KUBEBUILDER_ASSETS="$(cluster assets)" go test ./test/integration/...`,
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, d, err := ensure(cmd, []string{"etcd", "kube-apiserver", "kubectl"})
			if err != nil {
				return err
			}
			wanted := map[string]programs.Program{}
			for _, p := range list {
				wanted[p.Name] = p
			}
			dir, err := programs.Link(d.Programs(), "assets", wanted)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
}
