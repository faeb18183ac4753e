package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

func newTop(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "top NAME",
		Short: "Show what each pod of a job uses: CPU and memory, and what it asked for",
		Long: `Show what each pod of a job uses: CPU and memory, and what it asked for, where the cluster serves metrics.k8s.io (metrics-server, or
OpenShift's monitoring). The numbers are some seconds old, and those of a whole pod: SLOTS are the numbers of the ranks that share it.`,
		Example:           "  kubectl mpi top train",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			j, err := k.readJob(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			usage, hidden, err := fetch.UsageOf(cmd.Context(), k.reader, client.ObjectKey{Namespace: j.Namespace, Name: j.Name})
			if err != nil && apierror.Explain(err).Kind == apierror.NoKind {
				return cli.Failure(errors.New("this cluster does not serve metrics.k8s.io, so nobody knows what pods use. " +
					"Ask whoever runs the cluster for metrics-server"))
			}
			if err != nil {
				return err
			}
			names := make([]string, len(usage))
			for i := range usage {
				names[i] = "pod/" + usage[i].Pod
			}
			return o.printResult(k.streams.Out, printable{value: map[string]any{"items": usage}, names: names, text: func(w io.Writer) error {
				printWithheld(k.streams.ErrOut, hidden)
				return writeUsage(w, usage, slotsByPod(j))
			}})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}

// slotsByPod returns the slots of the pods of a job, as text.
func slotsByPod(j view.Job) map[string]string {
	slots := map[string]string{}
	if j.Launcher != nil {
		slots[j.Launcher.Name] = slotsText(*j.Launcher)
	}
	for _, pod := range j.Nodes {
		slots[pod.Name] = slotsText(pod)
	}
	return slots
}

func writeUsage(w io.Writer, usage []fetch.PodUsage, slots map[string]string) error {
	rows := [][]string{{"POD", "SLOTS", "CPU", "CPU LIMIT", "MEMORY", "MEMORY LIMIT", "MACHINE"}}
	for _, u := range usage {
		cpu, memory := "-", "-"
		if u.Measured {
			cpu, memory = fmt.Sprintf("%.2f", float64(u.MilliCPU)/1000), fmt.Sprintf("%dMi", u.MemoryBytes>>20)
		}
		rows = append(rows, []string{u.Pod, cmp.Or(slots[u.Pod], "-"), cpu, cmp.Or(u.CPULimit, "-"), memory, cmp.Or(u.MemoryLimit, "-"), cmp.Or(u.Machine, "-")})
	}
	return writeTable(w, rows)
}
