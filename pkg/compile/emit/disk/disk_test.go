package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, folder string) *Dir {
	t.Helper()
	dir, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func tree(t *testing.T, folder string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(folder, func(name string, _ fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(folder, name)
		names = append(names, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestDir: files replace files, folders come and go with them, and nothing else is left or touched.
func TestDir(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "dist")
	dir := open(t, folder)
	for _, content := range []string{"one", "two"} {
		if err := dir.WriteFile("a/b/c.yaml", []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "a", "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := dir.ReadFile("a/b/c.yaml"); err != nil || string(data) != "two" {
		t.Errorf("read %q, %v", data, err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/b", "a/b/c.yaml", "a/mine"}, tree(t, folder)); diff != "" {
		t.Errorf("after writing (-want +got):\n%s", diff)
	}
	if err := dir.Remove("a/b/c.yaml"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".", "a", "a/mine"}, tree(t, folder)); diff != "" {
		t.Errorf("after removal (-want +got):\n%s", diff)
	}
	if _, err := dir.ReadFile("a/b/c.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file reads with %v", err)
	}
}

// TestInterrupted: the temporary file of a build that was killed is gone with the next one.
func TestInterrupted(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, temporary), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, folder)
	if diff := cmp.Diff([]string{"."}, tree(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSymlink: a link out of the folder is not followed.
func TestSymlink(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, folder).WriteFile("link/a.yaml", []byte("x")); err == nil {
		t.Error("a file was written through a link")
	}
	if diff := cmp.Diff([]string{"."}, tree(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

// TestBusy: a second build into the same folder, by whatever name, fails at once and changes nothing; after the first it works.
func TestBusy(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder)
	if err := os.WriteFile(filepath.Join(folder, temporary), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{folder, link} {
		if _, err := Open(name); !errors.Is(err, ErrBusy) {
			t.Errorf("a second Open of %s gives %v, want ErrBusy", name, err)
		}
	}
	if diff := cmp.Diff([]string{".", temporary}, tree(t, folder)); diff != "" {
		t.Errorf("the temporary file of the first build (-want +got):\n%s", diff)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, folder)
}

const holdFolder = "DISK_TEST_HOLD"

// TestHold is not a test: TestKilled starts it as a process that holds a folder until it is killed.
func TestHold(t *testing.T) {
	folder := os.Getenv(holdFolder)
	if folder == "" {
		t.Skip("only for TestKilled")
	}
	open(t, folder)
	fmt.Println("held")
	select {}
}

// TestKilled: a build that is killed leaves no lock.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestHold$")
	holder.Env = append(os.Environ(), holdFolder+"="+folder)
	output, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(output).ReadString('\n'); line != "held\n" {
		t.Errorf("the holder says %q", line)
	}
	if _, err := Open(folder); !errors.Is(err, ErrBusy) {
		t.Errorf("while another process has the folder: %v, want ErrBusy", err)
	}
	_ = holder.Process.Kill()
	_ = holder.Wait() // says that it was killed
	open(t, folder)
}
