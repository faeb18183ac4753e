package diagnose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// A launcherReport is how a launcher says which rank ended badly.
type launcherReport struct {
	line *regexp.Regexp
	// each says that the launcher names every rank, the first one first. Others name only the first.
	each bool
}

// launcherReports are those of Open MPI, of Intel's Hydra (MPICH's names no rank), of horovodrun and of torchrun. One may go on in the lines
// behind it.
var launcherReports = []launcherReport{
	{rx(`process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on\s+signal (?P<signal>\d+)`), false},
	{rx(`^\s*Process name: \[.*,(?P<rank>\d+)\]\s+Exit code:\s+(?P<code>\d+)`), false},
	{rx(`^=\s+RANK (?P<rank>\d+) PID \d+ RUNNING AT (?P<host>\S+)\s+=\s+EXIT (?:CODE|STATUS): (?P<code>\d+)`), true},
	{rx(`^=\s+RANK (?P<rank>\d+) PID \d+ RUNNING AT (?P<host>\S+)\s+=\s+KILLED BY SIGNAL: (?P<signal>\d+)`), true},
	{rx(`^Process (?P<rank>\d+) exit with status code (?P<code>\d+)`), true},
	{rx(`^\s*rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: (?:-(?P<signal>\d+)|(?P<code>\d+)) `), true},
}

// reportLines is how many lines a report takes at most.
const reportLines = 2

// ReportedRank returns the rank that the launcher names as the first that ended badly, nil for none. It is the word of the last
// launch in the output. The host is the launcher's name for it, or empty.
func ReportedRank(lines []string) *mpi.RankEnd {
	var last *mpi.RankEnd
	each := false
	for i := range lines {
		end, of := rankEndInLines(lines[i:min(i+reportLines, len(lines))])
		if end == nil || each && of.each {
			continue
		}
		last, each = end, of.each
	}
	return last
}

func rankEndInLines(lines []string) (*mpi.RankEnd, launcherReport) {
	if !slices.ContainsFunc([]string{"rank", "RANK", "Process "}, func(word string) bool { return strings.Contains(lines[0], word) }) {
		return nil, launcherReport{}
	}
	var plain []string
	for _, line := range lines {
		_, line := CutRankTag(StripEscapes(line))
		plain = append(plain, line)
	}
	text := strings.Join(plain, "\n")
	for _, report := range launcherReports {
		if found := report.line.FindStringIndex(text); found != nil {
			return parseRankEnd(report.line, text[found[0]:found[1]]), report
		}
	}
	return nil, launcherReport{}
}

// parseRankEnd reads a report, nil for numbers that no rank, code or signal has.
func parseRankEnd(expression *regexp.Regexp, text string) *mpi.RankEnd {
	rank := parseRankNumber(namedGroup(expression, text, "rank"))
	code, codeErr := strconv.ParseUint(namedGroup(expression, text, "code"), 10, 8)
	signal, signalErr := strconv.ParseUint(namedGroup(expression, text, "signal"), 10, 6)
	end := &mpi.RankEnd{Rank: rank, Code: int(code), Host: namedGroup(expression, text, "host")}
	switch {
	case rank == nil, codeErr != nil && signalErr != nil, code == 0 && signal == 0:
		return nil
	case signalErr == nil:
		end.Code, end.Signal = 128+int(signal), SignalName(int(signal))
	}
	return end
}
