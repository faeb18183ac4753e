// Package docs holds the pages of its folder, so that programs can show them without a network.
package docs

import "embed"

// Files are the pages in Markdown, and their pictures.
//
//go:embed *.md *.svg alerts/*.md changes/*.md diagnostics/*.md failures/*.md guide/*.md reference/*.md
//go:embed guide/dashboard/*.png review/*.png
var Files embed.FS

// Page returns a page in Markdown by its path without ending, such as failures/OOMKilled, and whether there is one.
func Page(name string) (string, bool) {
	data, err := Files.ReadFile(name + ".md")
	return string(data), err == nil
}
