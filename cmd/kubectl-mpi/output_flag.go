package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// The values of -o beside `jsonpath=…`. Without one, people get text.
const (
	formatJSON = "json"
	formatYAML = "yaml"
	formatName = "name"
	formatWide = "wide"
)

const jsonPathPrefix = "jsonpath="

// outputFlag is the flag -o. A command that has it fills a value with JSON tags, which is stable, and says how people read it.
type outputFlag struct {
	format string
	words  []string
}

// printable is what a command prints.
type printable struct {
	// value is what JSON, YAML and jsonpath show.
	value any
	// names are what `-o name` shows, one in a line: `trainjob/train`.
	names []string
	// text writes what people read.
	text func(w io.Writer) error
}

// registerFlag adds the flag. Wide says whether there is more to show than fits a usual terminal.
func (o *outputFlag) registerFlag(cmd *cobra.Command, wide bool) {
	o.words = []string{formatJSON, formatYAML, formatName}
	if wide {
		o.words = append(o.words, formatWide)
	}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "what to print: "+strings.Join(o.words, ", ")+" or jsonpath=TEMPLATE")
	cli.CompleteFlag(cmd, "output", append(slices.Clone(o.words), jsonPathPrefix)...)
}

// validate refuses a format that there is none.
func (o *outputFlag) validate() error {
	if o.format == "" || slices.Contains(o.words, o.format) {
		return nil
	}
	if template, is := strings.CutPrefix(o.format, jsonPathPrefix); is {
		if _, err := parseJSONPath(template); err != nil {
			return usageErrorf("`--output %s` is not a jsonpath template: %v", o.format, err)
		}
		return nil
	}
	return usageErrorf("invalid value `%s` for `--output`: must be one of %s, or jsonpath=TEMPLATE", o.format, strings.Join(o.words, ", "))
}

func (o *outputFlag) isWide() bool { return o.format == formatWide }

// isForPeople reports whether people read it.
func (o *outputFlag) isForPeople() bool { return o.format == "" || o.isWide() }

// printResult writes what a command found.
func (o *outputFlag) printResult(w io.Writer, what printable) error {
	switch {
	case o.isForPeople():
		return what.text(w)
	case o.format == formatName:
		for _, name := range what.names {
			fmt.Fprintln(w, name)
		}
		return nil
	case o.format == formatJSON:
		return cli.WriteJSON(w, what.value)
	case o.format == formatYAML:
		text, err := yaml.Marshal(what.value)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return printJSONPath(w, strings.TrimPrefix(o.format, jsonPathPrefix), what.value)
}

// parseJSONPath reads a template as kubectl does: `{.a}`, `.a` and `a` mean the same.
func parseJSONPath(template string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(template, "{") {
		template = "{." + strings.TrimPrefix(template, ".") + "}"
	}
	parser := jsonpath.New("output").AllowMissingKeys(true)
	return parser, parser.Parse(template)
}

func printJSONPath(w io.Writer, template string, value any) error {
	parser, err := parseJSONPath(template)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return err
	}
	return parser.Execute(w, tree)
}

// countedWord is `1 job` or `2 jobs`.
func countedWord(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// columnWidths are those that a table has grown to: rows that come later stand below those before them.
type columnWidths []int

// writeRows writes rows. Cells are the words of others: none may move the cursor, or end its column.
func (c *columnWidths) writeRows(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			if row[i] = withoutControls(row[i]); i == len(*c) {
				*c = append(*c, 0)
			}
			if i < len(row)-1 { // nothing stands beside the last one
				(*c)[i] = max((*c)[i], utf8.RuneCountInString(row[i]))
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s", (*c)[i]+columnGap, cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// columnGap is what stands between columns.
const columnGap = 3

// withoutControls is a text without what terminals obey; spaces before it stay.
func withoutControls(text string) string {
	rest := strings.TrimLeft(text, " ")
	return text[:len(text)-len(rest)] + diagnose.StripEscapes(rest)
}

// writeTable writes rows in columns, the first of which are the headings.
func writeTable(w io.Writer, rows [][]string) error {
	var widths columnWidths
	return widths.writeRows(w, rows)
}
