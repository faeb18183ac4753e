package diagnose

import (
	"strings"
	"unicode"
)

// WithoutNoise leaves out of the last lines of an output what hides why a program failed: few lines can be shown, and launchers have many of their own for
// the end of any rank. That is a traceback of a launcher, which ends with the exception that a process of it failed, the table of torchrun, frames of
// C++, what Hydra says of its connections, Open MPI's notes of no consequence, exceptions packed for the Python
// package, and lines without a letter or a digit.
// Where nothing else is there, all lines stay.
func WithoutNoise(lines []string) []string {
	noisy := make([]bool, len(lines))
	traceback := map[int]int{} // where the traceback of a rank begins, -1 for lines without a tag
	for i, line := range lines {
		by, text := tagOrNone(line)
		begin, open := traceback[by]
		switch {
		case strings.Contains(text, tracebackBegin):
			traceback[by] = i
		case open && launcherException.MatchString(text):
			noisy[i] = true
			markTraceback(noisy, lines, begin, i, by)
			delete(traceback, by)
		case open && text != "" && !strings.HasPrefix(text, " "):
			delete(traceback, by)
		}
		noisy[i] = noisy[i] || isNoise(text)
	}
	var kept []string
	for i, line := range lines {
		if !noisy[i] {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return lines
	}
	return kept
}

// tagOrNone returns the rank that a line is tagged with, -1 without a tag, and the line as it is shown, without it.
func tagOrNone(line string) (by int, text string) {
	rank, text := CutRankTag(StripEscapes(line))
	if rank == nil {
		return -1, text
	}
	return *rank, text
}

// markTraceback marks the lines of a traceback, from its begin to its end. Others may have printed between them.
func markTraceback(noisy []bool, lines []string, begin, end, by int) {
	for i := begin; i < end; i++ {
		tag, text := tagOrNone(lines[i])
		noisy[i] = noisy[i] || tag == by && (strings.HasPrefix(text, " ") || i == begin)
	}
}

// launcherException is how a launcher written in Python ends when a process that it started has failed.
var launcherException = rx(`^[\w.]*(?:ChildFailedError|CalledProcessError)\b`)

// openMPINoise is a warning of the remote shell of Open MPI, and how often it has left out a message.
const openMPINoise = `^\[[^\]]*\] (?:plm:\w+: Warning: |\d+ more process(?:es)? ha(?:s|ve) sent help message |` +
	`Set MCA parameter "\w+help_aggregate")`

// noise are lines of which launchers and libraries print many.
var noise = rx(openMPINoise + `|^lockstep-raised |^frame #\d+: |^\[(?:mpiexec|proxy:\d+)@[^\]]*\] \w+ \(|^Failures:$|^ *<NO_OTHER_FAILURES>$|^Root Cause \(first observed failure\):$|^\[0\]:$|^  (?:time      |host      |rank      |exitcode  |error_file|traceback ): `)

func isNoise(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) || noise.MatchString(text)
}
