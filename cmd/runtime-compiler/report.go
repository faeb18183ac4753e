package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// report is the JSON of check and build.
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

func writeJSON(w io.Writer, r report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return failure{fmt.Errorf("write report: %w", err)}
	}
	return nil
}

// palette colours output on a terminal only, and not where NO_COLOR is set (https://no-color.org).
func palette(w io.Writer) diag.Palette {
	file, isFile := w.(*os.File)
	if !isFile || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return diag.Palette{}
	}
	return diag.Colours()
}

// conclude returns what ends a command after its diagnostics were printed.
func conclude(list *diag.List) error {
	if list.Errors() > 0 {
		return errReported
	}
	return nil
}

// tell reports to people, with one line per cluster, or to programs, and concludes.
func tell(cmd *cobra.Command, asJSON bool, list *diag.List, summaries []clusterSummary, line func(clusterSummary) string) error {
	if asJSON {
		if err := writeJSON(cmd.OutOrStdout(), newReport(list, summaries)); err != nil {
			return err
		}
		return conclude(list)
	}
	if err := list.WriteText(cmd.ErrOrStderr(), palette(cmd.ErrOrStderr())); err != nil {
		return failure{fmt.Errorf("write diagnostics: %w", err)}
	}
	for _, s := range summaries {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line(s)); err != nil {
			return failure{fmt.Errorf("write the summary: %w", err)}
		}
	}
	return conclude(list)
}
