package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/addons"
	"lockstep.dev/lockstep/test/cluster/internal/cluster"
	"lockstep.dev/lockstep/test/cluster/internal/node"
)

func upCommand() *cobra.Command {
	var o cluster.Options
	var with []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, unless it runs",
		Long: `up builds what is missing, starts the nodes, loads the cluster's own images and
installs CoreDNS and JobSet. The first time it builds for some minutes, later it
takes seconds. It first removes whatever an earlier cluster left behind. When it
fails or is interrupted it removes what it started.`,
		Example: `  cluster up
  cluster up --nodes 3 --wait
  cluster up --with kueue,trainer`,
		Args: usage(cobra.NoArgs),
		RunE: withCluster("up", func(cmd *cobra.Command, _ []string, s session) error {
			if err := knownExtras(with); err != nil {
				return err
			}
			if err := s.cluster.Up(cmd.Context(), o); err != nil {
				return err
			}
			if err := s.cluster.AddExtras(cmd.Context(), with, o.Wait); err != nil {
				return err
			}
			s.say.Say("the cluster is up: %s", s.dirs.Kubeconfig())
			return nil
		}),
	}
	cmd.Flags().IntVar(&o.Nodes, "nodes", 2, "how many nodes; the first is the control plane too")
	cmd.Flags().StringSliceVar(&o.Definitions, "crds", nil, "`folder` with a kustomization.yaml over CRDs that controllers shall know from the start; may be repeated")
	cmd.Flags().StringSliceVar(&o.Audited, "audit", nil, "`users` whose requests the API server shall write down, without contents; `cluster logs audit` prints them")
	cmd.Flags().StringSliceVar(&with, "with", nil, "`names` of add-ons to install too: "+strings.Join(addons.ExtraNames(), ", ")+"; see `addon --help`")
	cmd.Flags().BoolVar(&o.Wait, "wait", false, "return only when CoreDNS, JobSet and the add-ons answer")
	return cmd
}

func downCommand() *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster",
		Long: `down ends all processes of the cluster and removes its control groups, links,
routes and files, and puts changed sysctls back. Logs stay until the next up.
The nodes' image stores are kept, so that the same images need not be loaded
again; --purge removes them too.`,
		Example: `  cluster down
  cluster down --purge`,
		Args: usage(cobra.NoArgs),
		RunE: withCluster("down", func(cmd *cobra.Command, _ []string, s session) error {
			found, err := s.cluster.Down(cmd.Context())
			if err != nil {
				return err
			}
			if !found {
				s.say.Say("there is no cluster")
			}
			if purge {
				return s.cluster.Purge()
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the kept image stores")
	return cmd
}

func loadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load ARCHIVE...",
		Short: "Load image archives into every node",
		Long: `load imports docker-archive or OCI layout tar files into the containerd of every
node. Images that are there already, with the same contents, are skipped.`,
		Example: `  cluster load image.tar
  cluster load build/images/*.tar`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: withCluster("load", func(cmd *cobra.Command, args []string, s session) error {
			return s.cluster.Load(cmd.Context(), args)
		}),
	}
}

func nodeInitCommand() *cobra.Command {
	return &cobra.Command{
		Use: node.Command + " SPEC", Hidden: true, Args: usage(cobra.ExactArgs(1)),
		Short: "Be the first process of a node",
		RunE:  func(_ *cobra.Command, args []string) error { return node.Init(args[0]) },
	}
}
