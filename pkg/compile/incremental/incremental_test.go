package incremental

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func sample() *BuildRecord {
	file := source.NewFile("tenants/a.yaml", []byte("kind: Tenant\n"))
	at := source.Span{File: file, Line: 1, Column: 7, Length: 6}
	return &BuildRecord{
		Key: "k", Began: 1, Ended: 1 << 60,
		Inputs: []Input{
			{Path: "tenants", Kind: Folder, Stamp: Stamp{1, 2, 3, 4, 5, 6}, Digest: Digest{1}},
			{Path: "tenants/a.yaml", Kind: File, Stamp: Stamp{-1, -2, -3, 1 << 63, 5, 6}, Digest: Digest{2}},
			{Path: "tenants/b.yaml", Kind: Presence},
		},
		Outputs:  []OutputFile{{Path: "c/a.yaml", Stamp: Stamp{Size: 9}, Sum: 7}, {Path: "c/b.yaml", Sum: 1<<32 - 1}},
		Clusters: []ClusterCounts{{"c", 12, 2}},
		Findings: []*diag.Diagnostic{
			{Code: "LS4067", Severity: diag.Warning, Message: "m", Span: at, Related: []diag.Related{{Span: at, Message: "r"}}, Notes: []string{"n"}, Help: []string{"h", ""}, Edit: &diag.Edit{Span: at, Text: "e"}},
			{Code: "LS1000", Severity: diag.Warning, Span: source.WholeFile(file)},
			{Code: "LS1001", Severity: diag.Warning},
		},
	}
}

func encoded(t testing.TB, m *BuildRecord) []byte {
	t.Helper()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(name string) *source.File { return source.NewFile(name, []byte("kind: Tenant\n")) }

// TestEncode: a record is read back as it was written, findings with their places included.
func TestEncode(t *testing.T) {
	got, err := Decode(encoded(t, sample()), open)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(m *BuildRecord) string {
		var list diag.List
		for _, d := range m.Findings {
			*list.Warnf(d.Code, d.Span, "") = *d
		}
		var text strings.Builder
		if err := list.WriteText(&text, diag.Palette{}); err != nil {
			t.Fatal(err)
		}
		edit := m.Findings[0].Edit
		rest := *m
		rest.Findings = nil
		return fmt.Sprintf("%+v\n%s\n%s %s", rest, text.String(), edit.Span, edit.Text)
	}
	if diff := cmp.Diff(describe(sample()), describe(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a, b := got.Findings[0].Span.File, got.Findings[0].Related[0].Span.File; a != b {
		t.Error("one file became two")
	}
}

// TestWholeFinding: no field of a finding is forgotten, also not one that does not exist yet.
func TestWholeFinding(t *testing.T) {
	finding := &diag.Diagnostic{}
	fill(t, reflect.ValueOf(finding).Elem())
	m, err := Decode(encoded(t, &BuildRecord{Findings: []*diag.Diagnostic{finding}}), open)
	if err != nil {
		t.Fatal(err)
	}
	path := cmp.Comparer(func(a, b *source.File) bool { return a.Path == b.Path })
	if diff := cmp.Diff(finding, m.Findings[0], path); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fill gives every field a value of its own.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("text of a " + v.Type().Name())
	case reflect.Int:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0))
		fill(t, v.Index(1))
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*source.File]() {
			v.Set(reflect.ValueOf(source.NewFile("tenants/a.yaml", nil)))
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a finding has a %s now: encode it", v.Type())
	}
}

// TestDamaged: whatever byte is missing or changed, the record is not read any more.
func TestDamaged(t *testing.T) {
	whole := encoded(t, sample())
	for n := range whole {
		if _, err := Decode(whole[:n], open); !errors.Is(err, errDamaged) {
			t.Fatalf("%d of %d bytes: error %v", n, len(whole), err)
		}
		damaged := append([]byte(nil), whole...)
		damaged[n] ^= 0x40
		if _, err := Decode(damaged, open); !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d is damaged: error %v", n, err)
		}
	}
	if _, err := Decode(append(whole, 0), open); !errors.Is(err, errDamaged) {
		t.Errorf("a byte more: error %v", err)
	}
}

// FuzzDecode: no bytes make it panic or use much memory, even with a right checksum.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, sample()))
	f.Add([]byte(magic))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = Decode(data, open)
		_, _ = Decode(sealed(data), open)
	})
}

// sealed gives bytes the beginning and the checksum of a record.
func sealed(data []byte) []byte {
	out := append([]byte(magic), data...)
	return binary.LittleEndian.AppendUint32(out, Checksum(out))
}

// real is a repository in a folder, for the tests.
type real struct {
	folder string
	reads  int
}

func (r *real) Stamp(name string) (Stamp, error) {
	info, err := os.Stat(filepath.Join(r.folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	stamp, _ := StampOf(info)
	return stamp, nil
}

func (r *real) Content(name string) (Digest, error) {
	r.reads++
	data, err := os.ReadFile(filepath.Join(r.folder, name))
	return DigestOf(data), err
}

func (r *real) Listing(name string) (Digest, error) {
	r.reads++
	entries, err := os.ReadDir(filepath.Join(r.folder, name))
	return ListingDigest(entries), err
}

func (r *real) write(t *testing.T, name, content string) {
	t.Helper()
	target := filepath.Join(r.folder, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read reads a repository as a compilation does, and returns the record of it.
func (r *real) read(t *testing.T) *BuildRecord {
	t.Helper()
	recorder := NewRecorder(os.DirFS(r.folder))
	_ = fs.WalkDir(recorder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = fs.ReadFile(recorder, name)
		}
		return err
	})
	if _, err := fs.Stat(recorder, "Chart.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	inputs, complete := recorder.Inputs()
	if !complete {
		t.Fatal("the recorder does not know everything")
	}
	return &BuildRecord{Inputs: inputs}
}

// TestChanged: every change of what was read is noticed, also of files that were not there; what only looks changed is not.
func TestChanged(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(t *testing.T, r *real)
		want   []string
	}{
		"Nothing":  {"nothing changed", func(*testing.T, *real) {}, nil},
		"Touched":  {"another time, the same content", func(t *testing.T, r *real) { touch(t, r, "tenants/a.yaml", time.Hour) }, nil},
		"Replaced": {"an editor saves by a rename, which changes the folder", func(t *testing.T, r *real) { r.write(t, "x", "a"); rename(t, r, "x", "tenants/a.yaml") }, nil},
		"Content":  {"another content of the same length", func(t *testing.T, r *real) { r.write(t, "tenants/a.yaml", "b") }, []string{"tenants/a.yaml"}},
		"Old": {"another content of the same length, made to look as old as before", func(t *testing.T, r *real) {
			info, _ := os.Stat(filepath.Join(r.folder, "tenants/a.yaml"))
			r.write(t, "tenants/a.yaml", "b")
			touch(t, r, "tenants/a.yaml", time.Until(info.ModTime()))
		}, []string{"tenants/a.yaml"}},
		"New":       {"a file that was not there", func(t *testing.T, r *real) { r.write(t, "tenants/c.yaml", "c") }, []string{"tenants"}},
		"NewFolder": {"a folder that was not there", func(t *testing.T, r *real) { r.write(t, "tenants/new/c.yaml", "c") }, []string{"tenants"}},
		"Gone":      {"a file that is gone", func(t *testing.T, r *real) { remove(t, r, "tenants/a.yaml") }, []string{"tenants", "tenants/a.yaml"}},
		"Renamed":   {"a file with another name", func(t *testing.T, r *real) { rename(t, r, "tenants/a.yaml", "tenants/z.yaml") }, []string{"tenants", "tenants/a.yaml"}},
		"Missed":    {"a file that was looked for and missed", func(t *testing.T, r *real) { r.write(t, "Chart.yaml", "c") }, []string{".", "Chart.yaml"}},
		"Link": {"a link instead of the file, to the same content elsewhere", func(t *testing.T, r *real) {
			rename(t, r, "tenants/a.yaml", "catalog/moved")
			if err := os.Symlink("../catalog/moved", filepath.Join(r.folder, "tenants/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, []string{"catalog", "tenants"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &real{folder: t.TempDir()}
			r.write(t, "tenants/a.yaml", "a")
			r.write(t, "catalog/b.yaml", "b")
			m := r.read(t)
			// As if the build had begun long after.
			m.Began = time.Now().Add(time.Hour).UnixNano()
			tc.change(t, r)
			changed, _ := m.Changed(r)
			var got []string
			for _, input := range changed {
				got = append(got, input.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRacy: a file that was written when the build began to read is read again, because a later write may not have changed its stamp;
// of one that is older the stamp is enough.
func TestRacy(t *testing.T) {
	r := &real{folder: t.TempDir()}
	r.write(t, "tenants/a.yaml", "a")
	m := r.read(t)
	young, old := time.Now(), time.Now().Add(time.Hour)
	for _, tc := range []struct {
		began time.Time
		reads int
	}{{young, 3}, {old, 0}} {
		m.Began, r.reads = tc.began.UnixNano(), 0
		if changed, _ := m.Changed(r); len(changed) > 0 || r.reads != tc.reads {
			t.Errorf("a build that began at %v: %d changes, %d reads, want %d", tc.began, len(changed), r.reads, tc.reads)
		}
	}
	// The write that the stamp does not show.
	m.Began = young.UnixNano()
	r.write(t, "tenants/a.yaml", "b")
	m.Inputs[len(m.Inputs)-1].Stamp, _ = r.Stamp("tenants/a.yaml")
	if changed, _ := m.Changed(r); len(changed) != 1 {
		t.Errorf("changes: %d, want the file", len(changed))
	}
}

// TestReadTwice: what became another content, or came into a folder, between two readings of one compilation is a change afterwards: the
// compilation has judged by the first reading too.
func TestReadTwice(t *testing.T) {
	r := &real{folder: t.TempDir()}
	r.write(t, "tenants/a.yaml", "a")
	recorder := NewRecorder(os.DirFS(r.folder))
	for _, content := range []string{"a", "b"} {
		r.write(t, "tenants/a.yaml", content)
		r.write(t, "tenants/"+content+".yaml", content)
		if _, err := fs.ReadFile(recorder, "tenants/a.yaml"); err != nil {
			t.Fatal(err)
		}
		if _, err := fs.ReadDir(recorder, "tenants"); err != nil {
			t.Fatal(err)
		}
	}
	inputs, complete := recorder.Inputs()
	m := &BuildRecord{Began: time.Now().Add(-time.Minute).UnixNano(), Inputs: inputs}
	if changed, _ := m.Changed(r); len(changed) != 2 || complete {
		t.Errorf("%d inputs changed, want the file and the folder; complete %t", len(changed), complete)
	}
}

// TestRefresh: a record for which much was read again is worth writing, and with the new beginning nothing is read.
func TestRefresh(t *testing.T) {
	r := &real{folder: t.TempDir()}
	began := time.Now().UnixNano()
	for i := range worthwhile + 1 {
		r.write(t, fmt.Sprintf("tenants/%d.yaml", i), "a")
	}
	m := r.read(t)
	m.Began = began
	if _, refresh := m.Changed(r); !refresh {
		t.Error("it is not written again")
	}
	m.Began, r.reads = time.Now().Add(time.Hour).UnixNano(), 0
	if _, refresh := m.Changed(r); refresh || r.reads > 0 {
		t.Errorf("refresh %t, reads %d", refresh, r.reads)
	}
}

// Sum makes a repository a tree.
func (r *real) Sum(name string) (uint32, error) {
	r.reads++
	data, err := os.ReadFile(filepath.Join(r.folder, name))
	return Checksum(data), err
}

// TestIntact: a tree in which somebody changed, replaced or removed a file is noticed.
func TestIntact(t *testing.T) {
	cases := map[string]struct {
		change func(t *testing.T, r *real)
		want   bool
	}{
		"Nothing":  {func(*testing.T, *real) {}, true},
		"Content":  {func(t *testing.T, r *real) { r.write(t, "c/a.yaml", "b") }, false},
		"Touched":  {func(t *testing.T, r *real) { touch(t, r, "c/a.yaml", time.Hour) }, false},
		"Gone":     {func(t *testing.T, r *real) { remove(t, r, "c/a.yaml") }, false},
		"Replaced": {func(t *testing.T, r *real) { r.write(t, "x", "a"); rename(t, r, "x", "c/a.yaml") }, false},
		"Beside":   {func(t *testing.T, r *real) { r.write(t, "c/mine", "a") }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &real{folder: t.TempDir()}
			r.write(t, "c/a.yaml", "a")
			stamp, _ := r.Stamp("c/a.yaml")
			m := &BuildRecord{Outputs: []OutputFile{{Path: "c/a.yaml", Stamp: stamp, Sum: Checksum([]byte("a"))}}, Ended: time.Now().Add(time.Hour).UnixNano()}
			tc.change(t, r)
			if got, _ := m.Intact(r); got != tc.want || r.reads > 0 {
				t.Errorf("intact %t, want %t; reads %d", got, tc.want, r.reads)
			}
		})
	}
}

// TestRacyOutput: of a file as young as the record the content counts.
func TestRacyOutput(t *testing.T) {
	r := &real{folder: t.TempDir()}
	r.write(t, "c/a.yaml", "b")
	stamp, _ := r.Stamp("c/a.yaml")
	for _, tc := range []struct {
		content string
		want    bool
	}{{"a", false}, {"b", true}} {
		m := &BuildRecord{Outputs: []OutputFile{{Path: "c/a.yaml", Stamp: stamp, Sum: Checksum([]byte(tc.content))}}, Ended: time.Now().UnixNano()}
		if got, _ := m.Intact(r); got != tc.want {
			t.Errorf("made %s, is b: intact %t", tc.content, got)
		}
	}
}

// TestIncomplete: what could not be read, or only in part, is not remembered.
func TestIncomplete(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("long"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(r *Recorder){
		"Part":  func(r *Recorder) { f, _ := r.Open("a"); _, _ = f.Read(make([]byte, 2)); f.Close() },
		"Error": func(r *Recorder) { _, _ = r.Open("../a") },
	} {
		r := NewRecorder(os.DirFS(folder))
		read(r)
		if _, complete := r.Inputs(); complete {
			t.Errorf("%s: it is remembered", name)
		}
	}
}

func touch(t *testing.T, r *real, name string, later time.Duration) {
	t.Helper()
	moment := time.Now().Add(later)
	if err := os.Chtimes(filepath.Join(r.folder, name), moment, moment); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, r *real, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(r.folder, from), filepath.Join(r.folder, to)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, r *real, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(r.folder, name)); err != nil {
		t.Fatal(err)
	}
}

// TestStamps: both ways to look at a file see the same.
func TestStamps(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("content"), 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := StampOf(info)
	var stat unix.Stat_t
	if err := unix.Lstat(name, &stat); err != nil {
		t.Fatal(err)
	}
	if got := StampFromUnix(&stat); got != want || got.Size != 7 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
