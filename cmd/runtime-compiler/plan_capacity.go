package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/whatif"
)

// planOptions is the command line of plan.
type planOptions struct {
	queryOptions
	change  whatif.Change
	borrow  int32
	resizes []string
}

func newPlan() *cobra.Command {
	var p planOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show where the machines are, what would fit, and which runtimes are certified",
		Long: `plan shows per cluster how many machines of each profile there are, who has them, and how many each tenant can have:

  GUARANTEED  always
  BUSY        when all others use what is guaranteed to them, and the machines of cohorts are divided evenly
  MOST        when all others are idle

Where the cluster's spec has certifications it shows of each runtime when it was tested, and ` + "`stale`" + ` when it has changed since.

With --add-tenant or --nodes-of it asks what would be different: whether it fits, on which clusters, and who would have less room
than before. A tenant that would come is compiled and proven like one in the specs; nothing is written.

Exit codes: 0 it fits, 1 it fits nowhere, or on one of the clusters that would be resized, or a mistake in the specs, 2 a mistake on
the command line.`,
		Example: `  runtime-compiler plan
  runtime-compiler plan --cluster onprem -o json | jq '.clusters[].profiles'

  # Where do eight machines for a new team fit?
  runtime-compiler plan --add-tenant robotics --profile h100 --nodes 8

  # Who has less when a team without machines of its own borrows up to four?
  runtime-compiler plan --add-tenant interns --profile h100 --nodes 0 --borrow 4 --cohort research

  # What breaks when four machines go, and what can be given away when four come?
  runtime-compiler plan --nodes-of h100=-4
  runtime-compiler plan --nodes-of h100=+4 --add-tenant robotics --profile h100 --nodes 4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd) },
	}
	p.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&p.change.Tenant, "add-tenant", "", "ask about a tenant of this name")
	flags.StringVar(&p.change.Profile, "profile", "", "profile of the machines of the tenant")
	flags.Int32Var(&p.change.Nodes, "nodes", 0, "machines that are guaranteed to the tenant")
	flags.Int32Var(&p.borrow, "borrow", 0, "most machines that the tenant borrows; not given means no bound")
	flags.StringVar(&p.change.Cohort, "cohort", "", "cohort of the tenant")
	flags.StringArrayVar(&p.resizes, "nodes-of", nil, "ask about another number of machines: PROFILE=+4, PROFILE=-4 or PROFILE=20")
	return cmd
}

// readQuestion reads what the flags mean together. It returns whether something is asked.
func (p *planOptions) readQuestion(cmd *cobra.Command) (bool, error) {
	for _, text := range p.resizes {
		resize, err := whatif.ParseResize(text)
		if err != nil {
			return false, fmt.Errorf("read --nodes-of: %w", err)
		}
		p.change.Resizes = append(p.change.Resizes, resize)
	}
	given := cmd.Flags().Changed
	switch {
	case p.change.Tenant == "" && (given("profile") || given("nodes") || given("borrow") || given("cohort")):
		return false, fmt.Errorf("--profile, --nodes, --borrow and --cohort describe a tenant: name it with --add-tenant")
	case p.change.Tenant != "" && p.change.Profile == "":
		return false, fmt.Errorf("--add-tenant needs --profile, the kind of its machines")
	case p.change.Tenant != "" && !decode.HasFormat("dns-label", p.change.Tenant):
		return false, fmt.Errorf("`%s` cannot be a name: at most 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit", p.change.Tenant)
	case p.change.Nodes < 0 || p.borrow < 0:
		return false, fmt.Errorf("--nodes and --borrow are 0 or more")
	case given("borrow"):
		p.change.Borrow = &p.borrow
	}
	return p.change.Tenant != "" || len(p.change.Resizes) > 0, nil
}

func (p *planOptions) run(cmd *cobra.Command) error {
	asked, err := p.readQuestion(cmd)
	if err != nil {
		return err
	}
	if p.format != cli.FormatText && p.format != cli.FormatJSON {
		return fmt.Errorf("unknown format `%s`: allowed are `text` and `json`", p.format)
	}
	clusters, err := p.readPlans(cmd)
	if err != nil {
		return err
	}
	if !asked {
		return p.writeTable(cmd, whatif.CapacityTable(clusters))
	}
	answers, err := whatif.Ask(clusters, p.change)
	if err != nil {
		return err
	}
	if err := p.writeAnswers(cmd, answers); err != nil {
		return err
	}
	if !changeFits(answers, p.change) {
		return cli.ErrReported
	}
	return nil
}

// changeFits reports whether a tenant fits somewhere, or machines can change everywhere.
func changeFits(answers []whatif.Answer, change whatif.Change) bool {
	for _, a := range answers {
		if a.Fits == (change.Tenant != "") {
			return a.Fits
		}
	}
	return change.Tenant == ""
}

func (p *planOptions) writeTable(cmd *cobra.Command, clusters []whatif.Cluster) error {
	out := cmd.OutOrStdout()
	if p.format == cli.FormatJSON {
		return asWriteFailure(cli.WriteJSON(out, struct {
			Clusters []whatif.Cluster `json:"clusters"`
		}{clusters}))
	}
	t := newPlanTable(out)
	for i := range clusters {
		if i > 0 {
			t.writeLine("")
		}
		t.writeCluster(cli.Palette(out), &clusters[i], &clusters[i], "")
		t.writeRuntimeTests(&clusters[i])
	}
	return asWriteFailure(t.Flush())
}

func (p *planOptions) writeAnswers(cmd *cobra.Command, answers []whatif.Answer) error {
	out := cmd.OutOrStdout()
	if p.format == cli.FormatJSON {
		return asWriteFailure(cli.WriteJSON(out, struct {
			Fits    bool            `json:"fits"`
			Answers []whatif.Answer `json:"answers"`
		}{changeFits(answers, p.change), answers}))
	}
	t := newPlanTable(out)
	for i := range answers {
		if i > 0 {
			t.writeLine("")
		}
		t.writeAnswer(cli.Palette(out), &answers[i])
	}
	return asWriteFailure(t.Flush())
}

func asWriteFailure(err error) error {
	if err != nil {
		return cli.Failure(fmt.Errorf("write the answer: %w", err))
	}
	return nil
}

// planTable writes columns that are aligned within a block of lines.
type planTable struct{ *tabwriter.Writer }

func newPlanTable(w io.Writer) planTable { return planTable{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// writeLine writes cells. What cannot be written is told by Flush.
func (t planTable) writeLine(cells ...string) {
	fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
}

func (t planTable) writeAnswer(p diag.Palette, a *whatif.Answer) {
	verdict := p.Help + "fits" + p.Reset
	if !a.Fits {
		verdict = p.Error + "does not fit" + p.Reset
	}
	t.writeCluster(p, a.Before, a.After, ": "+verdict)
	for _, f := range a.Why {
		t.writeLine(fmt.Sprintf("  %s[%s]: %s", f.Severity, f.Code, f.Message))
	}
	for _, s := range a.Shrinks {
		t.writeLine(fmt.Sprintf("  less room for `%s` on `%s`: busy %s, most %s", s.After.Tenant, s.After.Profile, numberChange(s.Before.Busy, s.After.Busy), numberChange(s.Before.Most, s.After.Most)))
	}
}

// writeCluster writes the tables of one cluster, with what was before where it differs.
func (t planTable) writeCluster(p diag.Palette, before, after *whatif.Cluster, verdict string) {
	t.writeLine(p.Place + after.Name + p.Reset + verdict)
	if len(after.Profiles) == 0 {
		t.writeLine("  The spec does not say what machines it has.")
		return
	}
	if after.Queues {
		t.writeLine("  PROFILE", "MACHINES", "GUARANTEED", "COHORTS", "FREE", "OVER")
		for i, s := range after.Profiles {
			b := before.Profiles[i]
			t.writeLine("  "+s.Profile, numberChange(b.Machines, s.Machines), numberChange(b.Guaranteed, s.Guaranteed), numberChange(b.Cohorts, s.Cohorts), numberChange(b.Free, s.Free), numberChange(b.Over, s.Over))
		}
		t.writeTenantRooms(before, after)
	} else {
		t.writeLine("  PROFILE", "MACHINES")
		for i, s := range after.Profiles {
			t.writeLine("  "+s.Profile, numberChange(before.Profiles[i].Machines, s.Machines))
		}
	}
	t.writeQuotaPromises(after)
}

func (t planTable) writeTenantRooms(before, after *whatif.Cluster) {
	if len(after.Tenants) == 0 {
		return
	}
	t.writeLine("")
	t.writeLine("  TENANT", "COHORT", "PROFILE", "GUARANTEED", "BUSY", "MOST")
	for _, r := range after.Tenants {
		b := r
		for _, earlier := range before.Tenants {
			if earlier.Tenant == r.Tenant && earlier.Profile == r.Profile {
				b = earlier
			}
		}
		t.writeLine("  "+r.Tenant, cmp.Or(r.Cohort, "-"), r.Profile, numberChange(b.Guaranteed, r.Guaranteed), numberChange(b.Busy, r.Busy), numberChange(b.Most, r.Most))
	}
}

// writeQuotaPromises writes what quotas promise without a queue.
func (t planTable) writeQuotaPromises(c *whatif.Cluster) {
	if len(c.Quotas) == 0 {
		return
	}
	t.writeLine("")
	t.writeLine("  RESOURCE", "MACHINES", "QUOTAS")
	for _, q := range c.Quotas {
		note := ""
		if q.Over {
			note = "more than there is"
		}
		t.writeLine("  "+q.Resource, q.Has, q.Promised, note)
	}
}

// writeRuntimeTests writes which runtimes were certified, and what was measured.
func (t planTable) writeRuntimeTests(c *whatif.Cluster) {
	if len(c.Runtimes) == 0 {
		return
	}
	t.writeLine("")
	t.writeLine("  RUNTIME", "CERTIFIED", "TESTED", "BY", "PAIRS", "ROUND TRIP", "BANDWIDTH")
	for _, r := range c.Runtimes {
		if r.Test == nil {
			t.writeLine("  "+r.Runtime, r.Certified, "-", "-", "-", "-", "-")
			continue
		}
		t.writeLine("  "+r.Runtime, r.Certified, r.Test.Date, r.Test.By, fmt.Sprint(r.Test.Pairs),
			fmt.Sprintf("%d µs", r.Test.RoundTripMicroseconds), fmt.Sprintf("%d Mbit/s", r.Test.BandwidthMbps))
	}
}

// numberChange shows what a number becomes.
func numberChange[N int64 | float64](before, after N) string {
	if before == after {
		return fmt.Sprint(after)
	}
	return fmt.Sprintf("%v → %v", before, after)
}
