package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/docs/diagnostics"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

func newCodes() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "codes [CODE ...]",
		Short: "List the codes of diagnostics, or explain some",
		Long: `codes lists the code of every mistake that check and build report. With codes as arguments it prints their pages: why it is a
mistake, what to do, and an example with its correction.`,
		Example: `  runtime-compiler codes
  runtime-compiler codes LS2003
  runtime-compiler codes -o json | jq -r '.[] | select(.severity == "warning").code'`,
		ValidArgsFunction: completeCodes,
		RunE:              func(cmd *cobra.Command, args []string) error { return codes(cmd, args, format) },
	}
	cmd.Flags().StringVarP(&format, "output", "o", cli.FormatText, "how codes are listed: text or json")
	cli.CompleteFlag(cmd, "output", cli.FormatText, cli.FormatJSON)
	return cmd
}

func codes(cmd *cobra.Command, args []string, format string) error {
	var entries []diag.Entry
	for _, arg := range args {
		entry, found := diag.EntryOf(diag.Code(strings.ToUpper(arg)))
		if !found {
			return fmt.Errorf("unknown code `%s`: `runtime-compiler codes` lists them", arg)
		}
		entries = append(entries, entry)
	}
	var err error
	switch {
	case format != cli.FormatText && format != cli.FormatJSON:
		return fmt.Errorf("unknown format `%s`: allowed are `text` and `json`", format)
	case format == cli.FormatJSON:
		err = writeCodes(cmd, entries)
	case len(args) > 0:
		err = explainCodes(cmd, entries)
	default:
		err = listCodes(cmd)
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("write the codes: %w", err))
	}
	return nil
}

// codeRecord is a code in JSON.
type codeRecord struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Title    string        `json:"title"`
	Why      string        `json:"why"`
	Do       string        `json:"do"`
}

// writeCodes writes some codes, or all for none.
func writeCodes(cmd *cobra.Command, entries []diag.Entry) error {
	if len(entries) == 0 {
		entries = diag.Entries()
	}
	records := []codeRecord{}
	for _, e := range entries {
		records = append(records, codeRecord{e.Code, e.Severity, e.Title, e.Why, e.Do})
	}
	return cli.WriteJSON(cmd.OutOrStdout(), records)
}

func listCodes(cmd *cobra.Command) error {
	for _, e := range diag.Entries() {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %-7s  %s\n", e.Code, e.Severity, e.Title); err != nil {
			return err
		}
	}
	return nil
}

// explainCodes prints pages as they are: Markdown reads well on a terminal. The first line of a page is a comment for authors.
func explainCodes(cmd *cobra.Command, entries []diag.Entry) error {
	for i, e := range entries {
		page, _ := diagnostics.Page(string(e.Code))
		_, page, _ = strings.Cut(page, "\n")
		if i > 0 {
			page = "\n" + page
		}
		if _, err := fmt.Fprint(cmd.OutOrStdout(), page); err != nil {
			return err
		}
	}
	return nil
}

func completeCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, e := range diag.Entries() {
		words = append(words, cobra.CompletionWithDesc(string(e.Code), e.Title))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
