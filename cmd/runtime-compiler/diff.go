package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
	"lockstep.dev/lockstep/pkg/compile/review"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/render"
)

// diffOptions is the command line of diff.
type diffOptions struct {
	input          compiling.Input
	from, to       string
	format, failOn string
	// link is the address of a line of a spec, full that of the whole report; "" for none.
	link, full string
	// yaml shows how the compiled objects differ, too.
	yaml bool
}

// errFailOn ends a command that found an entry that --fail-on names.
func errFailOn(threshold string) error {
	return cli.ExitError{Code: cli.ExitFailOn, Err: fmt.Errorf("there are changes of --fail-on `%s`", threshold)}
}

func newDiff() *cobra.Command {
	var d diffOptions
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Say what a change of the specs means for the clusters",
		Long: `diff compiles two states of the specs and says what it means to go from one to the other: for whom, how severe, what becomes of
running jobs, and which line of the specs is responsible. The same change in a thousand tenants is one entry.

The default compares what a pull request changes: from where the work left the default branch to the working tree. A state is a
revision, which is read without a checkout, or a folder. Revisions are named as in git: a branch, a tag, a hash, HEAD, origin/main, with ~n
or ^n behind any of them.

diff compiles and proves both states, shows what is found and which waivers accept it, and takes twice as long as check.
It reports no change only if check passes, no waiver accepts more, and no file differs that decides about reviews, such
as a pipeline.

Exit codes, whatever the format: 0 fine, 1 a state does not compile, check refuses the state after, or a failure,
2 a mistake on the command line, 3 there is what --fail-on names.`,
		Example: `  # What does my work change?
  runtime-compiler diff

  # What did the last commit change, and what does a branch change?
  runtime-compiler diff --from HEAD~1 --to HEAD
  runtime-compiler diff --from main --to feature

  # How do the compiled objects differ?
  runtime-compiler diff --yaml

  # Stop a pipeline where a boundary opens or data is lost
  runtime-compiler diff --fail-on critical
  runtime-compiler diff --fail-on deletes-data
  runtime-compiler diff --fail-on critical,waivers,pipelines

  # The comment on a pull request, and the whole report as a page beside it
  runtime-compiler diff --format markdown > comment.md
  runtime-compiler diff --format html > review.html

  # For code scanning, and annotations of GitHub Actions
  runtime-compiler diff --format sarif > review.sarif
  runtime-compiler diff --format github`,
		Args:    cobra.NoArgs,
		PreRunE: rejectEmptyFlags,
		RunE:    func(cmd *cobra.Command, _ []string) error { return d.run(cmd) },
	}
	d.input.RegisterFlags(cmd)
	d.input.RegisterWorkers(cmd)
	flags := cmd.Flags()
	flags.StringVar(&d.from, "from", "", "revision or folder to compare with; the default is where the work left the default branch")
	flags.StringVar(&d.to, "to", "", "revision or folder that is compared; the default is the working tree of --root")
	flags.StringVarP(&d.format, "format", "o", cli.FormatText, "how the report is written: "+strings.Join(diffFormats, ", "))
	flags.StringVar(&d.failOn, "fail-on", failOnNothing, "exit with 3 where there are changes of this severity or higher, or of this consequence; `waivers` that accept more, `pipelines` and what else decides about reviews; several with commas")
	cli.CompleteFlag(cmd, "format", diffFormats...)
	flags.StringVar(&d.link, "link", "", "address of a line of a spec for markdown and html, with {revision}, {path} and {line}; known in GitHub's and GitLab's pipelines")
	flags.StringVar(&d.full, "full-report", "", "address of the whole report for markdown and html, which may have no room for all")
	flags.BoolVar(&d.yaml, "yaml", false,
		"show how the compiled objects differ, as YAML, with each change; markdown and html have it behind a fold")
	cli.CompleteFlag(cmd, "fail-on", thresholdWords()...)
	return cmd
}

// The formats that only diff has: the comment on a pull request, and a page for reviewers.
const (
	formatMarkdown = "markdown"
	formatHTML     = "html"
)

var diffFormats = []string{cli.FormatText, formatMarkdown, formatHTML, cli.FormatJSON, cli.FormatSARIF, cli.FormatGitHub}

// failOnNothing is the word of --fail-on for no threshold.
const failOnNothing = group.OnNothing

// thresholdWords are the words that --fail-on takes.
func thresholdWords() []string { return group.ThresholdWords() }

func (d *diffOptions) run(cmd *cobra.Command) (err error) {
	threshold, err := group.ParseThreshold(d.failOn)
	if err != nil {
		return fmt.Errorf("read --fail-on: %w", err)
	}
	if !slices.Contains(diffFormats, d.format) {
		return fmt.Errorf("unknown format `%s`: allowed are %s", d.format, strings.Join(diffFormats, ", "))
	}
	if err := cmp.Or(validateLinkTemplate(d.link), d.input.Validate()); err != nil {
		return err
	}
	d.input.LimitProcessors()
	cli.TuneHeap(50) // two states are in memory
	before, after, err := openStates(d.input.Root, d.from, d.to)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, errors.Join(before.close(), after.close())) }()
	shown := cli.NewProgress(cmd.ErrOrStderr())
	options := d.input.Options()
	options.Progress = shown.ShowUnits
	result, err := review.Compare(before.files, after.files, review.Options{Compile: options, Before: before.top, After: after.top})
	shown.ClearLine()
	if err != nil {
		return cli.Failure(err)
	}
	if !result.Compared() {
		return d.reportBrokenStates(cmd, &result, before, after)
	}
	result.YAML = d.yaml
	if err := d.write(cmd, &result.Report, before, after); err != nil {
		return cli.Failure(fmt.Errorf("write the report: %w", err))
	}
	switch {
	case result.Fails(threshold):
		return errFailOn(d.failOn)
	case result.After.Errors() > 0:
		return cli.Failure(fmt.Errorf("check refuses `%s`: `runtime-compiler check` says why", after.name))
	}
	return nil
}

// reportBrokenStates tells why nothing can be compared: a side does not compile. Formats that others read have a report of it.
func (d *diffOptions) reportBrokenStates(cmd *cobra.Command, result *review.Result, before, after comparedState) error {
	w := cmd.ErrOrStderr()
	for _, broken := range []struct {
		state comparedState
		list  *diag.List
	}{{before, result.Before}, {after, result.After}} {
		if broken.list.Errors() == 0 {
			continue
		}
		if err := broken.list.WriteText(w, cli.Palette(w)); err != nil {
			return cli.Failure(fmt.Errorf("write the report: %w", err))
		}
		fmt.Fprintf(w, "error: `%s` does not compile, so there is nothing to compare\n", broken.state.name)
	}
	if d.format != cli.FormatText {
		if err := d.write(cmd, &result.Report, before, after); err != nil {
			return cli.Failure(fmt.Errorf("write the report: %w", err))
		}
	}
	return cli.ErrReported
}

func (d *diffOptions) write(cmd *cobra.Command, report *semdiff.Report, before, after comparedState) error {
	out := cmd.OutOrStdout()
	compared := render.ComparedStates{From: before.name, FromHash: before.hash, To: after.name, ToHash: after.hash}
	switch d.format {
	case cli.FormatJSON:
		return render.JSON(out, report, compared)
	case cli.FormatSARIF:
		return render.SARIF(out, report, sarif.Options{Version: cli.Version(), Locate: func(name string) string { return compiling.URI(d.input.PathInCheckout(name)) }})
	case cli.FormatGitHub:
		return render.GitHub(out, report, d.input.PathInCheckout)
	case formatMarkdown, formatHTML:
		l := lineLinks(d.link, d.input.Root, d.full, before, after)
		if d.format == formatHTML {
			return render.HTML(out, report, compared, l)
		}
		return render.Markdown(out, report, compared, l)
	}
	return render.Text(out, report, compared, cli.Palette(out))
}
