package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

// TestBusy: a second build into the same folder, by whatever name, fails at once and changes nothing; after the first it works.
func TestBusy(t *testing.T) {
	folder := t.TempDir()
	first := open(t, folder)
	if err := first.Stage("c/a.yaml", []byte("half")); err != nil {
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
	if err := first.Commit(nil, nil); err != nil {
		t.Fatalf("what the first build has staged is disturbed: %v", err)
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
	// Nothing comes. A select without cases would be a deadlock to Go's runtime, which ends the process and with it what it holds.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestKilled: a build that is killed leaves no lock.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestHold$")
	holder.Env = append(os.Environ(), holdFolder+"="+folder)
	input, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
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
