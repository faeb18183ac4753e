package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"
)

// TestRead reads a real folder with what an attacker may commit: nothing blocks, nothing outside is read, and nothing is left out
// silently.
func TestRead(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.yaml")
	write := func(name, data string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(target, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "secret")
	write(filepath.Join(folder, "tenants/a.yaml"), "a")
	write(filepath.Join(folder, "tenants/b.YAML"), "b")
	write(filepath.Join(folder, "tenants/README.md"), "c")
	write(filepath.Join(folder, "tenants/large.yaml"), string(make([]byte, MaxFileSize+1)))
	write(filepath.Join(folder, "overlays/README.md"), "d")
	write(filepath.Join(folder, "overlays/y/cluster.yml"), "e")
	link("a.yaml", "tenants/inside.yaml")
	link(outside, "tenants/out.yaml")
	link("nowhere", "tenants/dangling.yaml")
	link("/dev/zero", "tenants/zero.yaml")
	link(filepath.Dir(outside), "overlays/out")
	link(outside, "overlays/x/cluster.yaml")
	if err := syscall.Mkfifo(filepath.Join(folder, "tenants/pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "tenants/folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	link("folder.yaml", "tenants/link.yaml")
	link("folder.yaml", "tenants/linked")
	link(filepath.Dir(outside), "tenants/away")
	link("README.md", "tenants/READ")
	link("pipe.yaml", "tenants/piped.yaml")
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	// The package os has no name for the error of a link that leads out of a root.
	anyError := errors.New("any error")
	unspecific := map[string]bool{"tenants/out.yaml": true, "tenants/zero.yaml": true, "overlays/out": true, "overlays/x/cluster.yaml": true, "tenants/away": true}
	want := map[string]error{
		"tenants/a.yaml": nil, "tenants/inside.yaml": nil, "tenants/b.YAML": ErrIgnored, "tenants/large.yaml": ErrTooLarge,
		"tenants/out.yaml": anyError, "tenants/dangling.yaml": fs.ErrNotExist, "tenants/zero.yaml": anyError,
		"tenants/pipe.yaml": ErrNotRegular, "tenants/piped.yaml": ErrNotRegular, "tenants/link.yaml": ErrNotRegular,
		"tenants/linked": ErrNotRegular, "tenants/away": anyError,
		"overlays/out": anyError, "overlays/x/cluster.yaml": anyError, "overlays/y/cluster.yml": ErrIgnored,
	}
	for _, file := range Find(root.FS()) {
		file.Load(root.FS())
		expected, known := want[file.Path]
		delete(want, file.Path)
		switch {
		case !known:
			t.Errorf("%s was read", file.Path)
		case expected == nil && (file.Err != nil || string(file.Data) != "a"):
			t.Errorf("%s: %v, content %q", file.Path, file.Err, file.Data)
		case file.Err == nil && expected != nil, !unspecific[file.Path] && !errors.Is(file.Err, expected):
			t.Errorf("%s: error %v, want %v", file.Path, file.Err, expected)
		case expected != nil && len(file.Data) > 0:
			t.Errorf("%s: content %q in spite of an error", file.Path, file.Data)
		}
	}
	for name := range want {
		t.Errorf("%s was left out silently", name)
	}
}

// TestReadBounded: the limit holds for files that do not tell their size.
func TestReadBounded(t *testing.T) {
	if _, err := ReadBounded(os.DirFS("/proc/self"), "status", 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

// TestLine: lines end with LF, CRLF or CR, and the last one needs no end.
func TestLine(t *testing.T) {
	file := NewFile("a.yaml", []byte("\ufeffa\r\nb\rc\n\nd"))
	for i, want := range []string{"", "a", "b", "c", "", "d", ""} {
		if got := file.Line(i); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// TestFindJsonnet: Jsonnet files are specs like others, libraries are none.
func TestFindJsonnet(t *testing.T) {
	root := fstest.MapFS{}
	for _, name := range []string{
		"tenants/a.jsonnet", "tenants/lib.libsonnet", "tenants/A.JSONNET", "tenants/_b.jsonnet", "overlays/x/cluster.jsonnet", "overlays/y/other.jsonnet",
	} {
		root[name] = &fstest.MapFile{Data: []byte("{}")}
	}
	var got []string
	for _, file := range Find(root) {
		got = append(got, fmt.Sprint(file.Path, " ", file.Language(), " ", file.Err))
	}
	want := []string{"overlays/x/cluster.jsonnet 1 <nil>", "tenants/A.JSONNET 0 file is ignored", "tenants/a.jsonnet 1 <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
