package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes workflow commands of GitHub Actions, one per diagnostic, which GitHub shows beside the lines of a pull
// request (https://docs.github.com/actions/reference/workflow-commands-for-github-actions). GitHub shows ten errors and ten warnings
// per step; the others are in the log. Locate turns a path of a diagnostic into one that GitHub knows, relative to the checkout.
func (l *List) WriteGitHub(w io.Writer, locate func(string) string) error {
	out := bufio.NewWriter(w)
	var places Places
	for _, d := range l.Sorted() {
		Annotate(out, d.gitHubCommand(), places.PlaceOf(d.Span), string(d.Code), d.Explanation(relatedText), locate)
	}
	return out.Flush()
}

// Annotate writes one workflow command: error, warning or notice.
func Annotate(w *bufio.Writer, command string, at Place, title, text string, locate func(string) string) {
	fmt.Fprintf(w, "::%s %stitle=%s::%s\n", command, placeProperties(at, locate), escapeProperty(title), escapeData(text))
}

// gitHubCommand is how loud GitHub says it.
func (d *Diagnostic) gitHubCommand() string {
	if d.Waived != nil {
		return "notice"
	}
	return string(d.Severity)
}

// placeProperties returns the properties of a place, each with the comma after it; GitHub wants no empty ones.
func placeProperties(p Place, locate func(string) string) string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return "file=" + escapeProperty(locate(p.File)) + ","
	}
	return fmt.Sprintf("file=%s,line=%d,endLine=%d,col=%d,endColumn=%d,", escapeProperty(locate(p.File)), p.Line, p.Line, p.Column, p.EndColumn)
}

// Explanation returns the message with other places, notes and help in lines below it, for where there is no snippet. Link says how a
// place is named, given its number among the others.
func (d *Diagnostic) Explanation(link func(number int, r Related) string) string {
	lines := []string{escapeInvisible(d.Message)}
	for i, r := range d.Related {
		lines = append(lines, link(i+1, r))
	}
	if d.Waived != nil {
		lines = append(lines, "waived until "+escapeInvisible(d.Waived.Until+": "+d.Waived.Reason))
	}
	for _, note := range d.Notes {
		lines = append(lines, "note: "+escapeInvisible(note))
	}
	for _, help := range d.Help {
		lines = append(lines, "help: "+escapeInvisible(help))
	}
	return strings.Join(lines, "\n")
}

func relatedText(_ int, r Related) string { return escapeInvisible(r.Span.String() + ": " + r.Message) }

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// escapeData escapes the text of a workflow command, as @actions/core does.
func escapeData(text string) string { return dataEscapes.Replace(text) }

// escapeProperty escapes the value of a property, where colon and comma end it.
func escapeProperty(text string) string { return propertyEscapes.Replace(text) }
