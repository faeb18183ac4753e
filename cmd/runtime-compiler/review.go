package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/apart"
	"lockstep.dev/lockstep/internal/cli"
)

// reviewed returns the command of the other program that a command line runs, asks about or completes, or "".
func reviewed(args []string) string {
	before := []string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}
	if len(args) > 1 && slices.Contains(before, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 || apart.ReviewCommands[args[0]] == "" {
		return ""
	}
	return args[0]
}

// reviewCommands stand for those of the other program wherever commands are listed or guessed.
func reviewCommands() []*cobra.Command {
	var commands []*cobra.Command
	for _, name := range slices.Sorted(maps.Keys(apart.ReviewCommands)) {
		commands = append(commands, &cobra.Command{
			Use: name, Short: apart.ReviewCommands[name], DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return cli.Failure(apart.Review(name)) },
		})
	}
	return commands
}
