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

// TestReplace: an edit is offered only where the text at the place is what was written, and is spelled as the file needs it.
func TestReplace(t *testing.T) {
	cases := map[string]struct{ reason, file, line, got, meant, want string }{
		"bare":           {"a word stays a word", "a.yaml", "k: vison", "vison", "vision", "vision"},
		"double quotes":  {"quotes stay", "a.yaml", `k: "vison"`, "vison", "vision", `"vision"`},
		"single quotes":  {"quotes stay", "a.yaml", "k: 'vison'", "vison", "vision", "'vision'"},
		"becomes number": {"what would be read as a number gets quotes", "a.yaml", "k: v12", "v12", "12", `"12"`},
		"becomes word":   {"so does a word with a meaning", "a.yaml", "k: nn", "nn", "no", `"no"`},
		"amount":         {"an amount needs none", "a.yaml", "k: 16", "16", "16Mi", "16Mi"},
		"alias":          {"the text of an alias is elsewhere", "a.yaml", "k: *name", "vison", "vision", ""},
		"escape":         {"a string with escapes is not taken apart", "a.yaml", `k: "vis\u006fn"`, "vison", "vision", ""},
		"would escape":   {"nor is one made", "a.yaml", `k: "vison"`, "vison", `vi"sion`, ""},
		"jsonnet":        {"a string of Jsonnet", "a.jsonnet", "k: 'vison'", "vison", "vision", "'vision'"},
		"expression":     {"a variable of Jsonnet is no string", "a.jsonnet", "k: vison", "vison", "vision", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list := &List{}
			span := source.NewFile(c.file, []byte(c.line)).Token(1, 4, 100)
			d := list.Errorf(DanglingReference, span, "no").Meant(c.got, c.meant)
			got := ""
			if d.Edit != nil {
				got = d.Edit.Text
			}
			if got != c.want || len(d.Help) != 1 {
				t.Errorf("%s: got %q, want %q; help %q", c.reason, got, c.want, d.Help)
			}
		})
	}
}

// TestPlaces: whatever a stage reports, the place is in the file.
func TestPlaces(t *testing.T) {
	file := source.NewFile("a.yaml", []byte("ab\r\n\n画像x"))
	at := func(line, column, length int) source.Span {
		return source.Span{File: file, Line: line, Column: column, Length: length}
	}
	cases := map[string]struct {
		reason string
		span   source.Span
		want   Place
	}{
		"nowhere":     {"no file, no place", source.Span{}, Place{}},
		"whole file":  {"a file has no column", source.WholeFile(file), Place{File: "a.yaml"}},
		"token":       {"a token as it is", at(1, 1, 2), Place{"a.yaml", 1, 1, 3}},
		"too long":    {"a token ends with its line", at(1, 2, 9), Place{"a.yaml", 1, 2, 3}},
		"behind":      {"the end of a line is a place without length", at(1, 7, 1), Place{"a.yaml", 1, 3, 3}},
		"before":      {"columns begin with 1", at(1, 0, 1), Place{"a.yaml", 1, 1, 2}},
		"zero length": {"a token has a character", at(1, 1, 0), Place{"a.yaml", 1, 1, 2}},
		"empty line":  {"an empty line has none", at(2, 1, 1), Place{"a.yaml", 2, 1, 1}},
		"below":       {"the last line is the last", at(9, 2, 1), Place{"a.yaml", 3, 2, 3}},
		"wide":        {"characters count, not bytes", at(3, 3, 1), Place{"a.yaml", 3, 3, 4}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var places Places
			if diff := cmp.Diff(c.want, places.PlaceOf(c.span)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCarets: carets stand under their token on a terminal, and what is shown cannot steer it.
func TestCarets(t *testing.T) {
	cases := map[string]struct{ reason, line, token, want string }{
		"wide":          {"characters of East Asia are two columns wide", "k: 画像 # x", "画像", "1 | k: 画像 # x\n  |    ^^^^\n"},
		"after wide":    {"also those before", "画像: x", "x", "1 | 画像: x\n  |       ^\n"},
		"combining":     {"a mark over a letter takes no column", "e\u0301: x", "x", "1 | e\u0301: x\n  |    ^\n"},
		"tab":           {"a tab stays one", "\tk: x", "x", "1 | \tk: x\n  | \t   ^\n"},
		"control":       {"a terminal gets no escape sequences", "k: \x1b[2J", "k", "1 | k: \ufffd[2J\n  | ^\n"},
		"bidirectional": {"text is shown in the order that it has", "k: \u202ex", "k", "1 | k: \ufffdx\n  | ^\n"},
		"end of line":   {"the end of a line has a caret of its own", "k", "", "1 | k\n  |  ^\n"},
		"long": {
			"of a long line the part around the token is shown", strings.Repeat("a", 1000) + "X" + strings.Repeat("b", 1000), "X",
			"1 | …" + strings.Repeat("a", 200) + "X" + strings.Repeat("b", 199) + "…\n  | " + strings.Repeat(" ", 201) + "^\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, _, _ := strings.Cut(c.line, c.token)
			if c.token == "" {
				before = c.line
			}
			span := source.Span{File: source.NewFile("a.yaml", []byte(c.line)), Line: 1, Column: len([]rune(before)) + 1, Length: len([]rune(c.token))}
			list := &List{}
			list.Errorf(Syntax, span, "no")
			var b strings.Builder
			if err := list.WriteText(&b, Palette{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), c.want) {
				t.Errorf("%s: want\n%s in\n%s", c.reason, c.want, b.String())
			}
		})
	}
}

// TestWriteTextHuge: of very many findings errors are shown before warnings, in their order, and how many are missing is said.
func TestWriteTextHuge(t *testing.T) {
	file := source.NewFile("a.yaml", []byte(strings.Repeat("k: v\n", 400)))
	list := &List{}
	for line := range 400 {
		if line%100 == 99 {
			list.Errorf(UnknownKey, file.Token(line+1, 1, 1), "unknown %d", line)
			continue
		}
		list.Warnf(NothingRead, file.Token(line+1, 1, 1), "nothing %d", line)
	}
	var b strings.Builder
	if err := list.WriteText(&b, Palette{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "error["); n != 4 {
		t.Errorf("%d errors are shown, want all 4", n)
	}
	if n := strings.Count(b.String(), "warning["); n != 196 {
		t.Errorf("%d warnings are shown, want 196", n)
	}
	if want := "200 more are not shown here; the format json has them all\n4 errors, 396 warnings\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("no %q at the end", want)
	}
}

// TestWriteGitHub: what ends a property or a command is escaped, and nothing of a message can begin another command.
func TestWriteGitHub(t *testing.T) {
	file := source.NewFile("a,b:c.yaml", []byte("k: vison\nm: x\n"))
	list := &List{}
	list.Errorf(NoCluster, source.Span{}, "nothing")
	list.Warnf(NothingRead, source.WholeFile(file), "100%% empty")
	list.Errorf(DanglingReference, file.Token(1, 4, 5), "there is no\n::error::`vison`").Also(file.Token(2, 4, 1), "seen here").
		Notef("a fact").Suggest("vison", []string{"vision"})
	var b strings.Builder
	if err := list.WriteGitHub(&b, func(path string) string { return "specs/" + path }); err != nil {
		t.Fatal(err)
	}
	want := "::error title=LS3004::nothing\n" +
		"::warning file=specs/a%2Cb%3Ac.yaml,title=LS1005::100%25 empty\n" +
		"::error file=specs/a%2Cb%3Ac.yaml,line=1,endLine=1,col=4,endColumn=9,title=LS3002::there is no\ufffd::error::`vison`" +
		"%0Aa,b:c.yaml:2:4: seen here%0Anote: a fact%0Ahelp: did you mean `vision`?\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
