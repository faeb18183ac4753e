package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/training"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// outputTail passes the output of the user's command on and keeps the end of it, by which a failure is explained.
type outputTail struct {
	// files are what the command gets for its standard streams.
	files  []*os.File
	output []*copiedStream

	// judged is the last write when warning was made of the output.
	judged  time.Time
	warning *mpi.JobWarning
}

// copiedStream is one stream.
type copiedStream struct {
	read, write *os.File
	to          *os.File
	done        chan struct{}
	// progress reads the text too, if it is not nil.
	progress *training.Stream

	mu   sync.Mutex
	last []byte
	// shortened reports whether text before last was dropped: last may begin within a line.
	shortened bool
	// wroteAt is when something was written for the last time.
	wroteAt time.Time
	// daemonLostAt is when a launcher said for the last time that it lost a daemon.
	lostAt time.Time
}

const (
	// tailBytes is how much of a stream is kept. Many ranks that fail together print a traceback each.
	tailBytes = 256 << 10
	// lastOutput is how long the output of a command that has ended may be held open by its descendants.
	lastOutput = time.Second
)

// newOutputTail returns a tail of the files, which are standard input, output and error. A terminal is left alone: programs
// behave differently on one.
func newOutputTail(files []*os.File) (*outputTail, error) {
	t := &outputTail{files: append([]*os.File(nil), files...)}
	for i := 1; i < len(files) && i < 3; i++ {
		if files[i] == nil || isTerminal(files[i]) {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.closeFiles()
			return nil, fmt.Errorf("keep the output of the command: %w", err)
		}
		t.files[i] = write
		t.output = append(t.output, &copiedStream{read: read, write: write, to: files[i], done: make(chan struct{})})
	}
	return t, nil
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// followProgress lets a tracker read the output, from startCopying on.
func (t *outputTail) followProgress(tracker *training.Tracker) {
	for _, c := range t.output {
		c.progress = tracker.NewStream()
	}
}

// startCopying is called when the command has its files.
func (t *outputTail) startCopying() {
	for _, c := range t.output {
		c.write.Close()
		go c.copyUntilEnd()
	}
}

// closeFiles is called when the command could not be started.
func (t *outputTail) closeFiles() {
	for _, c := range t.output {
		c.write.Close()
		c.read.Close()
	}
}

// awaitLastLines is called when the command has ended. It returns the last lines of standard output and then those of standard error,
// once all that the command wrote has been passed on.
func (t *outputTail) awaitLastLines() []string {
	release := time.Now().Add(lastOutput)
	for _, c := range t.output {
		_ = c.read.SetReadDeadline(release) // pipes take deadlines
		<-c.done
	}
	return t.lastLines()
}

// lastLines returns the last lines of standard output and then those of standard error, as far as they have come.
func (t *outputTail) lastLines() (lines []string) {
	for _, c := range t.output {
		lines = append(lines, c.keptLines()...)
	}
	return lines
}

// lastStream is the one that was written last.
func (t *outputTail) lastStream() *copiedStream {
	last, at := t.output[0], t.lastWrite()
	for _, c := range t.output {
		c.mu.Lock()
		if c.wroteAt.Equal(at) {
			last = c
		}
		c.mu.Unlock()
	}
	return last
}

// lastWrite is when something was written for the last time, zero for never.
func (t *outputTail) lastWrite() time.Time {
	return t.latest(func(c *copiedStream) time.Time { return c.wroteAt })
}

// daemonLostAt is when a launcher said for the last time that it lost a daemon, zero for never.
func (t *outputTail) daemonLostAt() time.Time {
	return t.latest(func(c *copiedStream) time.Time { return c.lostAt })
}

// latest returns the latest time of all streams.
func (t *outputTail) latest(of func(*copiedStream) time.Time) time.Time {
	var last time.Time
	for _, c := range t.output {
		c.mu.Lock()
		if at := of(c); at.After(last) {
			last = at
		}
		c.mu.Unlock()
	}
	return last
}

// copyUntilEnd ends when nobody can write any more, when nobody reads any more, or at the deadline, and then with what the pipe
// still holds: what the command itself wrote came first. A command whose output nobody reads must get SIGPIPE, so the pipe
// is closed then.
func (c *copiedStream) copyUntilEnd() {
	defer close(c.done)
	defer c.progress.EndLine()
	defer c.read.Close()
	if _, err := io.Copy(c, c.read); !os.IsTimeout(err) {
		return
	}
	left := 0
	if raw, err := c.read.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	_ = c.read.SetReadDeadline(time.Time{})
	_, _ = io.CopyN(c, c.read, int64(left))
}

// Write keeps the text and passes it on.
func (c *copiedStream) Write(text []byte) (int, error) {
	c.keepText(text)
	_, _ = c.progress.Write(text) // it never fails
	return c.to.Write(text)
}

func (c *copiedStream) keepText(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wroteAt = time.Now()
	c.last = append(c.last, text...)
	if bytes.Contains(c.last[max(0, len(c.last)-len(text)-len(diagnose.LostDaemonMarker)):], []byte(diagnose.LostDaemonMarker)) {
		c.lostAt = time.Now()
	}
	if over := len(c.last) - tailBytes; over > tailBytes {
		c.last = append(c.last[:0], c.last[over:]...)
		c.shortened = true
	}
}

// keptLines returns what is kept. The first line is left out when its beginning may be lost.
func (c *copiedStream) keptLines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.last[max(0, len(c.last)-tailBytes):]
	if c.shortened || len(text) < len(c.last) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
