// Package guide runs the commands that a page for users shows, and holds what they print against the page.
//
// In a block ```console, `$ ` begins a command, which may go on over lines that end with a backslash, and a line `…` stands for lines that are
// left out. A block of YAML or Jsonnet whose first line is a comment with a path is written to that file.
package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	blocks = regexp.MustCompile("(?s)```(?:console|yaml|jsonnet)\n.*?```")
	// A block whose first line is a comment with a path is a file.
	file = regexp.MustCompile(`^(?:#|//) (\S+/\S+\.(?:yaml|jsonnet|libsonnet))\n`)
	// A line of its own: any number of lines that the page leaves out.
	leftOut = "\n…\n"
)

// Page is a page and how its commands are run.
type Page struct {
	// Path of the page. Its files are written below the working folder.
	Path string
	// Run runs a command line and returns what it printed. Exit codes are the business of scripts; a page shows words.
	Run func(command string) (printed string)
	// Settle makes equal what differs from run to run, such as times; nil for nothing.
	Settle func(text string) string
	// Update writes what was printed into the page where it differs.
	Update bool
}

// Check runs the page from top to bottom, reports what is printed otherwise than the page says, and returns how many commands there were.
func (p Page) Check(tb testing.TB) (commands int) {
	tb.Helper()
	text, err := os.ReadFile(p.Path)
	if err != nil {
		tb.Fatal(err)
	}
	var wrong []string
	right := blocks.ReplaceAllStringFunc(string(text), func(block string) string {
		language, body, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(block, "```"), "```"), "\n")
		if language != "console" {
			writeFile(tb, body)
			return block
		}
		steps := strings.Split("\n"+body, "\n$ ")[1:]
		for i, step := range steps {
			command, want := cut(strings.TrimSuffix(step, "\n") + "\n")
			printed := p.Run(command)
			if !p.same(printed, want) {
				wrong = append(wrong, command+"\nprinted:\n"+printed+"\nthe page says:\n"+want)
				want = printed
			}
			steps[i] = "$ " + command + "\n" + want
		}
		commands += len(steps)
		return "```" + language + "\n" + strings.Join(steps, "") + "```"
	})
	if p.Update && len(wrong) > 0 {
		if err := os.WriteFile(p.Path, []byte(right), 0o666); err != nil {
			tb.Fatal(err)
		}
	}
	if len(wrong) > 0 {
		tb.Errorf("%s", strings.Join(wrong, "\n\n"))
	}
	return commands
}

// cut separates a command from what it is said to print.
func cut(step string) (command, printed string) {
	command, printed, _ = strings.Cut(strings.ReplaceAll(step, "\\\n", "\x00"), "\n")
	return strings.ReplaceAll(command, "\x00", "\\\n"), strings.ReplaceAll(printed, "\x00", "\\\n")
}

func writeFile(tb testing.TB, text string) {
	tb.Helper()
	name := file.FindStringSubmatch(text)
	if name == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(name[1]), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name[1], []byte(text), 0o666); err != nil {
		tb.Fatal(err)
	}
}

// same compares what was printed with what a page says, which may leave out lines.
func (p Page) same(got, want string) bool {
	if p.Settle != nil {
		got, want = p.Settle(got), p.Settle(want)
	}
	parts := strings.Split("\n"+want, leftOut)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimPrefix(part, "\n"))
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `(?s:(?:.*\n)?)`) + `$`).MatchString(got)
}
