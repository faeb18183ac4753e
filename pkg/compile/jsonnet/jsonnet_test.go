package jsonnet

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

func evaluate(root fs.FS, program string) Result {
	return InProcessEvaluator{}.Evaluate(source.Visible(root), []*source.File{source.NewFile("tenants/a.jsonnet", []byte(program))})[0]
}

// outcome is what people see of a result.
func outcome(program string, r Result) string {
	if r.Err != nil {
		return r.Err.Span(source.NewFile("tenants/a.jsonnet", []byte(program))).String() + " " + r.Err.Message
	}
	var all []string
	for _, d := range r.Documents {
		all = append(all, d.Path+strings.Join(strings.Fields(d.JSON), ""))
	}
	return strings.Join(all, " ")
}

func TestEvaluate(t *testing.T) {
	root := fstest.MapFS{
		"tenants/lib.libsonnet": {Data: []byte("{ team(name):: { name: name }, bad: error 'no',\n  worse: 1 + {}.x }")},
		"lib/text.txt":          {Data: []byte("a\nb")},
		".git/config":           {Data: []byte("token")},
		"tenants/bad.libsonnet": {Data: []byte("{\n  a: }")},
		"tenants/self.jsonnet":  {Data: []byte("import 'self.jsonnet'")},
	}
	for name, c := range map[string]struct{ reason, program, want string }{
		"object":      {"one document", `{a: 1, b: [true, null, 'x']}`, `{"a":1,"b":[true,null,"x"]}`},
		"array":       {"several", `[{a: 1}, null, {b: 2}]`, `/0{"a":1} /2{"b":2}`},
		"null":        {"none", `null`, ``},
		"mark":        {"a byte order mark is no error", "\ufeff{}", `{}`},
		"import":      {"beside the file", `(import 'lib.libsonnet').team('x')`, `{"name":"x"}`},
		"up":          {"elsewhere below the root", `{a: importstr '../lib/text.txt', b: importbin '../lib/text.txt'}`, `{"a":"a\nb","b":[97,10,98]}`},
		"outside":     {"not above it", `import '../../x.libsonnet'`, "tenants/a.jsonnet:1:1 cannot be evaluated: cannot import `../../x.libsonnet`: it is not below the root of the repository"},
		"absolute":    {"nor by an absolute path", `importstr '/etc/passwd'`, "tenants/a.jsonnet:1:1 cannot be evaluated: cannot import `/etc/passwd`: the path must be relative to the file, with slashes"},
		"hidden":      {"nor credentials", `importstr '../.git/config'`, "tenants/a.jsonnet:1:1 cannot be evaluated: cannot import `.git/config`: hidden files are not read: name a file without a part that begins with `.`"},
		"missing":     {"a path that leads nowhere", `import 'x'`, "tenants/a.jsonnet:1:1 cannot be evaluated: cannot import `tenants/x`: file does not exist"},
		"folder":      {"a folder", `importstr '../lib'`, "tenants/a.jsonnet:1:1 cannot be evaluated: cannot import `lib`: lib: not a regular file"},
		"syntax":      {"a mistake of the program", "{\n  a: ,\n}", "tenants/a.jsonnet:2:6 not valid Jsonnet: Unexpected: \",\" while parsing terminal"},
		"in a lib":    {"a mistake of a library is named with its place", `import 'bad.libsonnet'`, "tenants/bad.libsonnet:2:6 not valid Jsonnet: Unexpected: \"}\" while parsing terminal"},
		"error":       {"an error is where it is raised", `(import 'lib.libsonnet').bad`, "tenants/lib.libsonnet:1:37 cannot be evaluated: no"},
		"field":       {"columns count characters", "{ 'ä': {}.x }", "tenants/a.jsonnet:1:8 cannot be evaluated: Field does not exist: x"},
		"std":         {"a mistake in a call of the library is where the call is", `{ a: std.length(1) }`, "tenants/a.jsonnet:1:6 cannot be evaluated: Unexpected type number"},
		"extVar":      {"nothing comes from outside", `std.extVar('HOME')`, "tenants/a.jsonnet:1:1 cannot be evaluated: Undefined external variable: HOME"},
		"native":      {"no native functions", `std.native('x')()`, "tenants/a.jsonnet:1:1 cannot be evaluated: Unexpected type null, expected function"},
		"recursion":   {"deep calls end", `local f(n) = 1 + f(n + 1); f(0)`, "tenants/a.jsonnet:1:18 calls are nested more than 200 deep"},
		"cycle":       {"an import of itself ends", `import 'self.jsonnet'`, "tenants/self.jsonnet:1:1 calls are nested more than 200 deep"},
		"function":    {"a function is no document", `function(x) x`, "tenants/a.jsonnet cannot be evaluated: Missing argument: x"},
		"too large":   {"output is limited", `local f(s, n) = if n == 0 then s else f(s + s, n - 1); f('x', 23)`, "tenants/a.jsonnet the program yields more than 4194304 bytes of JSON"},
		"this file":   {"paths are those of the repository", `{a: std.thisFile}`, `{"a":"tenants/a.jsonnet"}`},
		"trace":       {"std.trace prints nothing", `std.trace('x', {})`, `{}`},
		"parse depth": {"deep nesting is no crash", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "tenants/a.jsonnet:1:1 x"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "parse depth" {
				evaluate(root, c.program)
				return
			}
			if diff := cmp.Diff(c.want, outcome(c.program, evaluate(root, c.program))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestLinks: a link that leads out of the repository is no way out.
func TestLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	folder := t.TempDir()
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if r := evaluate(root.FS(), `importstr '../link'`); r.Err == nil || !strings.Contains(r.Err.Message, "cannot import `link`") {
		t.Errorf("got %+v", r)
	}
}

// TestLiterals: what is written literally has its place, through everything that only combines.
func TestLiterals(t *testing.T) {
	program := `local base = { c: 1, d: { e: 2 } };
(base + {
  "a/b": [1, {x: 2}],
  d+: { f: 3 },
  local y = 1,
  c: 4,
}) { g: std.length('x') }
`
	want := map[string][2]string{
		"/a~1b": {"3:3-8", "3:10-21"}, "/a~1b/0": {"", "3:11-12"}, "/a~1b/1": {"", "3:14-20"}, "/a~1b/1/x": {"3:15-16", "3:18-19"},
		"/c": {"6:3-4", "6:6-7"}, "/d": {"4:3-4", "4:7-15"}, "/d/e": {"1:27-28", "1:30-31"}, "/d/f": {"4:9-10", "4:12-13"},
		"/g": {"7:6-7", "7:9-24"},
	}
	got := map[string][2]string{}
	for path, l := range evaluate(fstest.MapFS{}, program).Literals {
		if path != "" {
			got[path] = [2]string{short(l.Key), short(l.Value)}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func short(r Range) string {
	if r.Line == 0 {
		return ""
	}
	file := source.NewFile("", []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 99)))
	span := r.Span(file)
	return strings.TrimPrefix(span.String(), ":") + "-" + itoa(span.Column+span.Length)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
