package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// write renders a tree with types and places, so that two readings can be compared.
func write(b *strings.Builder, n *Node, depth int) {
	fmt.Fprintf(b, "%*s%d %d %v %q %s", depth, "", n.Kind, n.Tag, n.At, n.Value, n.Foreign)
	if n.Kind == Alias || depth > 60 {
		b.WriteString("\n")
		return
	}
	b.WriteString("\n")
	isKey := n.Kind == Mapping
	for child := n.First; child != nil; child = child.Next {
		if isKey && child.Tag != Merge && child.Tag != Foreign && child.Kind == Scalar {
			fmt.Fprintf(b, "%*skey %v %q\n", depth, "", child.At, child.Value) // a key is text, whatever it looks like
		} else {
			write(b, child, depth+1)
		}
		isKey = n.Kind == Mapping && !isKey
	}
}

func render(documents []*Node) string {
	var b strings.Builder
	for _, document := range documents {
		b.WriteString("---\n")
		write(&b, document, 0)
	}
	return b.String()
}

// compare reads a text both ways. It returns whether the text is plain; if it is, the library must read the same.
func compare(t *testing.T, data []byte) bool {
	file := source.NewFile("f.yaml", data)
	var nodes nodeArena
	documents, ok := readPlain(file.Text(), &nodes)
	if !ok {
		return false
	}
	got := render(documents)
	var r Reader
	expected, err := r.readWithLibrary(file)
	if err != nil {
		t.Fatalf("the library refuses plain text: %v\n%s", err, data)
	}
	if want := render(expected); got != want {
		t.Fatalf("plain:\n%s\nlibrary:\n%s\nof %q", got, want, data)
	}
	return true
}

func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, pattern := range []string{"../../testdata/base/*/*.yaml", "../../testdata/errors/*.txtar", "../../../../catalog/*/*.yaml", "../../../../catalog/*.yaml", "../../../../tenants/*.yaml", "../../../../overlays/*/cluster.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, data)
		}
	}
	return all
}

// plainTexts are read without the library.
var plainTexts = []string{
	"a: b\n", "a: b", "---\na: b\n", "# c\n\n---\n# d\na: b # c\n---\nc: d\n", "a:\n- b\n- c: d\n  e: f\n-\n  g: h\ni: 1\n",
	"a:\n  - b\n\n  # c\n  -   d: e\n      f: [1, 2.5, \"x y\", 'z', -3, a b, {k: v, l: [m]}]\n", "a: []\nb: {}\nc: [ ]\nd: { a: b , c: d }\n",
	"a: 16Gi\nb: 500m\nc: 10.0.0.0/8\nd: 1e3\ne: 5.0.7\nf: 2027-01-01\ng: true\nh: null\ni: 0x1f\nj: 1_000\nk: 010\nl: .5\nm: yes\nn: 0\no: 08\np: 1.30\n",
	"a: http://x.example/y#z\nb: x:y\nc: it's \"fine\" [here] {too}, & *so* | > on?\n", "a: -b\nb: -1\nc: -5Gi\nd: +5\n",
	"a: b\n   \n# end\n", "a:\n  b:\n    c:\n      d: e\n  f: g\nh: i\n", "a: \"\"\nb: ''\n", "team-1/x_y.z: v\n1: 2\ntrue: x\n",
}

// notPlain are texts for the library.
var notPlain = []string{
	"", "a", "a:\n", "- a\n", "a: |\n  b\n", "a: &x b\n", "a: *x\n", "a: !t b\n", "a: b\n c\n", "a:\n  b\n", "a: b: c\n", "? a\n: b\n", "a: \"\\n\"\n",
	"a: 'it''s'\n", "a: [b,\n c]\n", "a: [b: c]\n", "a: {b}\n", "\ta: b\n", "a: ä\n", "a: b\r\n", "%YAML 1.2\n---\na: b\n", "a: b\n...\n", "--- a\n", " a: b\n",
	"a: b\n  c: d\n", "a:\n    b: c\n  d: e\n", "a: b\n- c\n", "a: @x\n", "a: `x\n", "a: %x\n", "a: b #c\n d\n", "a: [a,]\n", "a: [,]\n", "<<: a\n", "a:b\n",
	"a: - b\n", "- - a\n", "a: ? b\n", "a: [?x]\n", "a: [a?]\n", "a: \"b\" c\n", "a: b:\n", "a: {b:c}\n", "a: x:\n", "---\n", "---\n---\na: b\n", "a: b\n---\n",
}

func TestPlain(t *testing.T) {
	for _, text := range plainTexts {
		if !compare(t, []byte(text)) {
			t.Errorf("not plain: %q", text)
		}
	}
	for _, text := range notPlain {
		if compare(t, []byte(text)) {
			t.Errorf("plain: %q", text)
		}
	}
	plain, all := 0, 0
	for _, seed := range seeds(t) {
		for _, part := range strings.SplitAfter(string(seed), "-- \n") {
			all++
			if compare(t, []byte(part)) {
				plain++
			}
		}
	}
	t.Logf("%d of %d files are plain", plain, all)
}

// FuzzPlain: whatever is read as plain YAML, the library reads in the same way.
func FuzzPlain(f *testing.F) {
	for _, text := range append(plainTexts, notPlain...) {
		f.Add([]byte(text))
	}
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if utf8.Valid(data) && len(data) < 1<<14 {
			compare(t, data)
		}
	})
}

// BenchmarkYAML compares both readers on a real spec.
func BenchmarkYAML(b *testing.B) {
	data, err := os.ReadFile("../../../../tenants/team-nlp.yaml")
	if err != nil {
		b.Fatal(err)
	}
	file := source.NewFile("t.yaml", data)
	var r Reader
	for name, read := range map[string]func(*source.File) ([]*Node, error){"plain": r.YAML, "library": r.readWithLibrary} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r.nodes.reset()
				if documents, err := read(file); err != nil || len(documents) != 1 {
					b.Fatal(err)
				}
			}
		})
	}
}
