package program

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// LongestLine is how many bytes of a command line are looked at for secrets: a command may have megabytes.
const LongestLine = 4 << 10

// QuoteCommand is a command line for a message: without secrets, and cut after that. A long one is cut before too, and there
// between two words, because half a secret may not look like one.
func QuoteCommand(line string) string {
	if len(line) > LongestLine {
		line = line[:strings.LastIndexAny(line[:LongestLine], " \t\n")+1] + "…"
	}
	return Abbreviate(diagnose.Redact(line), 200)
}

// Abbreviate cuts a text for a message.
func Abbreviate(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return text
}
