package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// queryOptions is common to the commands that answer questions about compiled objects.
type queryOptions struct {
	input  compiling.Input
	format string
}

func (a *queryOptions) register(cmd *cobra.Command) {
	a.input.RegisterFlags(cmd)
	cmd.Flags().StringVarP(&a.format, "output", "o", cli.FormatText, "how answers are written: text or json")
	cli.CompleteFlag(cmd, "output", cli.FormatText, cli.FormatJSON)
}

// compileUnits compiles the repository and hands over the objects of every unit. Specs with mistakes have no objects to explain, so
// their findings are what there is to say.
func (a *queryOptions) compileUnits(cmd *cobra.Command, take func(cluster string, objects []object.Object)) error {
	if a.format != cli.FormatText && a.format != cli.FormatJSON {
		return fmt.Errorf("unknown format `%s`: allowed are `text` and `json`", a.format)
	}
	root, err := a.input.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	list, _ := compile.Stream(root.FS(), a.input.Options(), func(u compile.Unit) error {
		take(u.Cluster, u.Objects)
		return nil
	})
	if list.Errors() == 0 {
		return nil
	}
	if err := list.WriteText(cmd.ErrOrStderr(), cli.Palette(cmd.ErrOrStderr())); err != nil {
		return cli.Failure(fmt.Errorf("write the report: %w", err))
	}
	return cli.ErrReported
}

// readPlans reads the specs. Those with mistakes have no plan: their findings are what there is to say.
func (a *queryOptions) readPlans(cmd *cobra.Command) ([]*plan.Cluster, error) {
	root, err := a.input.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	clusters, list := compile.Plans(root.FS(), a.input.Options())
	if list.Errors() == 0 {
		return clusters, nil
	}
	if err := list.WriteText(cmd.ErrOrStderr(), cli.Palette(cmd.ErrOrStderr())); err != nil {
		return nil, cli.Failure(fmt.Errorf("write the report: %w", err))
	}
	return nil, cli.ErrReported
}

// writeValues writes the values that were found.
func (a *queryOptions) writeValues(cmd *cobra.Command, values []explain.Value) error {
	var err error
	if a.format == cli.FormatJSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), valueRecords(values))
	} else {
		err = writeValuesText(cmd.OutOrStdout(), cli.Palette(cmd.OutOrStdout()), values)
	}
	if err != nil {
		return cli.Failure(fmt.Errorf("write the answer: %w", err))
	}
	return nil
}

// valueRecord is a value in JSON.
type valueRecord struct {
	Cluster    string             `json:"cluster"`
	APIGroup   string             `json:"apiGroup,omitempty"`
	Kind       string             `json:"kind"`
	Namespace  string             `json:"namespace,omitempty"`
	Name       string             `json:"name"`
	Path       string             `json:"path"`
	Value      string             `json:"value"`
	Origin     originRecord       `json:"origin"`
	Overridden []overriddenRecord `json:"overridden,omitempty"`
}

// originRecord says where a value comes from. File, line and column are missing for constants.
type originRecord struct {
	Kind   string `json:"kind"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Why    string `json:"why,omitempty"`
}

// overriddenRecord is a value that another one overrode.
type overriddenRecord struct {
	Value  string       `json:"value"`
	Origin originRecord `json:"origin"`
}

func valueRecords(values []explain.Value) []valueRecord {
	result := make([]valueRecord, 0, len(values))
	for _, v := range values {
		record := valueRecord{
			Cluster: v.Cluster, APIGroup: v.Object.Group, Kind: v.Object.Kind, Namespace: v.Object.Namespace, Name: v.Object.Name,
			Path: v.Path.String(), Value: v.Text, Origin: originRecordOf(v.From),
		}
		for _, lost := range v.From.Lost {
			record.Overridden = append(record.Overridden, overriddenRecord{Value: lost.Value, Origin: originRecordOf(lost.Origin)})
		}
		result = append(result, record)
	}
	return result
}

func originRecordOf(from *origin.Origin) originRecord {
	if from == nil {
		return originRecord{}
	}
	return originRecord{Kind: from.Kind.String(), File: from.At.Path(), Line: from.At.Line, Column: from.At.Column, Why: from.Why}
}

// writeValuesText writes values under the object that they belong to.
func writeValuesText(w io.Writer, p diag.Palette, values []explain.Value) error {
	var b strings.Builder
	for i, v := range values {
		if i == 0 || v.Object != values[i-1].Object || v.Cluster != values[i-1].Cluster {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%s%s%s on %s\n", p.Help, v.Object, p.Reset, v.Cluster)
		}
		fmt.Fprintf(&b, "  %s: %s\n", v.Path, oneLine(v.Text))
		writeOrigin(&b, "    ", v.From)
		for _, lost := range v.From.Lost {
			fmt.Fprintf(&b, "    instead of %s\n", oneLine(lost.Value))
			writeOrigin(&b, "      ", lost.Origin)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOrigin writes the place with the text of its line, and the reason.
func writeOrigin(b *strings.Builder, indent string, from *origin.Origin) {
	if from == nil {
		return
	}
	fmt.Fprintf(b, "%s%s", indent, from.Kind)
	if !from.At.IsZero() {
		fmt.Fprintf(b, " %s", from.At)
		if from.At.Line > 0 && from.Kind == origin.Written {
			fmt.Fprintf(b, "  %s", strings.TrimSpace(from.At.File.Line(from.At.Line)))
		}
	}
	if from.Why != "" {
		fmt.Fprintf(b, "  (%s)", from.Why)
	}
	b.WriteString("\n")
}

// oneLine keeps a value of several lines from breaking the list.
func oneLine(text string) string {
	if text == "" {
		return `""`
	}
	if strings.ContainsAny(text, "\n\t") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
