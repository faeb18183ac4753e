package lines

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCause: the mistake is found where it was made, whatever a parser says about what is behind it.
func TestCause(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"double quote":           {"a:\n  b: \"5.0\n  c: 1\n", "2:6+1 the quote `\"` is never closed"},
		"single quote":           {"a:\n  b: 'x\nc: 'y'\n", "2:6+1 the quote `'` is never closed"},
		"quote to the end":       {"a: \"x\n\n", "1:4+1 the quote `\"` is never closed"},
		"quote in a list":        {"a:\n  - \"x\n  - y\n", "2:5+1 the quote `\"` is never closed"},
		"quote in brackets":      {"a: [\"x, y]\nb: \"z\"\n", "1:5+1 the quote `\"` is never closed"},
		"bracket":                {"a: [x, y\nb: 1\n", "1:4+1 the bracket `[` is never closed"},
		"inner bracket":          {"a: {x: [1, 2}\nb: 1\n", "1:13+1 `[` in line 1 is closed with `}`"},
		"brace before a block":   {"a: {\n  x: 1\n  y: 2\nb: 1\n", "1:4+1 the bracket `{` is never closed"},
		"comma":                  {"a: [\"x\" \"y\"]\n", "1:7+1 a comma is missing behind this value"},
		"closing":                {"a: ]\n", "1:4+1 `]` closes nothing that is open"},
		"behind a quote":         {"a: \"x\" y z\n", "1:8+1 the value ends with the quote before this"},
		"behind a bracket":       {"a: [x] y\n", "1:8+1 the value ends with the bracket before this"},
		"escape":                 {"a: \"c:\\dir\"\n", "1:7+2 `\\d` means nothing in double quotes"},
		"no colon":               {"a:\n  b: 1\n  c 2\n  d: 3\n", "3:3+3 the line has no colon"},
		"no colon at first":      {"a 1\nb: 2\n", "1:1+3 the line has no colon"},
		"no colon below a key":   {"a:\n  b 1\n  c: 2\n", "2:3+3 the line has no colon"},
		"no colon of a parent":   {"a:\n  b: 1\nc\n  d: 1\n", "3:1+1 the line has no colon"},
		"no space":               {"a: 1\nb:2\nc: 3\n", "2:1+3 there is no space behind the colon"},
		"equals":                 {"a: 1\nb=2\n", "2:1+3 the line has `=` where a colon is expected"},
		"full-width colon":       {"a: 1\nb：2\n", "2:1+3 the colon is the character U+FF1A, which YAML does not know as one"},
		"no space after dash":    {"a:\n  - x\n  -y\n", "3:3+2 there is no space between the dash and the item"},
		"no dash":                {"a:\n  - x\n  y\n  - z\n", "3:3+1 the line is not an item of the list above: it has no dash"},
		"key without dash":       {"a:\n  - x: 1\n  x: 2\n", "3:3+1 `x` is in the column of a list, whose items begin with `- `"},
		"list behind its key":    {"a: - x\n   - y\n", "1:4+1 a list cannot begin behind its key"},
		"list below a value":     {"a: 1\n- x\n", "2:1+1 a list begins here, and `a` in line 1 has a value already"},
		"second colon":           {"a: b: c\n", "1:5+1 a value without quotes holds `:` and a blank, as if it were a key"},
		"at sign":                {"a: @b\n", "1:4+1 a value cannot begin with `@`"},
		"tab":                    {"a:\n\tb: 1\n", "2:1+1 the line is indented with a tab"},
		"deeper":                 {"a:\n  b: 1\n    c: 2\n  d: 3\n", "3:5+1 the indentation of `c` fits no key above: 4 spaces"},
		"shallower":              {"a:\n  b: 1\n c: 2\n", "3:2+1 the indentation of `c` fits no key above: 1 space"},
		"first of siblings":      {"m:\n  n: 1\na:\n   b: 1\n  c: 2\n", "4:4+1 the indentation of `b` is wrong: 3 spaces"},
		"first, too shallow":     {"m:\n  n: 1\na:\n b: 1\n  c: 2\n", "4:2+1 the indentation of `b` is wrong: 1 space"},
		"dash":                   {"a:\n  - x\n  - y\n - z\n", "4:2+1 the indentation of `-` fits no key above: 1 space"},
		"second document":        {"a: 1\n---\nb: \"x\n", "3:4+1 the quote `\"` is never closed"},
		"CR alone":               {"a: 1\rb 2\rc: 3", "2:1+3 the line has no colon"},
		"columns are characters": {"é: \"ü\" ö\n", "1:8+1 the value ends with the quote before this"},
	} {
		t.Run(name, func(t *testing.T) {
			f, found := FirstMistake(c.text)
			if got := fmt.Sprintf("%d:%d+%d %s", f.Line, f.Column, f.Length, f.Message); !found || got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if found && f.Help == "" {
				t.Error("no help")
			}
		})
	}
}

// TestNoCause: the YAML that people write is not a mistake.
func TestNoCause(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":       "",
		"mappings":      "# x\na:\n  b: 1 # y\n\n  c:\n    d: 'it''s'\ne: f\n",
		"lists":         "a:\n- b\n- c: 1\n  d: 2\ne:\n  - - f\n    - g\n  -\n    h: 1\n",
		"flow":          "a: [b, \"c]\", {d: 'e}'}, it's] # f\nb: {\n  c: 1,\n  d: [\n    1\n  ]\n}\n",
		"JSON":          "{\"a\": [1, {\"b\": \"x: y\"}],\n\"c\": null}\n",
		"long text":     "a: b c\n  d e\nf: \"g\n  h\"\ni: 'j\n\n  k'\nl:\n  m n\n",
		"blocks":        "a: |\n  b: c: d\n   - [\n  \"\ne: >-\n  f: g: h\ni:\n  - |\n    j: k: l\n  - m\n",
		"properties":    "a: &b !c d\ne: *b\nf: &g\n  h: 1\n",
		"quoted keys":   "\"a b\": 1\n'c': 2\n\"d\" : 3\n",
		"URLs":          "a: https://b.c:8080/d?e=f#g\nh: a:b\n",
		"documents":     "--- # x\na: 1\n...\n---\nb: 1\n",
		"directive":     "%YAML 1.2\n---\na: 1\n",
		"Windows":       "a:\r\n  b: \"c\"\r\n  d: 1\r\n",
		"empty values":  "a:\nb:\n  c:\n  d:\ne: 1\n",
		"comments":      "a:\n# x\n  b: 1\n      # y\n  c: 2\n",
		"item of items": "- a: 1\n  b:\n    - c\n- d\n",
	} {
		t.Run(name, func(t *testing.T) {
			if f, found := FirstMistake(text); found {
				t.Errorf("%d:%d %s", f.Line, f.Column, f.Message)
			}
		})
	}
}

// TestSpecs: what a file would define is seen through its mistakes.
func TestSpecs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":          {"apiVersion: x\nkind: Tenant\nmetadata:\n  name: a # b\nspec:\n  name: c\n", []string{"Tenant a 4:9+1"}},
		"several":        {"kind: Tenant\nmetadata: {name: a}\n---\n\n---\nkind: Cluster\nmetadata:\n  labels: {}\n  name: \"b\"\n", []string{"Tenant a 2:18+1", "Cluster b 9:9+3"}},
		"quotes":         {"kind: “Tenant”\nmetadata:\n  name: “a”\n", []string{"Tenant a 3:9+3"}},
		"open quote":     {"kind: \"Tenant\nmetadata:\n  name: 'a\n", []string{"Tenant a 3:9+2"}},
		"no colon":       {"kind Tenant\nmetadata\n  name a\n", []string{"Tenant a 3:8+1"}},
		"JSON":           {`{"kind": "Tenant", "metadata": {"name": "a"}, "spec": {"namespaces": ["x"]}}`, []string{"Tenant a 1:41+3"}},
		"other names":    {"kind: Tenant\nmetadata:\n  namespace: b\nspec:\n  displayName: c\n", []string{"Tenant  0:0+0"}},
		"nothing at all": {"[[[", []string{"  0:0+0"}},
		"empty":          {"\n---\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range Specs(c.text) {
				got = append(got, fmt.Sprintf("%s %s %d:%d+%d", s.Kind, s.Name, s.Place.Line, s.Place.Column, s.Place.Length))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLinear: a megabyte of anything is read in the time of a megabyte.
func TestLinear(t *testing.T) {
	for name, part := range map[string]string{
		"quotes": "\"", "lines with a quote": "a: \"\n", "brackets": "[", "dashes": "- ", "escapes": "\"\\", "single": "'", "colons": "a:b ",
		"deep": "a:\n", "flow quotes": "[\"\n", "items": "- a\n", "documents": "---\n", "kinds": "kind", "names": "metadata name ", "hashes": " #",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(part, 1<<20/len(part))
			began := time.Now()
			FirstMistake(text)
			FirstMistake("a: [" + text)
			FirstMistake("a: \"" + text)
			Specs(text)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	var staircase strings.Builder
	for i := range 1400 {
		fmt.Fprintf(&staircase, "%s- a:\n", strings.Repeat(" ", i))
	}
	FirstMistake(staircase.String())
}

// FuzzLines: no text makes the scanner panic, and what it finds is in the text.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "a:\n  - \"x\n", "a: [x, 'y\n  z']\n", "kind: Tenant\nmetadata: {name: x}\n", "a: |\n  x\nb c\n", "\"a\\", "- - a: b: c", "\r\r", "a: &", "é：\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := splitLines(text)
		if found, is := FirstMistake(text); is {
			if found.Line < 1 || found.Line > len(lines) || found.Column < 1 || found.Length < 1 || found.Column-1 > characterCount(lines[found.Line-1]) {
				t.Errorf("%+v", found)
			}
		}
		for _, s := range Specs(text) {
			if s.Line < 1 || s.Line > len(lines) || s.Place.Line > len(lines) {
				t.Errorf("%+v", s)
			}
		}
	})
}
