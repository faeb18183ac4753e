package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
)

// reportOptions says how the findings of a command are told, and which of them make it fail. Text is for people and goes to standard error;
// the other formats are for programs and go to standard output.
type reportOptions struct {
	format, failOn string
	// input knows where the paths of findings begin; those of the output begin with out.
	input *compiling.Input
	out   string
}

func (r *reportOptions) register(cmd *cobra.Command, input *compiling.Input) {
	r.input = input
	flags := cmd.Flags()
	flags.StringVar(&r.format, "format", cli.FormatText, "how findings are written: text, json, sarif or github (annotations of GitHub Actions)")
	flags.StringVarP(&r.format, "output", "o", cli.FormatText, "same as --format")
	flags.StringVar(&r.failOn, "fail-on", string(diag.Error), "fail on findings of this severity: error, or warning (then exit code 3 where there are warnings only)")
	cli.CompleteFlag(cmd, "format", cli.FormatText, cli.FormatJSON, cli.FormatSARIF, cli.FormatGitHub)
	cli.CompleteFlag(cmd, "output", cli.FormatText, cli.FormatJSON, cli.FormatSARIF, cli.FormatGitHub)
	cli.CompleteFlag(cmd, "fail-on", string(diag.Error), string(diag.Warning))
}

// validate refuses words that mean nothing.
func (r *reportOptions) validate() error {
	switch r.format {
	case cli.FormatText, cli.FormatJSON, cli.FormatSARIF, cli.FormatGitHub:
	default:
		return fmt.Errorf("unknown format `%s`: allowed are `text`, `json`, `sarif` and `github`", r.format)
	}
	if r.failOn != string(diag.Error) && r.failOn != string(diag.Warning) {
		return fmt.Errorf("unknown severity `%s` for --fail-on: allowed are `error` and `warning`", r.failOn)
	}
	return nil
}

// verdict returns what ends a command that found what is in the list: nil, ErrReported, or that there are too many warnings.
func (r *reportOptions) verdict(list *diag.List) error {
	switch {
	case list.Errors() > 0:
		return cli.ErrReported
	case r.failOn == string(diag.Warning) && list.Warnings() > 0:
		return cli.ExitError{Code: cli.ExitFailOn, Err: fmt.Errorf("warnings: %d, and --fail-on is `warning`", list.Warnings())}
	}
	return nil
}

// findingsReport is the JSON of check and build, described by docs/diagnostics/report.schema.json.
type findingsReport struct {
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Diagnostics []diag.Record    `json:"diagnostics"`
	Clusters    []clusterSummary `json:"clusters"`
}

// clusterSummary counts the objects of one cluster and, after a build, its files.
type clusterSummary struct {
	Name    string `json:"name"`
	Objects int    `json:"objects"`
	// Written, Unchanged and Removed count files.
	Written   int `json:"written"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
}

func newFindingsReport(list *diag.List, clusters []clusterSummary) findingsReport {
	if clusters == nil {
		clusters = []clusterSummary{}
	}
	return findingsReport{Errors: list.Errors(), Warnings: list.Warnings(), Diagnostics: list.Records(), Clusters: clusters}
}

// write reports findings in the wanted format, to people with a line per cluster, and returns the verdict.
func (r *reportOptions) write(cmd *cobra.Command, list *diag.List, summaries []clusterSummary, line func(clusterSummary) string) error {
	out := cmd.OutOrStdout()
	var err error
	switch r.format {
	case cli.FormatJSON:
		err = cli.WriteJSON(out, newFindingsReport(list, summaries))
	case cli.FormatSARIF:
		err = sarif.Write(out, list, sarif.Options{Version: cli.Version(), Locate: r.checkoutURI})
	case cli.FormatGitHub:
		err = list.WriteGitHub(out, r.pathInCheckout)
	default:
		err = r.writeText(cmd, list, summaries, line)
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("write the report: %w", err))
	}
	return r.verdict(list)
}

func (r *reportOptions) writeText(cmd *cobra.Command, list *diag.List, summaries []clusterSummary, line func(clusterSummary) string) error {
	if err := list.WriteText(cmd.ErrOrStderr(), cli.Palette(cmd.ErrOrStderr())); err != nil {
		return err
	}
	for _, s := range summaries {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line(s)); err != nil {
			return err
		}
	}
	return nil
}

// pathInCheckout returns a path for services that know the checkout. Paths of the output are what they need already.
func (r *reportOptions) pathInCheckout(name string) string {
	if r.out != "" && strings.HasPrefix(name, r.out+"/") {
		return path.Clean(filepath.ToSlash(name))
	}
	return r.input.PathInCheckout(name)
}

// checkoutURI returns pathInCheckout as a URI reference.
func (r *reportOptions) checkoutURI(name string) string { return compiling.URI(r.pathInCheckout(name)) }
