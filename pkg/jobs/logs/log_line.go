package logs

import (
	"fmt"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// LogSource is a container of a pod whose output is read.
type LogSource struct {
	Pod, UID, Container string
	// Role is the replicated job of the pod, launcher or node; Index its number in there.
	Role  string
	Index int
	// Machine is where the pod runs, empty before it is scheduled.
	Machine string
}

// Label is the short name of a source within its job: `launcher`, or `node-3`.
func (s LogSource) Label() string {
	if s.Role == mpi.LauncherJob {
		return s.Role
	}
	return fmt.Sprintf("%s-%d", s.Role, s.Index)
}

func (s LogSource) containerKey() string { return s.UID + "/" + s.Container }

// Line is a line of output.
type Line struct {
	// Time is when the machine of the pod took the line over from the program, by the clock of that machine.
	Time   time.Time
	Source *LogSource
	// Rank is the rank that printed it, where the launcher tags output; nil where nothing says it.
	Rank *int
	// Raw is what the program printed, without the end of the line; Text is that without the launcher's tag.
	Raw, Text string
	// Continued: this is more of the line before, which was longer than MaxLine.
	Continued bool
}

// MaxLine is the length in bytes, with its time, after which a line goes on in another one, so that a program which never ends its line takes no
// memory without end.
const MaxLine = 1 << 20

// parseLine reads a line as kubelet writes it when asked for times (`2006-01-02T15:04:05.999999999Z text`). What has no time is a word of
// kubelet itself, and stamped is false.
func parseLine(source *LogSource, text string) (line Line, stamped bool) {
	stamp, rest, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		rest = text
	}
	rest = strings.TrimSuffix(rest, "\r")
	line = Line{Time: at, Source: source, Raw: rest}
	line.Rank, line.Text = diagnose.CutRankTag(rest)
	return line, err == nil
}
