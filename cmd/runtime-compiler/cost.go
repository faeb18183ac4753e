package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/cost"
)

// formatCSV is a table for other programs.
const formatCSV = "csv"

// costOptions is the command line of cost.
type costOptions struct {
	queryOptions
	month string
	by    []string
}

func newCost() *cobra.Command {
	var c costOptions
	cmd := &cobra.Command{
		Use:   "cost STEPS",
		Short: "Add up the machine-hours of a month, and what they cost",
		Long: `cost adds up how long jobs had how many machines, by tenant, person, runtime and queue, from what the API server's audit log tells of jobs. STEPS is
what "kubectl mpi audit -o json" prints, in a file or, as -, on standard input. The log belongs to one cluster: name it with --cluster where there are several.

A job has its machines while its command runs, from the moment all nodes have answered until it is over or suspended. The time before, in which pods wait
for images and for each other, is not counted. On a cluster with queues GUARANTEED are the machines that a tenant always has, in the order in which its
jobs began, BORROWED those beyond, and IDLE what a tenant was guaranteed and did not use. Prices are those of "capacity" in the Cluster spec
(pricePerHour).

Exit codes: 0 the bill is complete, 1 a failure or a mistake in the specs, 2 a mistake on the command line.`,
		Example: `  kubectl mpi audit audit-*.log audit.log -o json | runtime-compiler cost --cluster onprem --month 2026-11 -

  # One page for people, one table for a spreadsheet
  runtime-compiler cost --cluster onprem --month 2026-11 -o html steps.json > 2026-11.html
  runtime-compiler cost --cluster onprem --month 2026-11 -o csv steps.json > 2026-11.csv

  # Who in the team used most?
  runtime-compiler cost --cluster onprem --by tenant,person steps.json`,
		Args: cli.ArgsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.input.RegisterFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&c.format, "output", "o", cli.FormatText, "how the bill is written: text, json, csv or html")
	cli.CompleteFlag(cmd, "output", cli.FormatText, cli.FormatJSON, formatCSV, formatHTML)
	flags.StringVar(&c.month, "month", "", "the month that is billed, as 2026-11, by UTC; not given means all of the log")
	flags.StringSliceVar(&c.by, "by", []string{"tenant"}, "what text adds up by: "+strings.Join(cost.Keys, ", "))
	cli.CompleteFlag(cmd, "by", cost.Keys...)
	return cmd
}

func (c *costOptions) run(cmd *cobra.Command, file string) error {
	if err := c.validate(); err != nil {
		return err
	}
	clusters, err := c.readPlans(cmd)
	if err != nil {
		return err
	}
	if len(clusters) != 1 {
		return fmt.Errorf("an audit log belongs to one cluster: name it with --cluster: %s", strings.Join(clusterNames(clusters), ", "))
	}
	steps, err := readJobSteps(cmd, file)
	if err != nil {
		return cli.Failure(err)
	}
	bill, err := c.billMonth(steps, clusters[0])
	if err != nil {
		return cli.Failure(err)
	}
	return asWriteFailure(c.write(cmd.OutOrStdout(), &bill, clusters[0]))
}

func (c *costOptions) validate() error {
	if formats := []string{cli.FormatText, cli.FormatJSON, formatCSV, formatHTML}; !slices.Contains(formats, c.format) {
		return fmt.Errorf("unknown format `%s`: allowed are `text`, `json`, `csv` and `html`", c.format)
	}
	for _, key := range c.by {
		if !slices.Contains(cost.Keys, key) {
			return fmt.Errorf("--by: `%s` is not something to add up by: allowed are %s", key, strings.Join(cost.Keys, ", "))
		}
	}
	if _, err := time.Parse(month, c.month); c.month != "" && err != nil {
		return fmt.Errorf("--month: `%s` is not a month: write it as 2026-11", c.month)
	}
	return nil
}

// month is how a month is written.
const month = "2006-01"

func clusterNames(clusters []*plan.Cluster) []string {
	var names []string
	for _, c := range clusters {
		names = append(names, c.Name.V)
	}
	return names
}

func readJobSteps(cmd *cobra.Command, name string) ([]cost.JobStep, error) {
	if name == "-" {
		return cost.ReadJobSteps(cmd.InOrStdin())
	}
	file, err := os.Open(name) //nolint:gosec // a file that the user names
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, source.Reason(err))
	}
	defer file.Close()
	steps, err := cost.ReadJobSteps(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return steps, nil
}

// billMonth bills the month, or what the log has of it.
func (c *costOptions) billMonth(steps []cost.JobStep, cluster *plan.Cluster) (cost.Bill, error) {
	if len(steps) == 0 {
		return cost.Bill{}, fmt.Errorf("there is no step of a job: does the policy of the audit log have the rules of docs/audit-policy.yaml?")
	}
	from, to := steps[0].Time.UTC(), steps[len(steps)-1].Time.UTC()
	if c.month != "" {
		first, _ := time.Parse(month, c.month)
		if next := first.AddDate(0, 1, 0); next.Before(to) {
			to = next
		}
		if !first.Before(to) {
			return cost.Bill{}, fmt.Errorf("nothing is known of %s: the steps end at %s", c.month, to.Format(time.RFC3339))
		}
		from = first
	}
	known := costClusterOf(cluster)
	return cost.NewBill(cost.MachineUses(steps), &known, from, to), nil
}

// costClusterOf takes from a plan what decides about costs.
func costClusterOf(c *plan.Cluster) cost.Cluster {
	known := cost.Cluster{
		Tenants: map[string]string{}, Runtimes: map[string]cost.Runtime{}, Prices: map[string]float64{}, Guaranteed: map[cost.ShareKey]int64{},
		Queues: c.Queueing != nil,
	}
	for i := range c.Capacity {
		if price := c.Capacity[i].PricePerHour.V; price != nil {
			known.Prices[c.Capacity[i].Profile.Name] = price.AsApproximateFloat64()
		}
	}
	for _, runtimes := range [][]*plan.Runtime{c.Catalog, slices.Collect(c.Compiled())} { // jobs of retired runtimes cost, too
		for _, runtime := range runtimes {
			known.Runtimes[runtime.Name.V] = cost.Runtime{Profile: runtime.Profile.Name, Nodes: int64(runtime.DefaultNodes.V)}
		}
	}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			known.Tenants[namespace.V] = t.Name.V
		}
		if t.Queue == nil {
			continue
		}
		for _, share := range t.Queue.Shares {
			known.Guaranteed[cost.ShareKey{Tenant: t.Name.V, Profile: share.Profile.Name}] = int64(share.Nodes.V)
		}
	}
	return known
}

func (c *costOptions) write(out io.Writer, bill *cost.Bill, cluster *plan.Cluster) error {
	switch c.format {
	case cli.FormatJSON:
		return cli.WriteJSON(out, bill)
	case formatCSV:
		return bill.WriteCSV(out)
	case formatHTML:
		return bill.WriteHTML(out, cluster.Name.V)
	}
	t := newPlanTable(out)
	t.writeLine(fmt.Sprintf("%s, %s to %s", cluster.Name.V, bill.From.Format(time.RFC3339), bill.To.Format(time.RFC3339)))
	var head []string
	for _, key := range c.by {
		head = append(head, strings.ToUpper(key))
	}
	t.writeLine(append(head, "PROFILE", "JOBS", "MACHINE-HOURS", "GUARANTEED", "BORROWED", "COST")...)
	for _, row := range bill.SumBy(c.by...) {
		var cells []string
		for _, key := range c.by {
			cells = append(cells, cmp.Or(row.KeyValue(key), "-"))
		}
		t.writeLine(append(cells, cmp.Or(row.Profile, "-"), strconv.Itoa(row.Jobs), cost.FormatNumber(row.MachineHours), cost.FormatNumber(row.Guaranteed), cost.FormatNumber(row.Borrowed), cmp.Or(cost.FormatMoney(row.Cost, row.Priced), "-"))...)
	}
	if len(bill.Idle) > 0 {
		t.writeLine("")
		t.writeLine("TENANT", "PROFILE", "IDLE", "COST")
	}
	for _, idle := range bill.Idle {
		t.writeLine(idle.Tenant, idle.Profile, cost.FormatNumber(idle.MachineHours), cmp.Or(cost.FormatMoney(idle.Cost, idle.Priced), "-"))
	}
	return t.Flush()
}
