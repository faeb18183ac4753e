package emit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml4 "go.yaml.in/yaml/v4"
	sigsyaml "sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// memory is an output folder that can fail: after so many steps, all later ones do.
type memory struct {
	files, staged map[string]string
	left          int
	// steps are the names that were staged, commits how often the folder was changed.
	steps   []string
	commits int
	interim string
}

func newMemory(files map[string]string) *memory {
	return &memory{files: maps.Clone(files), staged: map[string]string{}, left: -1}
}

var errBroken = errors.New("disk is full")

func (m *memory) ReadFile(name string) ([]byte, error) {
	data, found := m.files[name]
	if !found {
		return nil, fs.ErrNotExist
	}
	return []byte(data), nil
}

func (m *memory) Same(name string, data []byte) (found, same bool, err error) {
	present, found := m.files[name]
	return found, found && present == string(data), nil
}

func (m *memory) step() error {
	if m.left == 0 {
		return errBroken
	}
	m.left--
	return nil
}

func (m *memory) Stage(name string, data []byte) error {
	m.steps = append(m.steps, name)
	m.staged[name] = string(data)
	return m.step()
}

func (m *memory) Commit(interim []byte, removed []string) error {
	if err := m.step(); err != nil {
		return err
	}
	if len(m.staged)+len(removed) > 0 {
		m.commits++
	}
	m.interim = string(interim)
	maps.Copy(m.files, m.staged)
	for _, name := range removed {
		delete(m.files, name)
	}
	return nil
}

// write adds files and finishes.
func write(dir Dir, files []File, keep func(string) bool) (Result, error) {
	w, err := NewWriter(dir)
	if err != nil {
		return Result{}, err
	}
	if err := w.Add(files); err != nil {
		return Result{}, err
	}
	return w.Finish(keep)
}

func record(paths ...string) string { return recordHeader + strings.Join(paths, "\n") + "\n" }

func nothing(string) bool { return false }

var wanted = []File{{"c/a.yaml", []byte("a2")}, {"c/b.yaml", []byte("b")}}

func TestWrite(t *testing.T) {
	type args struct {
		present map[string]string
		keep    func(string) bool
	}
	type want struct {
		files   map[string]string
		result  Result
		staged  int
		commits int
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"first": {
			reason: "a first build writes all files and their record",
			args:   args{present: map[string]string{}, keep: nothing},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", Record: record("c/a.yaml", "c/b.yaml")},
				result: Result{Written: []string{"c/a.yaml", "c/b.yaml"}}, staged: 3, commits: 1,
			},
		},
		"again": {
			reason: "nothing is written when nothing changed",
			args:   args{present: map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", Record: record("c/a.yaml", "c/b.yaml")}, keep: nothing},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", Record: record("c/a.yaml", "c/b.yaml")},
				result: Result{Unchanged: []string{"c/a.yaml", "c/b.yaml"}},
			},
		},
		"prune": {
			reason: "an owned file that is no longer compiled goes, a foreign one beside it stays, a changed one is written",
			args:   args{present: map[string]string{"c/a.yaml": "a1", "c/b.yaml": "b", "c/old.yaml": "x", "c/mine.txt": "y", Record: record("c/a.yaml", "c/b.yaml", "c/old.yaml")}, keep: nothing},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", "c/mine.txt": "y", Record: record("c/a.yaml", "c/b.yaml")},
				result: Result{Written: []string{"c/a.yaml"}, Unchanged: []string{"c/b.yaml"}, Removed: []string{"c/old.yaml"}}, staged: 2, commits: 1,
			},
		},
		"foreign": {
			reason: "foreign files in the way are all named, and nothing is changed",
			args:   args{present: map[string]string{"c/a.yaml": "mine", "c/b.yaml": "also mine", "c/old.yaml": "x", Record: record("c/old.yaml")}, keep: nothing},
			want: want{
				files:  map[string]string{"c/a.yaml": "mine", "c/b.yaml": "also mine", "c/old.yaml": "x", Record: record("c/old.yaml")},
				result: Result{Foreign: []string{"c/a.yaml", "c/b.yaml"}, Removed: []string{"c/old.yaml"}},
			},
		},
		"lost record": {
			reason: "files that are right are owned again when the record was lost",
			args:   args{present: map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b"}, keep: nothing},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", Record: record("c/a.yaml", "c/b.yaml")},
				result: Result{Unchanged: []string{"c/a.yaml", "c/b.yaml"}}, staged: 1, commits: 1,
			},
		},
		"keep": {
			reason: "the files of a cluster that was not compiled stay and stay owned",
			args:   args{present: map[string]string{"d/x.yaml": "x", Record: record("d/x.yaml")}, keep: func(path string) bool { return strings.HasPrefix(path, "d/") }},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", "d/x.yaml": "x", Record: record("c/a.yaml", "c/b.yaml", "d/x.yaml")},
				result: Result{Written: []string{"c/a.yaml", "c/b.yaml"}}, staged: 3, commits: 1,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newMemory(c.args.present)
			result, err := write(dir, wanted, c.args.keep)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, want{dir.files, result, len(dir.steps), dir.commits}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestBroken lets a build fail at every step: the folder is as it was.
func TestBroken(t *testing.T) {
	present := map[string]string{"c/a.yaml": "a1", "c/old.yaml": "x", "mine": "y", Record: record("c/a.yaml", "c/old.yaml")}
	steps := 0
	for ; ; steps++ {
		dir := newMemory(present)
		dir.left = steps
		_, err := write(dir, wanted, nothing)
		if err == nil {
			break
		}
		if diff := cmp.Diff(present, dir.files); diff != "" || !errors.Is(err, errBroken) {
			t.Errorf("after %d steps: error %v (-before +after):\n%s", steps, err, diff)
		}
	}
	if steps != 4 {
		t.Errorf("a build has %d steps, want two files, the record and the commit", steps)
	}
}

// TestInterimRecord: while files come and go the record owns those of both trees, so that a mixture can be repaired.
func TestInterimRecord(t *testing.T) {
	for name, tc := range map[string]struct{ owned, want string }{
		"a new file":       {record("c/a.yaml", "c/old.yaml"), record("c/a.yaml", "c/b.yaml", "c/old.yaml")},
		"only old files":   {record("c/a.yaml", "c/b.yaml", "c/old.yaml"), ""},
		"the first record": {"", record("c/a.yaml", "c/b.yaml")},
	} {
		dir := newMemory(map[string]string{Record: tc.owned})
		if _, err := write(dir, wanted, nothing); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, dir.interim); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBadRecord: a record that names files elsewhere is refused before anything is removed.
func TestBadRecord(t *testing.T) {
	for _, path := range []string{"../secret", "/etc/passwd", "a/../../b", Record, "<<<<<<< HEAD/../x", "<<<<<<< HEAD", "=======", "README.md",
		"local/README.md", "a.yaml", "Makefile/x.yaml", "cmd/main.go", "c//a.yaml"} {
		dir := newMemory(map[string]string{Record: record("c/a.yaml", path)})
		if _, err := write(dir, wanted, nothing); err == nil || len(dir.steps) > 0 || !strings.Contains(err.Error(), "line 3 of "+Record) {
			t.Errorf("%s: error %v, staged %v", path, err, dir.steps)
		}
	}
}

// yamlOf encodes a JSON value.
func yamlOf(value map[string]any) []byte {
	root := object.FromValue("", value, nil)
	return AppendYAML(nil, &root)
}

func TestAppendYAML(t *testing.T) {
	got := string(yamlOf(map[string]any{
		"zero":  json.Number("0"),
		"list":  []any{map[string]any{"b": "2", "a": true}, []any{"x", []any{}}, nil, map[string]any{}},
		"text":  "two\nlines\n",
		"words": []any{"yes", "1.5", "0x1f", "1:30", "16Gi", "a: b", "a:b", "- x", "", " x", "x ", "#x", "x #y", "2020-01-01", "ünï", "tab\t", "null", "~", "@x", "a, b", "=", "Y", "1e3", "\x1b", "🙂", "*x", "%x", "[x]"},
	}))
	want := `list:
- a: true
  b: "2"
-
  - x
  - []
- null
- {}
text: |
  two
  lines
words:
- "yes"
- "1.5"
- "0x1f"
- "1:30"
- 16Gi
- "a: b"
- a:b
- "- x"
- ""
- " x"
- "x "
- "#x"
- "x #y"
- "2020-01-01"
- "ünï"
- "tab\t"
- "null"
- "~"
- "@x"
- a, b
- "="
- "Y"
- "1e3"
- "\u001b"
- "🙂"
- "*x"
- "%x"
- "[x]"
zero: 0
`
	if diff := cmp.Diff(want, strings.ReplaceAll(got, "- \n", "-\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzAppendYAML: whatever the strings are, three parsers read back what was written.
func FuzzAppendYAML(f *testing.F) {
	for _, s := range []string{"", "x", "yes", "a\nb", "a\n\n b\n", "\n", "\ta", "a: b\nc", "1_000", "0o7", "\u2028", "\ufeff", "é\u0085", "a \nb", "|", "a\r\nb", "\x00", "'", "\\", "? x", "---", "...", "a\n---\nb", "\u00a0", "<<"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if !valid(key) || !valid(value) {
			return
		}
		want := map[string]any{"k": map[string]any{key: value, key + "2": []any{value, map[string]any{"v": value}}}}
		data := yamlOf(want)
		var four, sigs map[string]any
		if err := yaml4.Unmarshal(data, &four); err != nil {
			t.Fatalf("yaml/v4: %v\n%s", err, data)
		}
		if err := sigsyaml.Unmarshal(data, &sigs); err != nil {
			t.Fatalf("sigs.k8s.io/yaml: %v\n%s", err, data)
		}
		if diff := cmp.Diff(want, four); diff != "" {
			t.Errorf("yaml/v4 (-want +got):\n%s\n%s", diff, data)
		}
		if diff := cmp.Diff(want, sigs); diff != "" {
			t.Errorf("sigs.k8s.io/yaml (-want +got):\n%s\n%s", diff, data)
		}
	})
}

// valid reports whether JSON, from which all values come, can hold a string.
func valid(s string) bool {
	data, err := json.Marshal(s)
	var back string
	return err == nil && json.Unmarshal(data, &back) == nil && back == s
}

func BenchmarkAppendYAML(b *testing.B) {
	content := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{}}
	for i := range 50 {
		content["data"].(map[string]any)[fmt.Sprintf("key-%d", i)] = strings.Repeat("value ", 4)
	}
	root, out := object.FromValue("", content, nil), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		out = AppendYAML(out[:0], &root)
	}
}

// TestPlain holds what is written without quotes against its definition as regular expressions, for all short strings of some
// characters.
func TestPlain(t *testing.T) {
	word := regexp.MustCompile(`^[A-Za-z_/](?:[A-Za-z0-9_./@+=,$()<>*!?&;'-]|:[A-Za-z0-9_./@+=,$()<>*!?&;'-]| [A-Za-z0-9_./@+=,$()<>*!?&;'-])*$`)
	amount := regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?(?:m|k|M|G|T|Ki|Mi|Gi|Ti)$`)
	meaning := regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
	compare := func(s string) {
		want := amount.MatchString(s) || word.MatchString(s) && !meaning.MatchString(s)
		if got := isAmount(s) || isPlainWord(s) && !hasYAMLMeaning(s); got != want {
			t.Errorf("%q is plain: %t, want %t", s, got, want)
		}
	}
	const alphabet = "yNoE0.9mKi: /-#\"é"
	shorter := []string{""}
	for range 4 {
		var longer []string
		for _, s := range shorter {
			compare(s)
			for _, c := range alphabet {
				longer = append(longer, s+string(c))
			}
		}
		shorter = longer
	}
	for _, s := range []string{"True", "FALSE", "null", "nulls", "off", "oFF", "yes", "12.5Gi", "1Gi\n", "a\n", "\xff", "a\xff"} {
		compare(s)
	}
}
