package trial

import (
	"bufio"
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

// readLog copies the launcher's log to out until it ends.
func (t *trial) readLog(ctx context.Context, pod string) logEnd {
	request := t.user.Logs.CoreV1().Pods(t.job.Namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: mpi.Container, Follow: true, Timestamps: true,
	})
	stream, err := request.Stream(ctx)
	if err != nil && ctx.Err() == nil {
		_, _ = fmt.Fprintf(t.out, "cannot read the log of %s: %v\n", pod, err)
	}
	if err != nil {
		return logEnd{}
	}
	defer func() { _ = stream.Close() }()
	return copyLog(stream, t.out)
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
