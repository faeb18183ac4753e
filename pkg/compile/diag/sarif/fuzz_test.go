package sarif

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// FuzzRender: no renderer panics, whatever a file holds and a stage reports; places lie inside the file, one line of GitHub's
// commands is one finding, and nothing that steers a terminal gets through.
func FuzzRender(f *testing.F) {
	f.Add([]byte("a: b\r\nc: d\r\n"), "vison", 2, 4, 1)
	f.Add([]byte("\ta: b\n"), "x", 1, 5, 0)
	f.Add([]byte("画像: 認識 👩‍💻\n"), "認識", 1, 5, 2)
	f.Add([]byte(""), "", 1, 1, 0)
	f.Add([]byte("a"), "a", 7, -3, 1<<40)
	f.Add([]byte(strings.Repeat("x", 100_000)), "x", 1, 50_000, 3)
	f.Add([]byte(strings.Repeat("\t\u202e画\x1b", 9_000)), "x", 1, 35_999, 100)
	f.Add([]byte("a\rb: c\r\r\n"), "c", 2, 4, 1)
	f.Add([]byte("\xff\xfe\n\xc3("), "\xff", 2, 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, text string, line, column, length int) {
		file := source.NewFile("dir/file.yaml", data)
		span := source.Span{File: file, Line: line, Column: column, Length: length}
		list := &diag.List{}
		list.Errorf(diag.DanglingReference, span, "%s", text).Also(file.Token(1, 1, 5), "%s", text).Notef("%s", text).
			Meant(text, "vision").Helpf("%s", text)
		list.Warnf(diag.NothingRead, source.Span{File: file, Line: 1, Column: 1}, "second")
		if err := list.WriteText(io.Discard, diag.Colours()); err != nil {
			t.Fatal(err)
		}
		var plain, commands, log strings.Builder
		if err := list.WriteText(&plain, diag.Palette{}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(plain.String(), "\x1b\r\u202e") {
			t.Errorf("steers the terminal: %q", plain.String())
		}
		if err := list.WriteGitHub(&commands, locate); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(commands.String(), "\n"); n != len(list.Sorted()) {
			t.Errorf("%d lines for %d findings: %q", n, len(list.Sorted()), commands.String())
		}
		if err := Write(&log, list, Options{Locate: locate}); err != nil || !json.Valid([]byte(log.String())) {
			t.Errorf("%v, %s", err, log.String())
		}
		for _, r := range list.Records() {
			inside(t, data, r.Place)
			for _, related := range r.Related {
				inside(t, data, related.Place)
			}
			if r.Edit != nil {
				inside(t, data, r.Edit.Place)
			}
		}
	})
}

func inside(t *testing.T, data []byte, p diag.Place) {
	t.Helper()
	if p.Line == 0 {
		return
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\ufeff")), "\n")
	if p.Line > len(lines) {
		t.Fatalf("%+v: the file has %d lines", p, len(lines))
	}
	last := utf8.RuneCountInString(lines[p.Line-1]) + 1
	if p.Column < 1 || p.EndColumn < p.Column || p.EndColumn > last {
		t.Fatalf("%+v: the line ends before column %d", p, last)
	}
}
