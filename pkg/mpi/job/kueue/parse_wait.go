package kueue

import (
	"regexp"
	"strconv"
	"strings"
)

// ParseWait returns what a message of the condition Suspended says of the wait in a queue, or nothing: `waits in queue …`.
func ParseWait(message string) string {
	before, wait, found := strings.Cut(message, WaitPrefix)
	if !found {
		return ""
	}
	return strings.TrimPrefix(message[len(before):len(message)-len(wait)], "; ") + wait
}

var saidPosition = regexp.MustCompile("^waits in queue `[^`]*` at position ([0-9]+) of (?:more than )?([0-9]+)")

// ParsePosition reads the position, from 1, and the length of the queue in what is said of a wait; 0 where it does not say. A length of 20 may be
// more: positions are told of the head of a queue only.
func ParsePosition(wait string) (position, length int) {
	found := saidPosition.FindStringSubmatch(wait)
	if found == nil {
		return 0, 0
	}
	// Digits, and of more than an int has there is no position.
	position, _ = strconv.Atoi(found[1])
	length, _ = strconv.Atoi(found[2])
	return position, length
}
