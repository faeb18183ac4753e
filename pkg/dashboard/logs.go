package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// linesAtOnce is how many lines an event has at most, and bytesAtOnce how long they are before it is sent.
const (
	linesAtOnce = 500
	bytesAtOnce = 256 << 10
)

// waitingBytes bounds the lines of one log that a slow browser has not taken.
const waitingBytes = 8 << 20

// LogLine is a line of output on the page.
type LogLine struct {
	Time time.Time `json:"time"`
	Pod  string    `json:"pod"`
	Role string    `json:"role"`
	Rank *int      `json:"rank,omitempty"`
	Text string    `json:"text"`
}

// mostNumber bounds numbers in queries.
const mostNumber = 1 << 30

var validDuration = regexp.MustCompile(durationPattern)

// logRequest is which lines are asked for.
type logRequest struct {
	options logs.Options
	filter  logs.LineFilter
	// attempt is the number of restarts before the pods were made, -1 for the live pods.
	attempt int
	// times puts the time before each line of a download.
	times bool
}

// parseLogRequest reads pod, role, rank, attempt, since, tail, timestamps and follow.
func (s *Server) parseLogRequest(r *http.Request) (logRequest, error) {
	query := r.URL.Query()
	q := logRequest{
		options: logs.Options{
			Follow: query.Get("follow") == "true", Most: s.limits.Logs, MostBytes: waitingBytes,
		},
		attempt: -1, times: query.Get("timestamps") != "false",
	}
	for _, name := range []string{"follow", "timestamps", "download"} {
		if text := query.Get(name); text != "" && text != "true" && text != "false" {
			return q, badRequest{fmt.Sprintf("`%s=%s` is neither true nor false", name, text)}
		}
	}
	pod, role := query.Get("pod"), query.Get("role")
	q.options.Want = func(source logs.LogSource) bool {
		return (pod == "" || source.Pod == pod) && (role == "" || source.Role == role)
	}
	numbers := map[string]int64{}
	for _, name := range []string{"rank", "attempt", "tail"} {
		if text := query.Get(name); query.Has(name) {
			number, err := strconv.ParseInt(text, 10, 64)
			if err != nil || number < 0 || number > mostNumber {
				return q, badRequest{fmt.Sprintf("`%s=%s` is no number from 0 to %d", name, text, mostNumber)}
			}
			numbers[name] = number
		}
	}
	if rank, given := numbers["rank"]; given {
		q.filter.Ranks = []int{int(rank)}
	}
	if attempt, given := numbers["attempt"]; given {
		q.attempt = int(attempt)
	}
	if tail, given := numbers["tail"]; given {
		q.options.Tail = &tail
	}
	if text := query.Get("since"); query.Has("since") {
		since, err := time.ParseDuration(text)
		if err != nil || !validDuration.MatchString(text) {
			return q, badRequest{fmt.Sprintf("`since=%s` is no duration: give one such as 10m", text)}
		}
		q.options.SinceSeconds = max(int64(since/time.Second), 1)
	}
	return q, nil
}

// streamLogs sends the output of a job in order of time, or hands it over as a file.
func (s *Server) streamLogs(v *visit, out *stream) error {
	q, err := s.parseLogRequest(v.Request)
	if err != nil {
		return err
	}
	note := func(text string) { _ = out.send("note", map[string]string{"message": text}) }
	give := func(lines []logs.Line) error { return sendLines(out, lines, q.filter) }
	if v.isDownload() {
		q.options.Follow = false
		note, give = func(string) {}, downloadTo(v, out, q)
	}
	q.options.Note = note
	switch shown, err := v.readLogs(q, note, give); {
	case err != nil:
		return err
	case v.isDownload():
		return nil
	case !shown:
		note("no pod of the job has a log: there are none yet, or they are gone")
	}
	return out.send("end", struct{}{})
}

// readLogs gives the lines of the pods. Of a job that is over or gone, and of earlier attempts, it gives the lines in the
// history, if any. It reports whether there was anything to read.
func (v *visit) readLogs(q logRequest, note func(string), give func([]logs.Line) error) (bool, error) {
	key, trainJob := v.key(), &trainer.TrainJob{}
	err := v.c.Get(v.Context(), key, trainJob)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	own := func(found *kept.Job) bool { return trainJob.UID == "" || found.UID == trainJob.UID }
	switch {
	case err != nil:
		if shown, failed := v.sendKeptLogs(q, own, note, give); shown || failed != nil {
			return shown, failed
		}
		return false, err
	case q.attempt >= 0:
		return v.sendKeptLogs(q, own, note, give)
	case mpijob.IsFinished(trainJob): // the nodes are gone, of which only the history has lines
		whole := func(found *kept.Job) bool { return own(found) && found.Log.Whole }
		if shown, err := v.sendKeptLogs(q, whole, note, give); shown || err != nil {
			return shown, err
		}
	}
	from := podlogs.JobLogs{Namespace: key.Namespace, Name: key.Name, Reader: v.c, Core: v.core}
	result, err := logs.Run(v.Context(), from, q.options, give)
	if err != nil || result.Sources > 0 {
		return true, err
	}
	return v.sendKeptLogs(q, own, note, give)
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

// downloadTo returns what writes lines as a text file.
func downloadTo(v *visit, out *stream, q logRequest) func([]logs.Line) error {
	out.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", v.key().Name+".log"))
	printer := &logs.Printer{Filter: q.filter, Format: logs.Text, Labels: true, Times: q.times, Terminal: true}
	printer.SetOutput(writerFunc(func(text []byte) (int, error) { return len(text), out.write(string(text)) }))
	return printer.PrintLines
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte) (int, error)

// Write calls the function.
func (f writerFunc) Write(text []byte) (int, error) { return f(text) }
