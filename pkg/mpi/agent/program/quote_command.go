package program

import (
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// LongestLine is how many bytes of a command line are looked at for secrets: a command may have megabytes.
const LongestLine = 4 << 10

// QuoteCommand is a command line for a message: without secrets, and cut after that. A long one is cut before too, and there
// between two words, because half a secret may not look like one. A function of Python is shown by its name.
func QuoteCommand(line string) string {
	line = pythonFunction.ReplaceAllString(line, "$1()")
	if len(line) > LongestLine {
		line = line[:strings.LastIndexAny(line[:LongestLine], " \t\n")+1] + "…"
	}
	return Abbreviate(diagnose.Redact(line), 200)
}

// QuoteWords is the command line of words, as a shell would take it, for a message.
func QuoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = pythonFunction.ReplaceAllString(word, "$1()")
		if quoted[i] == word && (word == "" || strings.ContainsAny(word, " \t\n'\"\\|&;<>()$`*?[]#~")) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return QuoteCommand(strings.Join(quoted, " "))
}

// pythonFunction finds a function that the Python package sends with the program that calls it
// (python/src/lockstep/_function.py).
var pythonFunction = regexp.MustCompile(
	`(?s)SOURCE = """(?:from __future__ import annotations\n)?(?:if True:\n)?\s*def (\w+).*`)

// Abbreviate cuts a text for a message.
func Abbreviate(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return text
}
