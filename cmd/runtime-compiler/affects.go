package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func newAffects() *cobra.Command {
	var a queryOptions
	cmd := &cobra.Command{
		Use:   "affects FILE[:LINE]",
		Short: "List the compiled values that a line of a spec feeds",
		Long: `affects is the other way round of explain: it lists every compiled value that comes from a line of a spec, or from a file, and
those that would if nothing overrode it. FILE is relative to --root, or to the folder where you are.`,
		Example: `  runtime-compiler affects catalog/profiles/cpu-ethernet.yaml:12
  runtime-compiler affects tenants/team-vision.yaml -o json | jq length`,
		Args: cli.ArgsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return affects(cmd, &a, args[0]) },
	}
	a.register(cmd)
	return cmd
}

func affects(cmd *cobra.Command, a *queryOptions, argument string) error {
	file, line, err := parsePlace(argument)
	if err != nil {
		return err
	}
	if file, err = a.pathBelowRoot(file, line); err != nil {
		return err
	}
	var values []explain.Value
	err = a.compileUnits(cmd, func(cluster string, objects []object.Object) {
		values = append(values, explain.Affected(cluster, objects, file, line)...)
	})
	if err != nil {
		return err
	}
	if len(values) == 0 && a.format == cli.FormatText {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s feeds no compiled value\n", argument)
		return err
	}
	return a.writeValues(cmd, values)
}

// parsePlace reads FILE:LINE, also with the column that diagnostics print behind it.
func parsePlace(argument string) (file string, line int, err error) {
	parts := strings.Split(argument, ":")
	if len(parts) == 1 {
		return argument, 0, nil
	}
	line, err = strconv.Atoi(parts[1])
	if err != nil || line < 1 || len(parts) > 3 {
		return "", 0, fmt.Errorf("`%s` is not a place: write FILE or FILE:LINE, for example `tenants/team-vision.yaml:14`", argument)
	}
	return parts[0], line, nil
}

// pathBelowRoot returns the file's path below the root, if it has the line.
func (a *queryOptions) pathBelowRoot(file string, line int) (string, error) {
	root, err := a.input.OpenRoot()
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, candidate := range []string{path.Clean(filepath.ToSlash(file)), relativeTo(a.input.Root, file)} {
		data, err := source.ReadBounded(root.FS(), candidate, source.MaxFileSize)
		if err != nil {
			continue
		}
		if lines := strings.Count(string(data), "\n") + 1; line > lines {
			return "", fmt.Errorf("`%s` has no line %d: it ends at line %d", candidate, line, lines)
		}
		return candidate, nil
	}
	return "", fmt.Errorf("there is no file `%s` below --root `%s`", file, a.input.Root)
}

// relativeTo returns a path of the machine relative to the root, or "" when it leads elsewhere.
func relativeTo(root, file string) string {
	base, err := filepath.Abs(root)
	if err != nil {
		return ""
	}
	target, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	relative, err := filepath.Rel(base, target)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(os.PathSeparator)) {
		return ""
	}
	return filepath.ToSlash(relative)
}
