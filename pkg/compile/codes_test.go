package compile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// documented is a code as its constant's comment describes it.
type documented struct {
	name, comment, example string
	code                   diag.Code
}

func documentedCodes(t *testing.T) []documented {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "diag/codes.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var codes []documented
	for _, declaration := range file.Decls {
		group, isGroup := declaration.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			comment, example, _ := strings.Cut(value.Doc.Text(), "Example:\n\n")
			codes = append(codes, documented{
				name: value.Names[0].Name, comment: comment, example: regexp.MustCompile(`(?m)^\t`).ReplaceAllString(example, ""),
				code: diag.Code(strings.Trim(value.Values[0].(*ast.BasicLit).Value, `"`)),
			})
		}
	}
	return codes
}

// TestCodeExamples compiles the example in the comment of each code beside the base, where it replaces the specs of its
// kinds, and expects the code and no other: documentation that cannot rot.
func TestCodeExamples(t *testing.T) {
	for _, code := range documentedCodes(t) {
		if code.example == "" {
			continue
		}
		t.Run(code.name, func(t *testing.T) {
			_, list := compile.Compile(exampleFiles(t, code.example), compile.Options{})
			if len(list.Sorted()) == 0 {
				t.Errorf("the example of %s has no mistake", code.code)
			}
			for _, d := range list.Sorted() {
				if d.Code != code.code {
					t.Errorf("the example of %s gives %s: %s", code.code, d.Code, d.Message)
				}
			}
		})
	}
}

func exampleFiles(t *testing.T, example string) fstest.MapFS {
	files := baseFiles(t)
	for name, file := range files {
		kind := regexp.MustCompile(`(?m)^kind: .*$`).FindString(string(file.Data))
		if strings.Contains(example, kind+"\n") {
			delete(files, name)
		}
	}
	files["catalog/example.yaml"] = &fstest.MapFile{Data: []byte(example)}
	return files
}

// TestCodes holds the style of codes: documented, numbered once, and shown by an example or by a case of the corpus.
func TestCodes(t *testing.T) {
	seen := map[diag.Code]string{}
	for _, code := range documentedCodes(t) {
		if !regexp.MustCompile(`^LS[1-6]\d{3}$`).MatchString(string(code.code)) {
			t.Errorf("%s is not LS and four digits: %s", code.name, code.code)
		}
		if other, taken := seen[code.code]; taken {
			t.Errorf("%s and %s are both %s", other, code.name, code.code)
		}
		seen[code.code] = code.name
		if !strings.HasPrefix(code.comment, code.name+" is ") {
			t.Errorf("the comment of %s does not say what it is", code.name)
		}
	}
}
