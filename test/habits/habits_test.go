package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	clean = "package p\n\n// F returns one.\nfunc F() int { return 1 }\n"
	more  = clean + "var x = 1\n"
	odd   = "package p\n\n// F is what somebody is told.\nfunc F() int { return 1 }\n"
)

func countOf(t *testing.T, files map[string]string) counts {
	t.Helper()
	root := fstest.MapFS{}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	c, err := countCheckout(root)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recorded is what is read of a record that was written of counts.
func recorded(t *testing.T, c counts) counts {
	t.Helper()
	read, err := parseRecord("record.txt", c.String())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// files holds the content of one file or of none.
type files map[string]string

func TestCompare(t *testing.T) {
	long := "// " + strings.Repeat("x", 120) + "\n"
	accents := "// " + strings.Repeat("é", 117) + "\n"
	words := strings.Repeat("A job has ranks. ", 300)
	for name, tc := range map[string]struct {
		before, now files
		want        string // a part of the problems, "" for none
	}{
		"nothing changed":         {files{"pkg/p/a.go": odd}, files{"pkg/p/a.go": odd}, ""},
		"a package grew":          {files{"pkg/p/a.go": clean}, files{"pkg/p/a.go": more}, "pkg/p: 3 lines"},
		"generated code grew":     {files{"pkg/p/zz_generated.x.go": clean}, files{"pkg/p/zz_generated.x.go": more}, ""},
		"a package shrank":        {files{"pkg/p/a.go": more}, files{"pkg/p/a.go": clean}, "make ratchet"},
		"a tic went":              {files{"pkg/p/a.go": odd}, files{"pkg/p/a.go": clean}, "make ratchet"},
		"an old line is long":     {files{"test/a.go": clean + long}, files{"test/a.go": clean + long}, ""},
		"a new line is long":      {nil, files{"test/a_test.go": clean + long}, "test/a_test.go:5: 123 columns"},
		"a line has many bytes":   {nil, files{"test/a.go": accents}, ""},
		"a new comment has a tic": {files{"pkg/p/a.go": clean}, files{"pkg/p/a.go": odd}, `pkg/p/a.go:3: "is what": name`},
		"a long page has one":     {nil, files{"docs/page.md": words + "It is said.\n"}, ""},
		"a short page has one":    {nil, files{"docs/page.md": "It is said.\n"}, `docs/page.md:1: "said"`},
		"code in a page":          {nil, files{"docs/page.md": "```\nnobody\n```\n"}, ""},
		"a comment of a test":     {nil, files{"pkg/p/a_test.go": odd}, ""},
		"Python":                  {nil, files{"python/src/l/a.py": "# nobody\n"}, `python/src/l/a.py:1: "nobody"`},
		"the input of a test":     {nil, files{"pkg/p/testdata/a.go": odd + long}, ""},
	} {
		before, now := countOf(t, tc.before), countOf(t, tc.now)
		if tc.before == nil {
			before.packages = now.packages
		}
		problems := compare(recorded(t, before), now, func(string) map[int]bool { return nil })
		text := strings.Join(problems, "\n")
		if tc.want == "" && text != "" || !strings.Contains(text, tc.want) {
			t.Errorf("%s: want %q, got:\n%s", name, tc.want, text)
		}
	}
}

// TestNewOffences: a new file starts without long lines and tics; a moved one may keep its own.
func TestNewOffences(t *testing.T) {
	before := recorded(t, countOf(t, files{"pkg/p/a.go": odd, "pkg/p/b.go": clean}))
	for name, tc := range map[string]struct {
		now     files
		refused bool
	}{
		"moved": {files{"pkg/q/a.go": odd, "pkg/p/b.go": clean}, false},
		"more":  {files{"pkg/p/a.go": odd + more[len(clean):], "pkg/p/b.go": clean}, false},
		"new":   {files{"pkg/p/a.go": odd, "pkg/p/c.go": odd}, true},
	} {
		if got := newOffences(before, countOf(t, tc.now), func(string) bool { return false }); (len(got) > 0) != tc.refused {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestJudgeMessage(t *testing.T) {
	for message, want := range map[string]string{
		"agent: wait until deleted pods are gone":                 "",
		"docs, api: name the file\n\nIt was another.":             "",
		"pkg/mpi: cut lines at 1 MiB":                             "",
		"Revert \"agent: wait\"":                                  "",
		"wait until deleted pods are gone":                        "is not `part: verb",
		"Agent: wait":                                             "is not `part: verb",
		"agent: deleted pods are gone":                            "`deleted` is not in the list",
		"agent: waits for pods":                                   "`waits` is not in the list",
		"agent: wait for pods.":                                   "full stop",
		"agent: wait\nfor pods":                                   "is not empty",
		"agent: wait " + strings.Repeat("é", maxSubject-12):       "",
		"agent: wait " + strings.Repeat("é", maxSubject-12) + "x": "has 73 characters",
		"": "is not `part: verb",
	} {
		if got := judgeMessage(message); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: want %q, got %q", message, want, got)
		}
	}
}

// inNewRepository enters an empty repository. Hooks and `git rebase -x` set GIT_DIR, which would lead tests to theirs.
func inNewRepository(t *testing.T) {
	t.Helper()
	for _, setting := range os.Environ() {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, value) // restores it
			os.Unsetenv(name)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // may sign commits
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Chdir(t.TempDir())
	git(t, "init", "--quiet", "--initial-branch", "main")
}

func git(t *testing.T, arguments ...string) {
	t.Helper()
	identity := []string{"-c", "user.name=a", "-c", "user.email=a@b"}
	command := exec.CommandContext(t.Context(), "git", append(identity, arguments...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, out)
	}
}

// TestRaises: a commit that raises a count gives the reason, also if a later commit lowers it.
func TestRaises(t *testing.T) {
	inNewRepository(t)
	commit := func(record, message string) {
		if err := os.MkdirAll("test/habits", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordFile, []byte(record), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, "add", ".")
		git(t, "commit", "--quiet", "--message", message)
	}
	commit("lines pkg/p 10\n", "p: add it")
	commit("lines pkg/p 12\n", "p: count ranks\n\nRaises: two lines that count.")
	commit("lines pkg/p 9\n", "p: drop a case")
	if err := judgeCommits("HEAD~2..HEAD"); err != nil {
		t.Errorf("refused: %v", err)
	}
	commit("lines pkg/p 9\nfile pkg/p/a.go 1 0 0 0 0 0\n", "p: add a long line")
	commit("lines pkg/p 9\n", "p: cut it")
	if err := judgeCommits("HEAD~2..HEAD"); err == nil {
		t.Error("a long line came without a reason")
	}
}

func TestParseRecord(t *testing.T) {
	for _, content := range []string{
		"lines a\n", "lines a -1\n", "file a 1 2\n", "file a 1 2 3 4 5 x\n", "<<<<<<< HEAD\n",
	} {
		if _, err := parseRecord("record.txt", content); err == nil {
			t.Errorf("%q was read", content)
		}
	}
}

// TestLinesChangedSince: of an old file only new lines are shown.
func TestLinesChangedSince(t *testing.T) {
	inNewRepository(t)
	write := func(content string) {
		if err := os.WriteFile("a.go", []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\nthree\n")
	git(t, "add", ".")
	git(t, "commit", "--quiet", "--message", "all: add")
	write("one\nnew\ntwo\nthree\nlast\n")
	if changed := linesChangedSince("a.go")("a.go"); len(changed) != 2 || !changed[2] || !changed[5] {
		t.Errorf("changed: %v", changed)
	}
	if changed := linesChangedSince("none.txt")("a.go"); changed != nil {
		t.Errorf("without a record: %v", changed)
	}
}
