package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Streams are the standard streams of a process that is not given files.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Started is called with the number of the process once it runs and its streams flow, and before Run returns; nil is nobody.
	Started func(pid int)
	// Ended is called once the process has ended, before its output has, which a descendant may hold; nil is nobody. Asked says
	// that it ended because the context had.
	Ended func(status Status, asked bool)
}

const (
	// heldOutput is how long the output of an ended process stays open when a descendant holds it. OpenSSH would wait
	// forever.
	heldOutput = time.Second
	// endGrace is the time between SIGTERM and SIGKILL when nobody wants the process any more. It is short: the
	// process has lost its launcher.
	endGrace = 300 * time.Millisecond
	// blockedOutput is how long output may wait for a reader who has probably gone.
	blockedOutput = 100 * time.Millisecond
	// alreadyDead is how long the end of a process may take to be seen that came before that of the context: the launcher of a
	// daemon that was killed may let go of it before its parent has heard of the death.
	alreadyDead = 20 * time.Millisecond
)

// Run starts a process with pipes, copies its streams and returns how it ended. All that the process wrote is delivered
// before Run returns, as long as the context lasts. The end of the context ends the process group.
func (r *Reaper) Run(ctx context.Context, path string, argv, env []string, streams Streams) (Status, error) {
	stdin, err := openPipe()
	if err != nil {
		return 0, err
	}
	defer stdin.close()
	stdout, err := openPipe()
	if err != nil {
		return 0, err
	}
	defer stdout.close()
	stderr, err := openPipe()
	if err != nil {
		return 0, err
	}
	defer stderr.close()
	p, err := r.Start(Spec{Path: path, Argv: argv, Env: env, Files: []*os.File{stdin.read, stdout.write, stderr.write}})
	if err != nil {
		return 0, err
	}
	stdin.read.Close()
	stdout.write.Close()
	stderr.write.Close()

	go copyInput(stdin.write, streams.Stdin)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		other := make(chan struct{})
		go func() { defer close(other); copyOutput(streams.Stderr, stderr.read) }()
		copyOutput(streams.Stdout, stdout.read)
		<-other
	}()
	if streams.Started != nil {
		streams.Started(p.pid)
	}
	if asked, ended := awaitProcess(ctx, p); ended && streams.Ended != nil {
		streams.Ended(p.Status(), asked)
	}
	release := time.Now().Add(heldOutput)
	_ = stdout.read.SetReadDeadline(release) // pipes take deadlines
	_ = stderr.read.SetReadDeadline(release)
	awaitOutput(ctx, drained)
	select {
	case <-p.Done():
		return p.Status(), nil
	default:
		return 0, fmt.Errorf("`%s` cannot be ended: it waits inside the kernel", argv[0])
	}
}

// awaitProcess returns when the process has ended, by itself or because it was asked to when the context did, or cannot be ended.
func awaitProcess(ctx context.Context, p *Process) (asked, ended bool) {
	select {
	case <-p.Done():
		return false, true
	case <-ctx.Done():
	}
	select {
	case <-p.Done():
		return false, true
	case <-time.After(alreadyDead):
		p.EndGroup(endGrace)
	}
	select {
	case <-p.Done():
		return true, true
	default:
		return true, false
	}
}

func awaitOutput(ctx context.Context, drained <-chan struct{}) {
	select {
	case <-drained:
	case <-ctx.Done():
		select {
		case <-drained:
		case <-time.After(blockedOutput):
		}
	}
}

// copyInput copies the input and closes it at its end. It ends early when the process stops reading.
func copyInput(to *os.File, from io.Reader) {
	_, _ = io.Copy(to, from) // the process decides how much it reads
	to.Close()
}

// copyOutput copies the output until its end, or until the deadline of the pipe and then whatever the pipe still holds: what
// the process itself wrote came first.
func copyOutput(to io.Writer, from *os.File) {
	if _, err := io.Copy(to, from); !os.IsTimeout(err) {
		return
	}
	left, err := bufferedBytes(from)
	if err != nil || left == 0 {
		return
	}
	_ = from.SetReadDeadline(time.Time{})
	_, _ = io.CopyN(to, from, int64(left))
}

// bufferedBytes returns the number of bytes that a pipe holds.
func bufferedBytes(pipe *os.File) (int, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var ioctlErr error
	if err := raw.Control(func(fd uintptr) { n, ioctlErr = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); err != nil {
		return 0, err
	}
	return n, ioctlErr
}

type pipe struct{ read, write *os.File }

func openPipe() (pipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return pipe{}, fmt.Errorf("open a pipe: %w", err)
	}
	return pipe{read, write}, nil
}

// close closes what is still open; closing twice is harmless.
func (p pipe) close() {
	p.read.Close()
	p.write.Close()
}
