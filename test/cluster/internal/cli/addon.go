package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/addons"
)

func addonCommand() *cobra.Command {
	var remove, wait bool
	var about strings.Builder
	for _, e := range addons.Extras() {
		_, _ = fmt.Fprintf(&about, "\n  %-10s %s", e.Name, e.About)
	}
	cmd := &cobra.Command{
		Use:   "addon NAME...",
		Short: "Install or remove add-ons that not every cluster needs",
		Long: `addon installs controllers and kinds of others into the running cluster, built
from their pinned modules (the first time that takes minutes):
` + about.String() + `

Removing leaves their kinds and namespaces, and what is in them.`,
		Example: `  cluster addon kueue podgroup --wait
  cluster addon trainer --remove`,
		Args:      usage(cobra.MinimumNArgs(1)),
		ValidArgs: addons.ExtraNames(),
		RunE: withCluster("addon", func(cmd *cobra.Command, args []string, s session) error {
			if err := knownExtras(args); err != nil {
				return err
			}
			if remove {
				return s.cluster.RemoveExtras(cmd.Context(), args)
			}
			return s.cluster.AddExtras(cmd.Context(), args, wait)
		}),
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove them, and return when they have ended")
	cmd.Flags().BoolVar(&wait, "wait", false, "return only when they are at work")
	return cmd
}

func knownExtras(names []string) error {
	for _, name := range names {
		if _, err := addons.FindExtra(name); err != nil {
			return usageError{err}
		}
	}
	return nil
}
