package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
)

// linesAtOnce is how many lines an event has at most, and bytesAtOnce how long they are before it is sent.
const (
	linesAtOnce = 500
	bytesAtOnce = 256 << 10
)

// LogLine is a line of output on the page.
type LogLine struct {
	Time time.Time `json:"time"`
	Pod  string    `json:"pod"`
	Role string    `json:"role"`
	Rank *int      `json:"rank,omitempty"`
	Text string    `json:"text"`
}

// logRequest is which lines are asked for.
type logRequest struct {
	options logs.Options
	filter  logs.LineFilter
}

// parseLogRequest reads pod, role, rank, since, tail and follow.
func (s *Server) parseLogRequest(r *http.Request) (logRequest, error) {
	query := r.URL.Query()
	q := logRequest{options: logs.Options{Follow: query.Get("follow") == "true", Most: s.limits.Logs}}
	pod, role := query.Get("pod"), query.Get("role")
	q.options.Want = func(source logs.LogSource) bool {
		return (pod == "" || source.Pod == pod) && (role == "" || source.Role == role)
	}
	if text := query.Get("rank"); text != "" {
		rank, err := strconv.Atoi(text)
		if err != nil || rank < 0 {
			return q, badRequest{fmt.Sprintf("`rank=%s` is no rank: give a number from 0", text)}
		}
		q.filter.Ranks = []int{rank}
	}
	if text := query.Get("since"); text != "" {
		since, err := time.ParseDuration(text)
		if err != nil || since < 0 {
			return q, badRequest{fmt.Sprintf("`since=%s` is no duration: give one such as 10m", text)}
		}
		q.options.SinceSeconds = max(int64(since/time.Second), 1)
	}
	if text := query.Get("tail"); text != "" {
		tail, err := strconv.ParseInt(text, 10, 64)
		if err != nil || tail < 0 {
			return q, badRequest{fmt.Sprintf("`tail=%s` is no number of lines", text)}
		}
		q.options.Tail = &tail
	}
	return q, nil
}

// streamLogs sends the output of a job in order of time, or hands it over as a file.
func (s *Server) streamLogs(v *visit, out *stream) error {
	q, err := s.parseLogRequest(v.Request)
	if err != nil {
		return err
	}
	key := v.key()
	from := podlogs.JobLogs{Namespace: key.Namespace, Name: key.Name, Reader: v.c, Core: v.core}
	if v.isDownload() {
		return download(v, out, from, q)
	}
	q.options.Note = func(text string) { _ = out.send("note", map[string]string{"message": text}) }
	result, err := logs.Run(v.Context(), from, q.options, func(lines []logs.Line) error {
		return sendLines(out, lines, q.filter)
	})
	if err != nil {
		return err
	}
	if result.Sources == 0 {
		q.options.Note("no pod of the job has a log: there are none yet, or they are gone")
	}
	return out.send("end", struct{}{})
}

func sendLines(out *stream, lines []logs.Line, filter logs.LineFilter) error {
	var batch []LogLine
	size := 0
	for i, line := range lines {
		if filter.Matches(line) {
			size += len(line.Text)
			batch = append(batch, LogLine{
				Time: line.Time, Pod: line.Source.Pod, Role: line.Source.Role, Rank: line.Rank, Text: line.Text,
			})
		}
		if len(batch) == linesAtOnce || size >= bytesAtOnce || i == len(lines)-1 && len(batch) > 0 {
			if err := out.send("lines", batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
	}
	return nil
}

// download writes all lines as a text file.
func download(v *visit, out *stream, from logs.Cluster, q logRequest) error {
	out.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", v.key().Name+".log"))
	printer := &logs.Printer{Filter: q.filter, Format: logs.Text, Labels: true, Times: true, Terminal: true}
	printer.SetOutput(writerFunc(func(text []byte) (int, error) { return len(text), out.write(string(text)) }))
	q.options.Follow = false
	_, err := logs.Run(v.Context(), from, q.options, printer.PrintLines)
	return err
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

// Write calls the function.
func (f writerFunc) Write(text []byte) (int, error) { return f(text) }
