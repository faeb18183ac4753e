package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/render"
	"lockstep.dev/lockstep/pkg/live"
)

// driftOptions is the command line of drift.
type driftOptions struct {
	input                        compiling.Input
	kubeconfig, context, manager string
	format, failOn               string
}

func newDrift() *cobra.Command {
	var d driftOptions
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Say where a cluster is not what the specs compile to",
		Long: `drift compares what the specs compile to for a cluster with what is there, and says what applying them now would mean: objects that are
missing, values that somebody changed, and objects that have our label and are no longer compiled. It changes nothing.

The API server is asked what applying each object would leave (a dry run of a server-side apply), so that defaults and fields that others
own, such as an autoscaler, are no drift. That needs the right to get and to patch; nothing is patched. Without the right to patch, the fields
that are compiled or owned by the field manager are compared one by one, which is less exact. Listing by label finds objects that are
no longer compiled.

The field manager is that of whoever applies the tree: the cluster's GitOps engine, or else kubectl.

Exit codes: 0 fine, 1 the specs do not compile, something could not be read or a failure, 2 a mistake on the command line, 3 there is what
--fail-on names.`,
		Example: `  runtime-compiler drift --cluster onprem
  runtime-compiler drift --cluster onprem --kubeconfig ~/.kube/onprem --fail-on info
  runtime-compiler drift --cluster onprem -o json | jq '.missing, .extra'`,
		Args:    cobra.NoArgs,
		PreRunE: rejectEmptyFlags,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.run(cmd) },
	}
	d.input.RegisterFlags(cmd)
	d.input.RegisterWorkers(cmd)
	flags := cmd.Flags()
	flags.StringVar(&d.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; the default is kubectl's")
	flags.StringVar(&d.context, "context", "", "context in the kubeconfig; the default is the current one")
	flags.StringVar(&d.manager, "field-manager", "", "who applies the tree; the default is kustomize-controller, argocd-controller or kubectl, by the cluster's spec")
	flags.StringVarP(&d.format, "format", "o", cli.FormatText, "how the report is written: text, json")
	flags.StringVar(&d.failOn, "fail-on", failOnNothing, "exit with 3 where there is drift of this severity or higher, or of this consequence; `info` is any")
	cli.CompleteFlag(cmd, "format", cli.FormatText, cli.FormatJSON)
	cli.CompleteFlag(cmd, "fail-on", thresholdWords()...)
	return cmd
}

func (d *driftOptions) run(cmd *cobra.Command) error {
	threshold, err := group.ParseThreshold(d.failOn)
	switch {
	case err != nil:
		return fmt.Errorf("read --fail-on: %w", err)
	case d.format != cli.FormatText && d.format != cli.FormatJSON:
		return fmt.Errorf("unknown format `%s`: allowed are text, json", d.format)
	case d.input.Cluster == "":
		return errors.New("--cluster is missing: it says which cluster of the specs this is")
	}
	if err := d.input.Validate(); err != nil {
		return err
	}
	d.input.LimitProcessors()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	units, err := d.compileCluster(cmd)
	if err != nil {
		return err
	}
	if d.manager == "" {
		d.manager = fieldManagerOf(units)
	}
	cluster, err := live.Connect(d.kubeconfig, d.context, d.manager)
	if err != nil {
		return err
	}
	report, err := d.compare(ctx, cmd, cluster, units)
	if err != nil {
		return cli.Failure(err)
	}
	if err := d.write(cmd.OutOrStdout(), cluster, report); err != nil {
		return cli.Failure(fmt.Errorf("write the report: %w", err))
	}
	if report.Fails(threshold) {
		return errFailOn(d.failOn)
	}
	if n := len(cluster.Findings().Unreadable); n > 0 && d.failOn != failOnNothing {
		return cli.Failure(fmt.Errorf("nobody knows whether there is drift: %d could not be read", n))
	}
	return nil
}

// compileCluster returns the units of the cluster.
func (d *driftOptions) compileCluster(cmd *cobra.Command) ([]compile.Unit, error) {
	root, err := d.input.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var units []compile.Unit
	list, err := compile.Stream(root.FS(), d.input.Options(), func(u compile.Unit) error {
		units = append(units, u)
		return nil
	})
	if err != nil {
		return nil, cli.Failure(err)
	}
	if list.Errors() == 0 {
		return units, nil
	}
	w := cmd.ErrOrStderr()
	if err := list.WriteText(w, cli.Palette(w)); err != nil {
		return nil, cli.Failure(err)
	}
	fmt.Fprintln(w, "error: the specs do not compile, so there is nothing to compare")
	return nil, cli.ErrReported
}

// appliers are the field managers of GitOps engines, by the group of the objects that make one apply a tree.
var appliers = map[string]string{"kustomize.toolkit.fluxcd.io": "kustomize-controller", "argoproj.io": "argocd-controller"}

// fieldManagerOf is the field manager of whoever applies what was compiled.
func fieldManagerOf(units []compile.Unit) string {
	for _, u := range units {
		for i := range u.Objects {
			if manager := appliers[u.Objects[i].ID.Group]; manager != "" {
				return manager
			}
		}
	}
	return "kubectl"
}

// compare asks for all objects.
func (d *driftOptions) compare(ctx context.Context, cmd *cobra.Command, cluster *live.Cluster, units []compile.Unit) (*semdiff.Report, error) {
	shown := cli.NewProgress(cmd.ErrOrStderr())
	defer shown.ClearLine()
	var in semdiff.Input
	for i, u := range units {
		before, after, err := cluster.CompareUnit(ctx, u.Objects)
		if err != nil {
			return nil, err
		}
		in.Units = append(in.Units, semdiff.NewUnit(u.Cluster, u.Name, emptyIfNil(before), emptyIfNil(after), nil))
		shown.ShowUnits(i+1, len(units)+1)
	}
	extra, err := cluster.ExtraObjects(ctx)
	if err != nil {
		return nil, err
	}
	// Whoever finds nothing extra has looked at both sides all the same.
	in.Units = append(in.Units, semdiff.NewUnit(d.input.Cluster, "not compiled", emptyIfNil(extra), []object.Object{}, nil))
	report := semdiff.Compare(in)
	return &report, nil
}

// emptyIfNil returns the objects of a side that has the unit, also where there are none in it.
func emptyIfNil(objects []object.Object) []object.Object {
	if objects == nil {
		return []object.Object{}
	}
	return objects
}

// driftReport is the report in JSON. Review is what `diff -o json` writes: from what is there to what is compiled.
type driftReport struct {
	Cluster    string          `json:"cluster"`
	Context    string          `json:"context,omitempty"`
	Manager    string          `json:"fieldManager"`
	Missing    []string        `json:"missing"`
	Extra      []string        `json:"extra"`
	Refused    []driftProblem  `json:"refused"`
	Unreadable []driftProblem  `json:"unreadable"`
	ByFields   int             `json:"comparedByFields"`
	Review     json.RawMessage `json:"review"`
}

type driftProblem struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func (d *driftOptions) write(w io.Writer, cluster *live.Cluster, report *semdiff.Report) error {
	found := cluster.Findings()
	compared := render.ComparedStates{From: "cluster " + d.input.Cluster, To: workingTree}
	if d.format == cli.FormatText {
		writeDriftFindings(w, &found)
		fmt.Fprintf(w, "What applying the tree now would change, as %s:\n\n", cluster.Manager)
		return render.Text(w, report, compared, cli.Palette(w))
	}
	var review bytes.Buffer
	if err := render.JSON(&review, report, compared); err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(driftReport{
		Cluster: d.input.Cluster, Context: cluster.Context, Manager: cluster.Manager, Missing: idStrings(found.Missing), Extra: idStrings(found.Extra),
		Refused: driftProblems(found.Refused), Unreadable: driftProblems(found.Unreadable), ByFields: found.ByFields, Review: review.Bytes(),
	})
}

// shownOf is how many objects of a list people read.
const shownOf = 20

func writeDriftFindings(w io.Writer, f *live.Findings) {
	for _, part := range []struct {
		heading string
		lines   []string
	}{
		{"compiled, and not on the cluster", idStrings(f.Missing)},
		{"on the cluster with our label, and not compiled", idStrings(f.Extra)},
		{"refused by the API server when they are applied", problemSentences(f.Refused)},
		{"not compared, because they may not be read", problemSentences(f.Unreadable)},
	} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(w, "%d %s:\n", len(part.lines), part.heading)
		for _, line := range part.lines[:min(shownOf, len(part.lines))] {
			fmt.Fprintf(w, "  %s\n", line)
		}
		if more := len(part.lines) - shownOf; more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
		fmt.Fprintln(w)
	}
	if f.ByFields > 0 {
		fmt.Fprintf(w, "%d compared field by field, because a dry run needs the right to patch\n\n", f.ByFields)
	}
}

func idStrings(list []object.ID) []string {
	names := []string{}
	for _, id := range list {
		names = append(names, id.String())
	}
	return names
}

func driftProblems(list []live.Problem) []driftProblem {
	all := []driftProblem{}
	for _, p := range list {
		all = append(all, driftProblem(p))
	}
	return all
}

func problemSentences(list []live.Problem) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.What+": "+p.Why)
	}
	return all
}
