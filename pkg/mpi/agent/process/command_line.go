package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Shell is what runs command lines.
const Shell = "/bin/sh"

// MaxCommandLine is the length of the longest command line in bytes, which is one argument of the shell.
const MaxCommandLine = mpi.MaxArgumentBytes

// NoShellError says that a command line needs a shell and the image has none.
type NoShellError struct{ Line string }

// Error quotes the line without secrets and cut: it goes into logs.
func (e *NoShellError) Error() string {
	return fmt.Sprintf("the image has no %s, and without it only simple words can be run: %s", Shell, diagnose.ClipBytes(diagnose.Redact(e.Line), 200))
}

// ParseCommandLine returns the file and the arguments that run a command line: through the shell, as every SSH server does
// it, or directly when the image has no shell and the line is made of simple words.
func ParseCommandLine(line string) (path string, argv []string, err error) {
	if len(line) > MaxCommandLine {
		return "", nil, fmt.Errorf("the command has %d bytes, at most %d are possible", len(line), MaxCommandLine)
	}
	if _, err := os.Stat(Shell); !errors.Is(err, fs.ErrNotExist) {
		return Shell, []string{Shell, "-c", line}, nil
	}
	words, simple := splitSimpleWords(line)
	if !simple {
		return "", nil, &NoShellError{Line: line}
	}
	path, err = exec.LookPath(words[0])
	return path, words, err
}

// splitSimpleWords splits a command line of simple words, bare or in quotes, as a shell would. It reports false for everything that
// means more to a shell: variables, escapes, lists, redirections, globs, unbalanced quotes, or no word at all.
func splitSimpleWords(line string) ([]string, bool) {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, c := range line {
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case c == quote:
			quote = 0
		case isShellSpecial(c, quote):
			return nil, false
		default:
			open = true
			word.WriteRune(c)
		}
	}
	if open {
		words = append(words, word.String())
	}
	assigns := len(words) > 0 && strings.Contains(words[0], "=")
	return words, quote == 0 && len(words) > 0 && !assigns
}

// isShellSpecial reports whether a shell gives a character a meaning of its own inside the given quotes, 0 for none.
func isShellSpecial(c, quote rune) bool {
	switch quote {
	case '\'':
		return false
	case '"':
		return strings.ContainsRune("$`\\", c)
	}
	return strings.ContainsRune("$`\\|&;<>()*?[]{}#~!\n", c)
}
