package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
)

// reporting says how the findings of a command are told, and which of them make it fail.
type reporting struct {
	format, failOn string
	// input knows where the paths of findings begin; those of the output begin with out.
	input *inputFlags
	out   string
}

// The formats. Text is for people and goes to standard error; the others are for programs and go to standard output.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatSARIF  = "sarif"
	formatGitHub = "github"
)

func (r *reporting) register(cmd *cobra.Command, input *inputFlags) {
	r.input = input
	flags := cmd.Flags()
	flags.StringVar(&r.format, "format", formatText, "how findings are written: text, json, sarif or github (annotations of GitHub Actions)")
	flags.StringVarP(&r.format, "output", "o", formatText, "same as --format")
	flags.StringVar(&r.failOn, "fail-on", string(diag.Error), "fail on findings of this severity: error, or warning (then exit code 3 where there are warnings only)")
	complete(cmd, "format", formatText, formatJSON, formatSARIF, formatGitHub)
	complete(cmd, "output", formatText, formatJSON, formatSARIF, formatGitHub)
	complete(cmd, "fail-on", string(diag.Error), string(diag.Warning))
}

// complete offers the words of a flag to the shell.
func complete(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// validate refuses words that mean nothing.
func (r *reporting) validate() error {
	switch r.format {
	case formatText, formatJSON, formatSARIF, formatGitHub:
	default:
		return fmt.Errorf("unknown format `%s`: allowed are `text`, `json`, `sarif` and `github`", r.format)
	}
	if r.failOn != string(diag.Error) && r.failOn != string(diag.Warning) {
		return fmt.Errorf("unknown severity `%s` for --fail-on: allowed are `error` and `warning`", r.failOn)
	}
	return nil
}

// verdict returns what ends a command that found what is in the list: nil, errReported or a tooSevere.
func (r *reporting) verdict(list *diag.List) error {
	switch {
	case list.Errors() > 0:
		return errReported
	case r.failOn == string(diag.Warning) && list.Warnings() > 0:
		return tooSevere{list.Warnings()}
	}
	return nil
}

// report is the JSON of check and build, described by docs/diagnostics/report.schema.json.
type report struct {
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

func newReport(list *diag.List, clusters []clusterSummary) report {
	if clusters == nil {
		clusters = []clusterSummary{}
	}
	return report{Errors: list.Errors(), Warnings: list.Warnings(), Diagnostics: list.Records(), Clusters: clusters}
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// palette colours output on a terminal only, and not where NO_COLOR is set (https://no-color.org).
func palette(w io.Writer) diag.Palette {
	file, isFile := w.(*os.File)
	if !isFile || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return diag.Palette{}
	}
	return diag.Colours()
}

// tell reports findings in the wanted format, to people with a line per cluster, and returns the verdict.
func (r *reporting) tell(cmd *cobra.Command, list *diag.List, summaries []clusterSummary, line func(clusterSummary) string) error {
	out := cmd.OutOrStdout()
	var err error
	switch r.format {
	case formatJSON:
		err = writeJSON(out, newReport(list, summaries))
	case formatSARIF:
		err = sarif.Write(out, list, sarif.Options{Version: version(), Locate: r.uri})
	case formatGitHub:
		err = list.WriteGitHub(out, r.locate)
	default:
		err = r.text(cmd, list, summaries, line)
	}
	if err != nil {
		return failure{fmt.Errorf("write the report: %w", err)}
	}
	return r.verdict(list)
}

func (r *reporting) text(cmd *cobra.Command, list *diag.List, summaries []clusterSummary, line func(clusterSummary) string) error {
	if err := list.WriteText(cmd.ErrOrStderr(), palette(cmd.ErrOrStderr())); err != nil {
		return err
	}
	for _, s := range summaries {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line(s)); err != nil {
			return err
		}
	}
	return nil
}

// locate returns a path for services that know the checkout, not --root: relative to where the command runs, which is the root of
// the checkout in a pipeline. Paths of the output are so already.
func (r *reporting) locate(name string) string {
	if r.out != "" && strings.HasPrefix(name, r.out+"/") {
		return path.Clean(filepath.ToSlash(name))
	}
	return path.Join(filepath.ToSlash(r.input.root), name)
}

// uri returns locate as a URI reference.
func (r *reporting) uri(name string) string {
	located := r.locate(name)
	if path.IsAbs(located) {
		return (&url.URL{Scheme: "file", Path: located}).String()
	}
	return (&url.URL{Path: located}).String()
}
