package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func newSchema() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a spec kind, or write all of them",
		Long: `schema prints the JSON Schema (draft 2020-12) of a kind: HardwareProfile, MPIRuntime, Tenant or Cluster, or in short profile,
runtime, tenant or cluster. With --out it writes the schemas of all kinds into a folder.

Editors with the YAML language server check and complete a spec whose first line names its schema, as a path relative to the spec:

  # yaml-language-server: $schema=../.lockstep/schemas/tenant.json

` + "`runtime-compiler new`" + ` writes that line.`,
		Example: `  runtime-compiler schema tenant
  runtime-compiler schema --out .lockstep/schemas`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return kindWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return printSchema(cmd, args)
			}
			if len(args) > 0 {
				return fmt.Errorf("--out writes the schemas of all kinds: leave out `%s`", args[0])
			}
			return writeSchemas(cmd, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write all schemas into this folder")
	return cmd
}

func kindWords() []string {
	var words []string
	for _, k := range jsonschema.Kinds {
		words = append(words, k.Word)
	}
	return words
}

func printSchema(cmd *cobra.Command, args []string) error {
	allowed := "`" + strings.Join(kindWords(), "`, `") + "`"
	if len(args) == 0 {
		return fmt.Errorf("name a kind, one of %s, or a folder for all with --out", allowed)
	}
	kind, known := jsonschema.KindOf(args[0])
	if !known {
		return fmt.Errorf("unknown kind `%s`: allowed are %s", args[0], allowed)
	}
	if _, err := cmd.OutOrStdout().Write(kind.Text()); err != nil {
		return cli.Failure(fmt.Errorf("print the schema: %w", err))
	}
	return nil
}

func writeSchemas(cmd *cobra.Command, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return cli.Failure(fmt.Errorf("write the schemas to the folder `%s`: %w", out, source.Reason(err)))
	}
	for _, kind := range jsonschema.Kinds {
		file := filepath.Join(out, kind.File)
		if err := os.WriteFile(file, kind.Text(), 0o644); err != nil {
			return cli.Failure(fmt.Errorf("write the schemas: %w", err))
		}
		fmt.Fprintln(cmd.OutOrStdout(), "wrote", file)
	}
	return nil
}
