package main

import (
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/docs"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// glossaryWord is a phase or a reason, which STATE of `list` is made of, or an alert. Its JSON is stable.
type glossaryWord struct {
	Name string `json:"name"`
	// Kind is `phase`, `reason` or `alert`.
	Kind    string `json:"kind"`
	Meaning string `json:"meaning"`
	// The rest is of a reason: whose failure it is, what proves it, and what to do.
	Class    diagnose.ReasonClass `json:"class,omitempty"`
	Evidence string               `json:"evidence,omitempty"`
	Remedy   string               `json:"remedy,omitempty"`
	// page is in Markdown, empty if there is none.
	page string
}

// glossary are all of them, phases first.
func glossary() []glossaryWord {
	var list []glossaryWord
	for _, p := range jobv1.AllPhases() {
		list = append(list, glossaryWord{Name: string(p), Kind: "phase", Meaning: p.Meaning()})
	}
	for _, e := range diagnose.ReasonDocs() {
		page, _ := docs.Page("failures/" + string(e.Reason))
		list = append(list, glossaryWord{string(e.Reason), "reason", e.Meaning, e.Class, e.Evidence, e.Remedy, page})
	}
	alerts, _ := fs.Glob(docs.Files, "alerts/*MPI*.md") // a constant pattern
	for _, file := range alerts {
		page, _ := docs.Page(strings.TrimSuffix(file, ".md"))
		title, text, _ := strings.Cut(page, "\n\n")
		meaning, _, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
		list = append(list, glossaryWord{Name: strings.TrimPrefix(title, "# "), Kind: "alert", Meaning: meaning, page: "\n" + page})
	}
	return list
}

func newExplain(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "explain [PHASE, REASON or ALERT]",
		Short: "Explain a phase, a reason or an alert, and what to do",
		Long: `Explain a word in the column STATE, which is a phase, or the reason why a job waits or has failed, with what proves it and what to do; or an
alert. Without an argument all of them are listed. No cluster is asked; ` + "`kubectl mpi why`" + ` explains one job.`,
		Example: `  kubectl mpi explain OOMKilled

  # All phases and reasons
  kubectl mpi explain`,
		Args: cli.ArgsBetween(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, w := range glossary() {
				names = append(names, cobra.CompletionWithDesc(w.Name, w.Meaning))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if len(args) == 0 {
				return o.printResult(k.streams.Out, printWords(glossary()))
			}
			found, err := findWord(args[0])
			if err != nil {
				return err
			}
			return o.printResult(k.streams.Out, printable{value: found, names: []string{found.Name}, text: func(w io.Writer) error {
				_, err := io.WriteString(w, wordPage(found))
				return err
			}})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}

func printWords(all []glossaryWord) printable {
	what := printable{value: map[string]any{"items": all}, text: func(w io.Writer) error {
		rows := [][]string{{"NAME", "KIND", "MEANING"}}
		for _, one := range all {
			rows = append(rows, []string{one.Name, one.Kind, one.Meaning})
		}
		return writeTable(w, rows)
	}}
	for _, one := range all {
		what.names = append(what.names, one.Name)
	}
	return what
}

// findWord finds a word whatever its letters are, also behind the phase as STATE shows it: `Failed: OOMKilled`.
func findWord(name string) (glossaryWord, error) {
	_, after, both := strings.Cut(name, ": ")
	if both {
		name = after
	}
	var names []string
	for _, w := range glossary() {
		if strings.EqualFold(w.Name, name) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	if near, found := diag.Nearest(name, names); found {
		return glossaryWord{}, usageErrorf("`%s` is no phase, reason or alert: did you mean `%s`?", name, near)
	}
	return glossaryWord{}, usageErrorf("`%s` is no phase, reason or alert: `kubectl mpi explain` lists them", name)
}

// wordPage is the page about a word as it is: Markdown reads well on a terminal. Its first line is for authors.
func wordPage(w glossaryWord) string {
	if w.page == "" {
		return fmt.Sprintf("# %s\n\n%s.\n", w.Name, capitalizeFirst(w.Meaning))
	}
	_, page, _ := strings.Cut(w.page, "\n")
	return page
}
