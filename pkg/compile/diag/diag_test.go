package diag

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

func TestNearest(t *testing.T) {
	candidates := []string{"quota", "namespaces", "network", "podSecurity"}
	cases := map[string]struct{ reason, got, want string }{
		"swap":     {"two letters swapped is one mistake", "qouta", "quota"},
		"missing":  {"a letter missing", "namespace", "namespaces"},
		"case":     {"letters of another case do not count", "PODSECURITY", "podSecurity"},
		"far":      {"another word is not suggested", "colour", ""},
		"empty":    {"nothing is near nothing", "", ""},
		"too long": {"a much longer word is not suggested", "quotation marks", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := Nearest(c.got, candidates); ok != (c.want != "") || ok && got != c.want {
				t.Errorf("%s: got %q %v, want %q", c.reason, got, ok, c.want)
			}
		})
	}
}

// TestWriteText: carets stand under their token behind tabs, colours do not move them, and one finding that two clusters
// share is printed once.
func TestWriteText(t *testing.T) {
	file := source.NewFile("a.yaml", []byte("a:\n\tkey: value\n"))
	list := &List{}
	for range 2 {
		list.Warnf(DeprecatedRuntime, file.Token(2, 7, 5), "no `value`").Notef("a fact").Helpf("an action")
	}
	if list.Warnings() != 1 || len(list.Records()) != 1 || list.Errors() != 0 {
		t.Errorf("%d warnings and %d errors are counted, %d shown; want 1, 0 and 1", list.Warnings(), list.Errors(), len(list.Records()))
	}
	want := "warning[LS4017]: no `value`\n --> a.yaml:2:7\n  |\n2 | \tkey: value\n  | \t     ^^^^^\n  = note: a fact\n  = help: an action\n\n1 warning\n"
	var plain, colourful strings.Builder
	if err := list.WriteText(&plain, Palette{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, plain.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := list.WriteText(&colourful, Colours()); err != nil {
		t.Fatal(err)
	}
	p := Colours()
	if diff := cmp.Diff(want, strings.NewReplacer(p.Error, "", p.Warning, "", p.Place, "", p.Help, "", p.Reset, "").Replace(colourful.String())); diff != "" {
		t.Errorf("without colours (-want +got):\n%s", diff)
	}
}
