package diagnose

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// DocsURL is the folder of the pages about reasons, one per reason: docs/failures.
const DocsURL = "https://lockstep.dev/failures/"

// PageURL is the address of the page about a reason, empty for one that has none.
func PageURL(reason mpi.Reason) string {
	if _, documented := ReasonDocOf(reason); !documented {
		return ""
	}
	return DocsURL + string(reason)
}

// remedyPrefix stands before what to do.
const remedyPrefix = ". What to do: "

// ParseCause takes apart what Text has put together: the message of a condition. A text that was not made by Text is a message.
func ParseCause(reason mpi.Reason, text string) Cause {
	c := Cause{Reason: reason}
	text, last, found := strings.Cut(text, "\n"+lastLines+"\n")
	if found {
		c.Lines = strings.Split(last, "\n")
	}
	c.Message = text
	// The words of others come first, and may have the prefix in them.
	if i := strings.LastIndex(text, remedyPrefix); i >= 0 {
		c.Message, c.Remedy = text[:i], text[i+len(remedyPrefix):]
	}
	return c
}
