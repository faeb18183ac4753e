package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// cases hold what is formatted and how. Each is formatted once more by the test.
var cases = map[string]struct{ reason, in, want string }{
	"order": {"keys have the order of their types, comments move with them",
		"kind: Tenant\nspec:\n  quota: {cpu: 1}\n  # who\n  people: {editors: [e]} # them\napiVersion: lockstep.dev/v1alpha1\nmetadata: {name: a}\n",
		"apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata: {name: a}\nspec:\n  # who\n  people: {editors: [e]} # them\n  quota: {cpu: 1}\n"},
	"top": {"comments at the top stay there",
		"# yaml-language-server: x\n\n# license\nkind: Tenant\napiVersion: a\n",
		"# yaml-language-server: x\n\n# license\napiVersion: a\nkind: Tenant\n"},
	"unknown": {"unknown keys come last, in their order", "z: 1\nkind: Tenant\ny: 2\napiVersion: a\n", "apiVersion: a\nkind: Tenant\nz: 1\ny: 2\n"},
	"free":    {"keys of maps stay where they are", "kind: Cluster\nspec: {components: [{values: {b: 1, a: 2}}]}\n", "kind: Cluster\nspec: {components: [{values: {b: 1, a: 2}}]}\n"},
	"indent": {"two spaces, lists indented", "a:\n    b:\n    - c\n    -   d: e\n        f: g\n    -\n        - h\n",
		"a:\n  b:\n    - c\n    - d: e\n      f: g\n    -\n      - h\n"},
	"quotes": {"only where they are needed", "a: \"b\"\nc: '1'\nd: \"yes\"\ne: 'x: y'\nf: \"a\\tb\"\ng: 'it''s'\nh: \"\"\ni: '#x'\n\"j\": 'say \"no\"'\nk: '16Gi'\nl: \"1.36\"\nm: 'null'\nn: '0x1F'\no: \"ä\"\np: ' x'\n",
		"a: b\nc: \"1\"\nd: \"yes\"\ne: \"x: y\"\nf: \"a\\tb\"\ng: it's\nh: \"\"\ni: \"#x\"\nj: say \"no\"\nk: 16Gi\nl: \"1.36\"\nm: \"null\"\nn: \"0x1F\"\no: ä\np: \" x\"\n"},
	"documents": {"one marker between documents, none elsewhere", "---\n# x\na: 1\n---\n---\n# y\nb: 2\n...\n", "# x\na: 1\n---\n# y\nb: 2\n"},
	"marker":    {"a comment before a marker belongs to the document before it", "a: 1\n# end of a\n---\n# of b\nb: 2\n--- # of c\nc: 3\n", "a: 1\n# end of a\n---\n# of b\nb: 2\n---\n# of c\nc: 3\n"},
	"blank":     {"no blank line twice, none at the beginning of a block", "a:\n\n  b: 1\n\n\n\n  # c\n\n  d: 2\n\n\n", "a:\n  b: 1\n\n  # c\n\n  d: 2\n"},
	"flow": {"long flow collections and those with comments are written out",
		"a: [b, # c\n  d]\ne: [" + strings.Repeat("abcdefghij, ", 9) + "x]\nf: {\n  g: h,\n  i: [j]\n}\n",
		"a:\n  - b # c\n  - d\ne:\n" + strings.Repeat("  - abcdefghij\n", 9) + "  - x\nf: {g: h, i: [j]}\n"},
	"foot": {"comments at the end of a block stay at its end", "a:\n  b:\n    c: 1\n    # end of b\n  # end of a\nd: 2\n# end\n", "a:\n  b:\n    c: 1\n    # end of b\n  # end of a\nd: 2\n# end\n"},
	"items": {"comments of items", "a:\n# one\n- b: 1 # two\n  # three\n  c: 2\n- # four\n  d: 3\n# five\n",
		"a:\n  # one\n  - b: 1 # two\n    # three\n    c: 2\n  # four\n  - d: 3\n# five\n"},
	"block scalars": {"their lines are no comments", "a: | # x\n   b\n    # c\n\n   d\n# e\nf: >-\n  g\n  h\ni: |+\n  j\n\nk: |2\n    l\n",
		"a: | # x\n  b\n   # c\n\n  d\n# e\nf: |-\n  g h\ni: |+\n  j\n\nk: |2\n    l\n"},
	"strange places": {"comments in the middle of a value", "a: # 1\n  # 2\n  b\nc:\n  # 3\n  - # 4\n    # 5\n    d\n", "# 2\na: b # 1\nc:\n  # 3\n  # 5\n  - d # 4\n"},
	"anchors":        {"an alias stays behind its anchor", "kind: Tenant\nspec: &s {a: 1}\nmetadata: *s\nx: &y\n  z: 1\n", "kind: Tenant\nspec: &s {a: 1}\nmetadata: *s\nx: &y\n  z: 1\n"},
	"windows":        {"line ends and byte order mark", "\ufeff# x\r\na: 1\r\n\r\nb: 'c'\r\n", "# x\na: 1\n\nb: c\n"},
	"empty":          {"nothing but comments", "# a  \r\n\r\n# b", "# a\n# b\n"},
	"blank at top":   {"no blank line at the top of a file", "\n0:\n#0\n 0", "#0\n0: 0\n"},
	"null":           {"no value stays no value", "a:\nb: ~\nc:\n  - \n  - null\n", "a:\nb: ~\nc:\n  -\n  - null\n"},
	"lines":          {"values of several lines", "a: b\n  c\nd: 'e\n\n  f'\n", "a: b c\nd: \"e\\nf\"\n"},
	"strings":        {"plain strings stay plain", "a: yes\nb: 0o7\nc: on\nd: 1_0\n", "a: yes\nb: 0o7\nc: on\nd: 1_0\n"},
}

func TestFormat(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := format(t, c.in)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if again := format(t, got); again != got {
				t.Errorf("formatted again (-once +twice):\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func format(t *testing.T, text string) string {
	t.Helper()
	out, err := File(source.NewFile("a.yaml", []byte(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(out)
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ name, in, want string }{
		"syntax":      {"a.yaml", "a: [b\n", "a.yaml:2:1: "},
		"tag":         {"a.yaml", "a: !x b\n", "a.yaml:1:4: the tag `!x` is not used in specs: remove it"},
		"key":         {"a.yaml", "? [a]\n: b\n", "a.yaml:1:3: a key must be a string"},
		"list":        {"a.yaml", "- a\n", "a.yaml:1:1: a document must be a mapping"},
		"encoding":    {"a.yaml", "a: \xff\n", "the file is not UTF-8"},
		"jsonnet":     {"a.jsonnet", "{ a: }", "a.jsonnet:1:6"},
		"parentheses": {"a.jsonnet", strings.Repeat("(", maxProgram+1), "the file is larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := File(source.NewFile(c.name, []byte(c.in)))
			if err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestJsonnet(t *testing.T) {
	out, err := File(source.NewFile("a.libsonnet", []byte("// a\n{b:1, 'c':\"d\", # e\n}")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("// a\n{\n  b: 1,\n  c: 'd',  // e\n}\n", string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func seeds(t testing.TB) []string {
	var all []string
	for _, c := range cases {
		all = append(all, c.in, c.want)
	}
	for _, pattern := range []string{"../testdata/base/*/*.yaml", "../testdata/errors/*.txtar", "../../../catalog/*/*.yaml", "../../../tenants/*.yaml", "../../../overlays/*/cluster.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for part := range strings.SplitSeq(string(data), "-- \n") {
				all = append(all, part)
			}
		}
	}
	return all
}

// FuzzYAML: formatting twice is formatting once, and nothing that File accepts is lost: it checks values and comments itself, so a
// refusal for that reason is a finding too.
func FuzzYAML(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := File(source.NewFile("a.yaml", []byte(text)))
		if err != nil {
			if strings.Contains(err.Error(), errLossy.Error()) {
				t.Fatalf("%v: %q", err, text)
			}
			return
		}
		twice, err := File(source.NewFile("a.yaml", once))
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%v\nin %q\nonce %q\ntwice %q", err, text, once, twice)
		}
	})
}

// FuzzJsonnet: the same for programs: what is formatted is stable, and nothing crashes.
func FuzzJsonnet(f *testing.F) {
	f.Add("{ a: 1, // b\n  'c': \"d\", }")
	f.Add("local a = import 'b.libsonnet';\n/* x */ [a { b+: 1 } for b in [1,2] if true]")
	f.Add("{\n\n\n  # x\n a(b):: |||\n  y\n|||,}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		once, err := File(source.NewFile("a.jsonnet", []byte(text)))
		if err != nil {
			return
		}
		if twice, err := File(source.NewFile("a.jsonnet", once)); err != nil || string(twice) != string(once) {
			t.Fatalf("%v\nin %q\nonce %q\ntwice %q", err, text, once, twice)
		}
	})
}

// TestComments puts a comment at every place of real specs, at every indentation: each is kept, and formatting twice is formatting once.
func TestComments(t *testing.T) {
	var all []string
	for _, name := range []string{"items", "foot", "flow", "block scalars", "documents", "anchors", "null"} {
		all = append(all, cases[name].in)
	}
	for _, pattern := range []string{"../testdata/base/*/*.yaml", "../testdata/base/*/*/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
	}
	tried := 0
	for _, text := range all {
		lines := strings.Split(text, "\n")
		for i := range lines {
			for _, added := range []string{lines[i] + " # X", "# X\n" + lines[i], "  # X\n" + lines[i], "\n    # X\n\n" + lines[i], "          # X\n      # Y\n" + lines[i]} {
				changed := append(append(append([]string{}, lines[:i]...), added), lines[i+1:]...)
				checkComments(t, strings.Join(changed, "\n"))
				tried++
			}
		}
	}
	t.Logf("%d places", tried)
}

func checkComments(t *testing.T, text string) {
	once, err := File(source.NewFile("a.yaml", []byte(text)))
	if err != nil {
		if strings.Contains(err.Error(), errLossy.Error()) {
			t.Errorf("%v:\n%s", err, text)
		}
		return // the comment made it invalid
	}
	if strings.Count(string(once), "# X") != strings.Count(text, "# X") {
		t.Errorf("comments were lost:\n%s\nof\n%s", once, text)
	}
	twice, err := File(source.NewFile("a.yaml", once))
	if err != nil || string(twice) != string(once) {
		t.Errorf("%v, of\n%s\nonce\n%s\ntwice\n%s", err, text, once, twice)
	}
}
