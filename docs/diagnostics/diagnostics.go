// Package diagnostics holds the generated pages about the codes, so that the program can show them without a network.
package diagnostics

import "embed"

//go:embed LS*.md
var pages embed.FS

// Page returns the page of a code in Markdown, and whether there is one.
func Page(code string) (string, bool) {
	data, err := pages.ReadFile(code + ".md")
	return string(data), err == nil
}
