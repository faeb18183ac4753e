package diag

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestFold: many findings of one cause are one that tells of the others; as many as can be read stay.
func TestFold(t *testing.T) {
	file := source.NewFile("a.yaml", []byte(strings.Repeat("k: v\n", 40)))
	place := func(line int) source.Span { return file.Token(line, 1, 1) }
	cases := map[string]struct {
		reason string
		find   func(list *List, i int)
		n      int
		// records is how many the list has, shown how many a person reads.
		records, shown int
		note           string
	}{
		"few": {"what can be read is not folded", func(l *List, i int) { l.Errorf(UnknownKey, place(1), "no %d", i) }, 5, 5, 5, ""},
		"one place": {"a patch that all tenants suffer from", func(l *List, i int) { l.Errorf(UnknownKey, place(1), "no %d", i) }, 9, 1, 1,
			"the same is found 8 more times, for example: no 1; no 2"},
		"one message": {"a name that nobody has", func(l *List, i int) { l.Errorf(UnknownKey, place(i+1), "no") }, 9, 9, 1,
			"the same is found at 8 more places, for example a.yaml:2:1 and a.yaml:3:1; the format json has them all"},
		"one other place": {"a runtime that nobody can use", func(l *List, i int) { l.Errorf(UnknownKey, place(i+1), "no %d", i).Also(place(40), "this") }, 9, 9, 1,
			"the same is found at 8 more places, for example a.yaml:2:1 and a.yaml:3:1; the format json has them all"},
		"nothing in common": {"mistakes of one kind", func(l *List, i int) { l.Errorf(UnknownKey, place(i+1), "no %d", i) }, 9, 9, 9, ""},
		"another kind": {"codes differ", func(l *List, i int) {
			l.Errorf([]Code{UnknownKey, NothingRead}[i%2], place(1), "no %d", i)
		}, 10, 10, 10, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list := &List{}
			for i := range c.n {
				c.find(list, i)
			}
			var b strings.Builder
			if err := list.WriteText(&b, Palette{}); err != nil {
				t.Fatal(err)
			}
			got := []int{list.Errors(), len(list.Records()), strings.Count(b.String(), "error[")}
			if diff := cmp.Diff([]int{c.records, c.records, c.shown}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if !strings.Contains(b.String(), c.note) || c.note == "" && strings.Contains(b.String(), "the same is found") {
				t.Errorf("%s: want %q in\n%s", c.reason, c.note, b.String())
			}
		})
	}
}

// TestFoldTwice: asking twice gives the same, and a waived finding does not vanish among others.
func TestFoldTwice(t *testing.T) {
	file := source.NewFile("a.yaml", []byte("k: v\n"))
	list := &List{}
	for i := range 8 {
		list.Errorf(UnknownKey, file.Token(1, 1, 1), "no %d", i)
	}
	list.Since(7)[0].Waived = &Waiver{Reason: "known", Until: "2027-01-01"}
	first := list.Records()
	if diff := cmp.Diff(first, list.Records()); diff != "" {
		t.Errorf("asked twice (-first +second):\n%s", diff)
	}
	if len(first) != 2 || first[1].Waived == nil {
		t.Errorf("want one finding and the waived one: %+v", first)
	}
}
