package launch

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runTailed runs a command line with a tail, and returns what came out and what was kept.
func runTailed(t *testing.T, line string) (stdout, stderr string, kept []string) {
	t.Helper()
	files := []*os.File{nil, temporary(t), temporary(t)}
	output, err := newOutputTail(files)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", line)
	command.Stdout, command.Stderr = output.files[1], output.files[2]
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	output.startCopying()
	_ = command.Wait() // how it ends is not the matter
	kept = output.awaitLastLines()
	return content(t, files[1]), content(t, files[2]), kept
}

func temporary(t *testing.T) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func content(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTailPassesOutputOnAndKeepsItsEnd(t *testing.T) {
	stdout, stderr, kept := runTailed(t, "echo out; echo err >&2; printf unfinished")
	if stdout != "out\nunfinished" || stderr != "err\n" {
		t.Errorf("passed on %q, %q", stdout, stderr)
	}
	if diff := cmp.Diff([]string{"out", "unfinished", "err"}, kept); diff != "" {
		t.Error(diff)
	}
}

func TestTailOfMuchOutput(t *testing.T) {
	stdout, _, kept := runTailed(t, "seq 1 500000")
	if lines := strings.Count(stdout, "\n"); lines != 500000 {
		t.Errorf("%d lines were passed on", lines)
	}
	size := 0
	for _, line := range kept {
		size += len(line) + 1
	}
	if size > tailBytes || size < tailBytes/2 || kept[len(kept)-1] != "500000" || len(kept[0]) != 6 {
		t.Errorf("kept %d bytes, %q … %q", size, kept[0], kept[len(kept)-1])
	}
}

// Text is dropped when twice as much has come, and nothing need come after that.
func TestTailShortenedByTheLastWrite(t *testing.T) {
	const line = "123456789\n"
	var output copiedStream
	output.keepText([]byte(strings.Repeat(line, 2*tailBytes/len(line)+1)))
	for _, kept := range output.keptLines() {
		if kept+"\n" != line {
			t.Fatalf("kept the line %q", kept)
		}
	}
}

func TestTailDoesNotWaitForDescendants(t *testing.T) {
	stdout, _, kept := runTailed(t, "sleep 5 & echo done")
	if stdout != "done\n" || len(kept) != 1 {
		t.Errorf("passed on %q, kept %q", stdout, kept)
	}
}

func TestTailEndsACommandThatNobodyReads(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	output, err := newOutputTail([]*os.File{nil, write, nil})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("yes")
	command.Stdout = output.files[1]
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	output.startCopying()
	if err := command.Wait(); err == nil {
		t.Error("it writes forever")
	}
	output.awaitLastLines()
}

func TestTailOfACommandThatDoesNotStart(t *testing.T) {
	output, err := newOutputTail([]*os.File{nil, temporary(t), nil})
	if err != nil {
		t.Fatal(err)
	}
	output.closeFiles()
	if _, err := io.Copy(&bytes.Buffer{}, output.output[0].read); err == nil {
		t.Error("the pipe is still open")
	}
}

// When a launcher said that it lost a daemon tells which launch it was.
func TestTailKnowsWhenADaemonWasLost(t *testing.T) {
	words := "PRTE has lost communication with a remote daemon.\n"
	for name, c := range map[string]struct {
		parts []string
		want  bool
	}{
		"at once":   {[]string{"step 1\n" + words}, true},
		"in pieces": {[]string{"step 1\n" + words[:20], words[20:]}, true},
		"never":     {[]string{"step 1\n", "PRTE has lost"}, false},
	} {
		output := outputTail{output: []*copiedStream{{}, {}}}
		for _, part := range c.parts {
			output.output[1].keepText([]byte(part))
		}
		if got := !output.daemonLostAt().IsZero(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
