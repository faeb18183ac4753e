package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// docComments are the doc comments of a package's types and fields.
type docComments struct {
	types map[string]string
	// fields are by type, then by name.
	fields map[string]map[string]string
}

// readComments reads the Go files of a folder.
func readComments(folder fs.FS) (*docComments, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	c := &docComments{types: map[string]string{}, fields: map[string]map[string]string{}}
	for _, entry := range entries {
		if path.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		source, err := fs.ReadFile(folder, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), source, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		c.add(file)
	}
	return c, nil
}

func (c *docComments) add(file *ast.File) {
	for _, declaration := range file.Decls {
		group, isGroup := declaration.(*ast.GenDecl)
		if !isGroup || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			named := spec.(*ast.TypeSpec)
			c.types[named.Name.Name] = joinCommentLines(group.Doc) + joinCommentLines(named.Doc)
			if structure, isStruct := named.Type.(*ast.StructType); isStruct {
				c.fields[named.Name.Name] = fieldComments(structure)
			}
		}
	}
}

func fieldComments(structure *ast.StructType) map[string]string {
	fields := map[string]string{}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			fields[name.Name] = joinCommentLines(field.Doc)
		}
	}
	return fields
}

// joinCommentLines joins the lines of a comment. Paragraphs stay apart.
func joinCommentLines(doc *ast.CommentGroup) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(doc.Text()), "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(paragraph), " "))
	}
	return strings.Join(paragraphs, "\n\n")
}

// word is a name as Go spells fields.
var word = regexp.MustCompile(`(^| )([A-Z][A-Za-z]*)\b`)

// fieldNamesAsKeys puts keys, as specs spell them, in the place of the names of Go's fields: at the beginning, where comments name what they
// are about, and inside sentences that name another field. Acronyms inside sentences are words.
func fieldNamesAsKeys(comment string, keys map[string]string) string {
	about, _, _ := strings.Cut(comment, " ")
	var b strings.Builder
	done := 0
	for _, m := range word.FindAllStringSubmatchIndex(comment, -1) {
		start, name := m[4], comment[m[4]:m[5]]
		key, known := keys[name]
		inside := start > 1 && !strings.ContainsAny(comment[start-2:start-1], ".:!?\n") && name != strings.ToUpper(name) && name != about
		if !known || start > 0 && !inside {
			continue
		}
		b.WriteString(comment[done:start] + "`" + key + "`")
		done = m[5]
	}
	return b.String() + comment[done:]
}
