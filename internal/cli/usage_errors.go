package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// ArgsBetween asks for a number of arguments. Their name is the first one in the command's usage.
func ArgsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		_, usage, _ := strings.Cut(cmd.Use, " ")
		return fmt.Errorf("`%s` takes %s, not %d", cmd.Name(), describeArgs(usage, least, most), len(args))
	}
}

func describeArgs(usage string, least, most int) string {
	noun, _, _ := strings.Cut(strings.ToLower(usage), " ")
	noun = strings.TrimRight(noun, ".…")
	if slices.Contains([]string{"name", "job", "run"}, noun) {
		noun = "job name"
	}
	switch {
	case least == most && most <= 2:
		return []string{"no arguments", "one " + noun, "two " + noun + "s"}[most]
	case least == 1 && most > 2:
		return "at least one " + noun
	}
	return usage
}

// explainFlagError adds to the error about a flag that there is none the one that was probably meant, and says of a value what is needed.
func explainFlagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if what := describeFlagValues(invalid.GetFlag().Value.Type()); what != "" {
			return fmt.Errorf("invalid value `%s` for `--%s`: %s is needed", invalid.GetValue(), invalid.GetFlag().Name, what)
		}
		return err // a flag of our own says it itself
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if len(name) == 1 {
		return fmt.Errorf("unknown flag `-%s`", name)
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	if near, found := diag.Nearest(name, flags); found {
		return fmt.Errorf("unknown flag `--%s`: did you mean `--%s`?", name, near)
	}
	return fmt.Errorf("unknown flag `--%s`", name)
}

// describeFlagValues names the values of a type of flags that reads numbers and the like, or is "".
func describeFlagValues(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), kind == "count":
		return "a whole number"
	case kind == "bool":
		return "`true` or `false`"
	case kind == "duration":
		return "a length of time such as `90s`"
	}
	return ""
}

// RejectUnknownCommand refuses what is not a command, with the one that was probably meant.
func RejectUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command `%s`: did you mean `%s`?", args[0], strings.Join(near, "` or `"))
	}
	return fmt.Errorf("unknown command `%s`", args[0])
}
