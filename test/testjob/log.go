package testjob

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// logEnd is what was in a log.
type logEnd struct {
	ranks     []Rank
	firstRank time.Time
}

// readLog copies the launcher's log to out until it ends. While no rank has reported it reads on after the container was
// started again; that of a container that crashed is gone by then.
func (t *trial) readLog(ctx context.Context, pod string) logEnd {
	var shown string
	for first := true; ; first = false {
		over := t.over.Load() // Before the log is read: what is read after the end is all.
		var log bytes.Buffer
		out := io.Writer(&log)
		if first {
			out = io.MultiWriter(&log, t.out)
		}
		end := t.readOnce(ctx, pod, out)
		if !first && log.String() != shown {
			_, _ = t.out.Write(log.Bytes())
		}
		shown = log.String()
		if len(end.ranks) > 0 || over || ctx.Err() != nil {
			return end
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (t *trial) readOnce(ctx context.Context, pod string, out io.Writer) logEnd {
	request := t.user.Logs.CoreV1().Pods(t.job.Namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: mpi.Container, Follow: true, Timestamps: true,
	})
	stream, err := request.Stream(ctx)
	if err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(out, "cannot read the log of %s: %v\n", pod, err)
	}
	if err != nil {
		return logEnd{}
	}
	defer func() { _ = stream.Close() }()
	return copyLog(stream, out)
}

// copyLog copies lines without their time stamps and collects the ranks.
func copyLog(log io.Reader, out io.Writer) logEnd {
	var end logEnd
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		stamp, line, _ := strings.Cut(lines.Text(), " ")
		_, _ = fmt.Fprintln(out, line)
		rank, ok := ParseRank(line)
		if !ok {
			continue
		}
		end.ranks = append(end.ranks, rank)
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && end.firstRank.IsZero() {
			end.firstRank = at
		}
	}
	return end
}
