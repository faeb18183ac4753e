package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"lockstep.dev/lockstep/docs"
)

// markdown makes pages of docs. Headings have names, so that links lead to them.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

var docPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}} – Lockstep</title><style>
:root { color-scheme: light dark }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
pre { white-space: pre-wrap; overflow-x: auto; padding: .75rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent) }
td, th { text-align: left; padding: .25rem 1rem .25rem 0; vertical-align: top }
nav a { margin-right: 1rem } img { max-width: 100% }
</style></head><body><nav><a href="/">Jobs</a><a href="/docs/">Docs</a></nav><main>{{.Body}}</main></body></html>
`))

// serveDocs answers with a page of docs, by its path with or without `.md`, or with a picture.
func serveDocs(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(strings.Trim(strings.TrimPrefix(r.URL.Path, "/docs"), "/"), ".md")
	source, known := docs.Page(name)
	if !known {
		name = path.Join(name, "README")
		source, known = docs.Page(name)
	}
	if name == "README" {
		source, known = contents(), true
	}
	if !known {
		http.StripPrefix("/docs", http.HandlerFunc(servePicture)).ServeHTTP(w, r)
		return
	}
	source = withoutComment(source)
	root := markdown.Parser().Parse(text.NewReader([]byte(source)))
	resolveLinks(root, path.Dir(name))
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, []byte(source), root); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	html := strings.ReplaceAll(body.String(), "<pre>", `<pre tabindex="0">`) // which the keyboard can scroll
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writePage(w, titleOf(source), template.HTML(html)) //nolint:gosec // ours
}

func writePage(w io.Writer, title string, body template.HTML) {
	_ = docPage.Execute(w, map[string]any{"Title": title, "Body": body}) // a browser that went away needs no answer
}

func servePicture(w http.ResponseWriter, r *http.Request) {
	if kind := path.Ext(r.URL.Path); kind != ".png" && kind != ".svg" {
		http.NotFound(w, r)
		return
	}
	http.FileServerFS(docs.Files).ServeHTTP(w, r)
}

// resolveLinks makes the links of a page in a folder absolute. Links to files that are not here become plain text.
func resolveLinks(root ast.Node, folder string) {
	var missing []ast.Node
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var target *[]byte
		switch n := n.(type) {
		case *ast.Link:
			target = &n.Destination
		case *ast.Image:
			target = &n.Destination
		}
		if !entering || target == nil {
			return ast.WalkContinue, nil
		}
		file, fragment, _ := strings.Cut(string(*target), "#")
		if file == "" || strings.Contains(file, ":") {
			return ast.WalkContinue, nil
		}
		file = path.Join(folder, file)
		if !isFile(file) {
			missing = append(missing, n)
			return ast.WalkContinue, nil
		}
		*target = []byte("/docs/" + strings.TrimSuffix(file, ".md"))
		if fragment != "" {
			*target = append(*target, "#"+fragment...)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range missing {
		for n.HasChildren() {
			n.Parent().InsertBefore(n.Parent(), n, n.FirstChild())
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

func isFile(name string) bool {
	info, err := fs.Stat(docs.Files, name)
	return err == nil && !info.IsDir()
}

// contents lists the pages. Folders of many small pages have a page that lists them.
func contents() string {
	var b strings.Builder
	b.WriteString("# Docs\n\n")
	for _, part := range []struct{ heading, pattern string }{
		{"Guides", "guide/*.md"}, {"Failures, alerts, diagnostics, changes", "*/README.md"}, {"Reference", "reference/*.md"},
		{"More", "*.md"},
	} {
		fmt.Fprintf(&b, "## %s\n\n", part.heading)
		files, _ := fs.Glob(docs.Files, part.pattern) // a constant pattern
		for _, file := range files {
			page, _ := docs.Page(strings.TrimSuffix(file, ".md"))
			fmt.Fprintf(&b, "- [%s](%s)\n", titleOf(withoutComment(page)), file)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// withoutComment cuts off the first line of a generated page, which is for authors.
func withoutComment(page string) string {
	if strings.HasPrefix(page, "<!--") {
		_, page, _ = strings.Cut(page, "-->\n")
	}
	return strings.TrimLeft(page, "\n")
}

func titleOf(page string) string {
	first, _, _ := strings.Cut(page, "\n")
	return strings.TrimLeft(first, "# ")
}
