package main

import (
	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
)

// newRoot returns `kubectl mpi`.
func newRoot(k *kube) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-mpi",
		Short: "Run, watch, understand and repeat MPI jobs",
		Long: `kubectl mpi runs MPI jobs, shows how far they are, and says why one waits or has failed, in the words of its conditions.

It needs no rights beyond those of an editor of a tenant. What you may not see is named, and the rest is shown.

` + exitCodesText(),
		Example: `  # What runs here, and how far it is
  kubectl mpi list

  # What keeps a job, or what ended it
  kubectl mpi why train

  # Wait for its end; the exit code says how it ended
  kubectl mpi wait train --for=complete`,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl mpi"},
		Args:        cli.RejectUnknownCommand,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	k.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // in texts, whoever prints them
	root.AddCommand(
		newConvert(k),
		newDashboard(k),
		newDelete(k),
		newDescribe(k),
		newEvents(k),
		newGet(k),
		newList(k),
		newResume(k),
		newRuntimes(k),
		newSuspend(k),
		newTop(k),
		newVersion(k),
		newWait(k),
		newWhy(k),
	)
	root.AddCommand(
		newLogs(k), newSubmit(k), newCreate(k), newClone(k), newDiff(k), newValidate(k), newPreflight(k), newExec(k), newShell(k), newBundle(k), newCp(k), newExplain(k), newMan(k),
		newArtifacts(k), newAudit(k), newCertify(k), newHistory(k), newOpen(k),
	)
	k.explainErrors(root)
	return root
}
