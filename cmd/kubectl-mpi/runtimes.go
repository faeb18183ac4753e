package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

func newRuntimes(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "runtimes",
		Short: "List what jobs can be made from here: runtimes with their defaults and limits, and the queue",
		Long: `List what jobs can be made from in this namespace: runtimes with their MPI, how many nodes a job gets unless it asks for others, how
many it may have, slots per node, what a node requests, and the most that it may request. Which of them the tenant may use is said by its namespace, which not everybody may read.`,
		Example: `  kubectl mpi runtimes

  # Images, descriptions and links too, and which were certified on this cluster
  kubectl mpi runtimes -o wide`,
		Args: cli.ArgsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			namespace, err := k.Namespace()
			if err != nil {
				return err
			}
			c, err := k.Client()
			if err != nil {
				return err
			}
			offer, err := fetch.AvailableIn(cmd.Context(), c, namespace)
			if err != nil {
				return err
			}
			names := make([]string, len(offer.Runtimes))
			for i := range offer.Runtimes {
				names[i] = offer.Runtimes[i].Kind + "/" + offer.Runtimes[i].Name
			}
			return o.printResult(k.streams.Out, printable{value: offer, names: names, text: func(w io.Writer) error {
				return writeOffer(w, k.streams.ErrOut, offer, o.isWide())
			}})
		},
	}
	o.registerFlag(cmd, true)
	return cmd
}

func writeOffer(w, notes io.Writer, offer fetch.AvailableRuntimes, wide bool) error {
	rows := [][]string{{"NAME", "MPI", "NODES", "MOST", "SLOTS", "NODE GETS", "AT MOST"}}
	if wide {
		rows[0] = append(rows[0], "CERTIFIED", "KIND", "IMAGE", "DESCRIPTION", "DOCUMENTATION")
	}
	for _, r := range offer.Runtimes {
		row := []string{r.Name + defaultOrDeprecated(r), cmp.Or(r.ImplementationName(), "-"), numberOrDash(r.Nodes), numberOrDash(r.MaxNodes), numberOrDash(r.SlotsPerNode), cmp.Or(r.Resources, "-"), cmp.Or(r.Most, "-")}
		if wide {
			row = append(row, cmp.Or(r.Certified, "-"), r.Kind, cmp.Or(r.Image, "-"), cmp.Or(r.Description, "-"),
				cmp.Or(r.Documentation, "-"))
		}
		rows = append(rows, row)
	}
	if len(offer.Runtimes) == 0 {
		fmt.Fprintln(notes, "There are no runtimes here.")
	} else if err := writeTable(w, rows); err != nil {
		return err
	}
	for i := range offer.Runtimes {
		if r := &offer.Runtimes[i]; r.Deprecated {
			fmt.Fprintf(w, "\n%s\n", r.Warning(r.Name))
		}
	}
	if offer.Queue != "" {
		fmt.Fprintf(w, "\nJobs wait in queue %s (label kueue.x-k8s.io/queue-name).\n", offer.Queue)
	}
	printWithheld(notes, offer.Withheld)
	return nil
}

// defaultOrDeprecated is what the platform says of a runtime.
func defaultOrDeprecated(r fetch.AvailableRuntime) string {
	switch {
	case r.Default:
		return " (default)"
	case r.Deprecated:
		return " (deprecated)"
	}
	return ""
}

func numberOrDash(n int32) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
