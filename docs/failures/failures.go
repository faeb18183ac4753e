// Package failures holds the generated pages about the reasons of failed jobs, so that programs can show them without a
// network.
package failures

import "embed"

//go:embed *.md
var pages embed.FS

// Page returns the page of a reason in Markdown, and whether there is one.
func Page(reason string) (string, bool) {
	data, err := pages.ReadFile(reason + ".md")
	return string(data), err == nil && reason != "README"
}
