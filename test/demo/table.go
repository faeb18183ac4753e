package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/testjob"
)

// row is one line of the table. The JSON names are a contract with whoever reads DEMO_JSON.
type row struct {
	Job               string   `json:"job"`
	Implementation    string   `json:"implementation"`
	Nodes             int      `json:"nodes"`
	Ranks             int      `json:"ranks"`
	Hosts             []string `json:"hosts"`
	Machines          []string `json:"machines"`
	Sum               int      `json:"sum"`
	SecondsToFirst    float64  `json:"secondsToFirstRank"`
	SecondsToComplete float64  `json:"secondsToComplete"`
	LauncherRestarts  int      `json:"launcherRestarts"`
	// Error is empty when every rank, node and sum is right.
	Error string `json:"error,omitempty"`
}

func newRow(implementation string, result testjob.Result, machines int) row {
	r := row{
		Job:               result.Job.Name,
		Implementation:    implementation,
		Nodes:             len(result.Hosts()),
		Ranks:             len(result.Ranks),
		Hosts:             result.Hosts(),
		Machines:          result.Machines,
		SecondsToFirst:    result.FirstRank.Seconds(),
		SecondsToComplete: result.End.Seconds(),
		LauncherRestarts:  result.LauncherRestarts,
	}
	if len(result.Ranks) > 0 {
		r.Sum = result.Ranks[0].Sum
	}
	if err := result.Check(min(machines, nodes)); err != nil {
		r.Error = err.Error()
	}
	return r
}

func printTable(out io.Writer, rows []row) {
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "JOB\tIMPLEMENTATION\tRANKS\tNODES\tMACHINES\tALLREDUCE\tFIRST RANK\tCOMPLETE\tRESTARTS")
	for _, r := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%.2f s\t%.2f s\t%d\n", r.Job, r.Implementation, r.Ranks, r.Nodes,
			strings.Join(r.Machines, ","), allreduce(r), r.SecondsToFirst, r.SecondsToComplete, r.LauncherRestarts)
	}
	_ = table.Flush()
}

func allreduce(r row) string {
	if r.Error != "" {
		return "WRONG"
	}
	return fmt.Sprintf("%d right", r.Sum)
}

func verdict(rows []row) error {
	var errs []error
	for _, r := range rows {
		if r.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", r.Implementation, r.Error))
		}
	}
	return errors.Join(errs...)
}

const whatNext = `
The cluster is up. What to try next:
  alias k='%s --kubeconfig %s'
  k get trainjobs -A
  k -n team-vision describe trainjob hello-openmpi5-cpu
  k get clustertrainingruntimes
  make cluster down
`

const whatNextAsEditor = `
Run jobs as an editor of %s, in this shell (docs/guide/run-a-job.md):
  export KUBECONFIG=%s
  export PATH=%s:%s:$PATH
  kubectl mpi submit first --runtime openmpi5-cpu --follow -- mpirun mpi-hello
  kubectl mpi dashboard      shows it in a browser (docs/guide/dashboard.md)
`

const whatNextDown = `
What to try next:
  KEEP=1 make demo           leaves the cluster up, to look around
  build/dist/local           is what the compiler made of catalog/, tenants/ and overlays/
  make test                  runs all tests

`
