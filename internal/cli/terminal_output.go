package cli

import (
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// The formats that several commands have. Text is for people, the others are for programs.
const (
	FormatText   = "text"
	FormatJSON   = "json"
	FormatSARIF  = "sarif"
	FormatGitHub = "github"
)

// CompleteFlag offers the words of a flag to the shell.
func CompleteFlag(cmd *cobra.Command, flag string, words ...string) {
	CompleteFlagWith(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFlagWith offers the shell the words that complete returns for a flag. It panics if the command has no such flag yet.
func CompleteFlagWith(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// WriteJSON writes a value as JSON that people can read, too.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Palette colours output on a terminal only, and not where NO_COLOR is set (https://no-color.org).
func Palette(w io.Writer) diag.Palette {
	if !HasColours(w) {
		return diag.Palette{}
	}
	return diag.Colours()
}

// HasColours reports whether output to w has colours.
func HasColours(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether a terminal shows what is written to w.
func IsTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}
