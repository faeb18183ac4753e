package gitfs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// settings keep git from running programs that the configuration of a repository names, and from reading another state
// than the recorded one. A repository of another account is read all the same, because nothing of it runs.
var settings = []string{
	"--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "core.warnAmbiguousRefs=true", "-c", "safe.directory=*",
}

// environment is this process's without variables that lead git to another repository. No transport is allowed, so that
// a partial clone fetches nothing.
func environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			kept = append(kept, variable)
		}
	}
	return append(kept, "LC_ALL=C", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0")
}

// command returns a command of git in a folder.
func command(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append(append([]string{"-C", folder}, settings...), args...)...) //nolint:gosec // no shell
	cmd.Env = environment()
	return cmd
}

// failedError is the error of a command that git refused. Its text is git's own.
type failedError struct{ stderr string }

func (e *failedError) Error() string {
	text := strings.TrimSpace(e.stderr)
	for _, prefix := range []string{"fatal: ", "error: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return "git: " + strings.Join(strings.Fields(text), " ")
}

// run returns the output of a command without the last line break, and its warnings.
func run(folder string, args ...string) (output, warnings string, err error) {
	cmd := command(folder, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = &failedError{stderr.String()}
	}
	return strings.TrimSuffix(stdout.String(), "\n"), stderr.String(), err
}

// objects is a process of git that hands out contents by their hashes. It starts with the first one, and ends with this
// process.
type objects struct {
	folder string

	mu     sync.Mutex
	input  io.Writer
	output *bufio.Reader
	// blobs are the contents that were read. Two revisions share most of them, and no caller changes them.
	blobs map[string][]byte
}

func (o *objects) start() error {
	if o.input != nil {
		return nil
	}
	cmd := command(o.folder, "cat-file", "--batch-command")
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	o.input, o.output = input, bufio.NewReaderSize(output, 1<<16)
	return nil
}

// ask sends a request about an object, and returns its size in bytes.
func (o *objects) ask(request, hash string) (int64, error) {
	if err := o.start(); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(o.input, "%s %s\n", request, hash); err != nil {
		return 0, fmt.Errorf("ask git for %s: %w", hash, err)
	}
	line, err := o.output.ReadString('\n')
	if err != nil {
		// It ends when an object of a partial clone would have to be fetched. The next request starts it again.
		o.input = nil
	}
	fields := strings.Fields(line)
	if err != nil || len(fields) != 3 {
		return 0, fmt.Errorf("%w: git has no %s", errMissing, hash)
	}
	return strconv.ParseInt(fields[2], 10, 64)
}

// size returns the size of a content in bytes, 0 if git does not have it.
func (o *objects) size(hash string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if data, found := o.blobs[hash]; found {
		return int64(len(data))
	}
	size, err := o.ask("info", hash)
	if err != nil {
		return 0
	}
	return size
}

// read returns a content.
func (o *objects) read(hash string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if data, found := o.blobs[hash]; found {
		return data, nil
	}
	size, err := o.ask("contents", hash)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // a line break follows
	if _, err := io.ReadFull(o.output, data); err != nil {
		return nil, fmt.Errorf("read %s from git: %w", hash, err)
	}
	o.blobs[hash] = data[:size]
	return data[:size], nil
}
