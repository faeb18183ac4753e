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

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// tail passes the output of the user's command on and keeps the end of it, by which a failure is explained.
type tail struct {
	// files are what the command gets for its standard streams.
	files  []*os.File
	output []*copied
}

// copied is one stream.
type copied struct {
	read, write *os.File
	to          *os.File
	done        chan struct{}

	mu   sync.Mutex
	last []byte
	// shortened reports whether text before last was dropped: last may begin within a line.
	shortened bool
	// lostAt is when a launcher said for the last time that it lost a daemon.
	lostAt time.Time
}

const (
	// tailBytes is how much of a stream is kept. Many ranks that fail together print a traceback each.
	tailBytes = 256 << 10
	// lastOutput is how long the output of a command that has ended may be held open by its descendants.
	lastOutput = time.Second
)

// newTail returns a tail of the files, which are standard input, output and error. A terminal is left alone: programs
// behave differently on one.
func newTail(files []*os.File) (*tail, error) {
	t := &tail{files: append([]*os.File(nil), files...)}
	for i := 1; i < len(files) && i < 3; i++ {
		if files[i] == nil || isTerminal(files[i]) {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			t.abandon()
			return nil, fmt.Errorf("keep the output of the command: %w", err)
		}
		t.files[i] = write
		t.output = append(t.output, &copied{read: read, write: write, to: files[i], done: make(chan struct{})})
	}
	return t, nil
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// started is called when the command has its files.
func (t *tail) started() {
	for _, c := range t.output {
		c.write.Close()
		go c.copy()
	}
}

// abandon is called when the command could not be started.
func (t *tail) abandon() {
	for _, c := range t.output {
		c.write.Close()
		c.read.Close()
	}
}

// end is called when the command has ended. It returns the last lines of standard output and then those of standard error,
// once all that the command wrote has been passed on.
func (t *tail) end() []string {
	release := time.Now().Add(lastOutput)
	var lines []string
	for _, c := range t.output {
		_ = c.read.SetReadDeadline(release) // pipes take deadlines
		<-c.done
		lines = append(lines, c.lines()...)
	}
	return lines
}

// lostAt is when a launcher said for the last time that it lost a daemon, zero for never.
func (t *tail) lostAt() time.Time {
	var last time.Time
	for _, c := range t.output {
		c.mu.Lock()
		if c.lostAt.After(last) {
			last = c.lostAt
		}
		c.mu.Unlock()
	}
	return last
}

// copy ends when nobody can write any more, when nobody reads any more, or at the deadline, and then with what the pipe
// still holds: what the command itself wrote came first. A command whose output nobody reads must get SIGPIPE, so the pipe
// is closed then.
func (c *copied) copy() {
	defer close(c.done)
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
func (c *copied) Write(text []byte) (int, error) {
	c.keep(text)
	return c.to.Write(text)
}

func (c *copied) keep(text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, text...)
	if bytes.Contains(c.last[max(0, len(c.last)-len(text)-len(diagnose.LostDaemonMarker)):], []byte(diagnose.LostDaemonMarker)) {
		c.lostAt = time.Now()
	}
	if over := len(c.last) - tailBytes; over > tailBytes {
		c.last = append(c.last[:0], c.last[over:]...)
		c.shortened = true
	}
}

// lines returns what is kept. The first line is left out when its beginning may be lost.
func (c *copied) lines() []string {
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
