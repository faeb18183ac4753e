package emit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml4 "go.yaml.in/yaml/v4"
	sigsyaml "sigs.k8s.io/yaml"
)

// memory is an output folder that can fail: after so many writes and removals, all later ones do.
type memory struct {
	files  map[string]string
	left   int
	writes []string
}

func newMemory(files map[string]string) *memory {
	return &memory{files: maps.Clone(files), left: -1}
}

var errBroken = errors.New("disk is full")

func (m *memory) ReadFile(name string) ([]byte, error) {
	data, found := m.files[name]
	if !found {
		return nil, fs.ErrNotExist
	}
	return []byte(data), nil
}

func (m *memory) step(name string) error {
	if m.left == 0 {
		return errBroken
	}
	m.left--
	m.writes = append(m.writes, name)
	return nil
}

func (m *memory) WriteFile(name string, data []byte) error {
	if err := m.step(name); err != nil {
		return err
	}
	m.files[name] = string(data)
	return nil
}

func (m *memory) Remove(name string) error {
	if err := m.step(name); err != nil {
		return err
	}
	delete(m.files, name)
	return nil
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
		files  map[string]string
		result Result
		writes int
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
				result: Result{Written: []string{"c/a.yaml", "c/b.yaml"}}, writes: 3,
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
				result: Result{Written: []string{"c/a.yaml"}, Unchanged: []string{"c/b.yaml"}, Removed: []string{"c/old.yaml"}}, writes: 3,
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
				result: Result{Unchanged: []string{"c/a.yaml", "c/b.yaml"}}, writes: 1,
			},
		},
		"keep": {
			reason: "the files of a cluster that was not compiled stay and stay owned",
			args:   args{present: map[string]string{"d/x.yaml": "x", Record: record("d/x.yaml")}, keep: func(path string) bool { return strings.HasPrefix(path, "d/") }},
			want: want{
				files:  map[string]string{"c/a.yaml": "a2", "c/b.yaml": "b", "d/x.yaml": "x", Record: record("c/a.yaml", "c/b.yaml", "d/x.yaml")},
				result: Result{Written: []string{"c/a.yaml", "c/b.yaml"}}, writes: 3,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newMemory(c.args.present)
			result, err := Write(dir, wanted, c.args.keep)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, want{dir.files, result, len(dir.writes)}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestInterrupted stops a build after every step. Whatever was done, the next build ends in the same state as an undisturbed
// one, takes nothing for foreign, and leaves what is not ours alone.
func TestInterrupted(t *testing.T) {
	present := map[string]string{"c/a.yaml": "a1", "c/old.yaml": "x", "mine": "y", Record: record("c/a.yaml", "c/old.yaml")}
	undisturbed := newMemory(present)
	if _, err := Write(undisturbed, wanted, nothing); err != nil {
		t.Fatal(err)
	}
	for steps := range len(undisturbed.writes) {
		dir := newMemory(present)
		dir.left = steps
		if _, err := Write(dir, wanted, nothing); !errors.Is(err, errBroken) {
			t.Fatalf("after %d steps: error %v, want the one of the disk", steps, err)
		}
		dir.left = -1
		result, err := Write(dir, wanted, nothing)
		if err != nil || len(result.Foreign) > 0 {
			t.Fatalf("after %d steps: the next build fails: %v, foreign %v", steps, err, result.Foreign)
		}
		if diff := cmp.Diff(undisturbed.files, dir.files); diff != "" {
			t.Errorf("after %d steps (-undisturbed +got):\n%s", steps, diff)
		}
	}
}

// TestBadRecord: a record that names files elsewhere is refused before anything is removed.
func TestBadRecord(t *testing.T) {
	for _, path := range []string{"../secret", "/etc/passwd", "a/../../b", Record, "<<<<<<< HEAD/../x", "<<<<<<< HEAD", "=======", "README.md",
		"local/README.md", "a.yaml", "Makefile/x.yaml", "cmd/main.go", "c//a.yaml"} {
		dir := newMemory(map[string]string{Record: record("c/a.yaml", path)})
		if _, err := Write(dir, wanted, nothing); err == nil || len(dir.writes) > 0 || !strings.Contains(err.Error(), "line 3 of "+Record) {
			t.Errorf("%s: error %v, writes %v", path, err, dir.writes)
		}
	}
}

func TestEncodeYAML(t *testing.T) {
	got := string(EncodeYAML(map[string]any{
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

// FuzzEncodeYAML: whatever the strings are, three parsers read back what was written.
func FuzzEncodeYAML(f *testing.F) {
	for _, s := range []string{"", "x", "yes", "a\nb", "a\n\n b\n", "\n", "\ta", "a: b\nc", "1_000", "0o7", "\u2028", "\ufeff", "é\u0085", "a \nb", "|", "a\r\nb", "\x00", "'", "\\", "? x", "---", "...", "a\n---\nb", "\u00a0", "<<"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if !valid(key) || !valid(value) {
			return
		}
		want := map[string]any{"k": map[string]any{key: value, key + "2": []any{value, map[string]any{"v": value}}}}
		data := EncodeYAML(want)
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

// valid says whether JSON, from which all values come, can hold a string.
func valid(s string) bool {
	data, err := json.Marshal(s)
	var back string
	return err == nil && json.Unmarshal(data, &back) == nil && back == s
}

func BenchmarkEncodeYAML(b *testing.B) {
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{}}
	for i := range 50 {
		object["data"].(map[string]any)[fmt.Sprintf("key-%d", i)] = strings.Repeat("value ", 4)
	}
	for b.Loop() {
		EncodeYAML(object)
	}
}
