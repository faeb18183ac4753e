package diagnose

import (
	"regexp"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// rankTag is what launchers put before lines of a rank: Open MPI with --tag-output (`[1,2]<stderr>:`, version 5
// `[prterun-x-1@1,2]<stderr>: `), horovodrun (`[2]<stderr>:`), PyTorch (`[rank2]: `), Hydra with -l (`[2] `).
var rankTag = regexp.MustCompile(`^(?:.{0,40}\[[^\[\]]*?,(\d+)\]<std(?:out|err|diag)>: ?|.{0,40}\[(\d+)\]<std(?:out|err)>: ?|\[rank(\d+)\]: ?|\[(\d+)\] )`)

// farTag is more than the length of what stands before a tag.
const farTag = 200

// CutRankTag returns the rank that a line is tagged with, nil without a tag, and the line without it.
func CutRankTag(line string) (rank *int, rest string) {
	if !strings.Contains(line[:min(len(line), farTag)], "[") {
		return nil, line
	}
	rank, rest, common := cutCommonTag(line)
	if !common {
		groups := rankTag.FindStringSubmatch(line)
		if groups == nil {
			return nil, line
		}
		rank, rest = parseRankNumber(strings.Join(groups[1:], "")), line[len(groups[0]):]
	}
	if inner, text := CutRankTag(rest); inner != nil {
		return inner, text
	}
	return rank, rest
}

// cutCommonTag reads the tag of Open MPI where nothing stands before it, as rankTag does, in a tenth of the time: logs have millions of lines.
func cutCommonTag(line string) (rank *int, rest string, found bool) {
	if line == "" || line[0] != '[' {
		return nil, "", false
	}
	inside, rest, closed := strings.Cut(line[1:], "]<")
	comma := strings.LastIndexByte(inside, ',')
	stream, rest, ended := strings.Cut(rest, ">:")
	if !closed || !ended || comma < 0 || strings.ContainsAny(inside, "[]") || stream != "stdout" && stream != "stderr" && stream != "stddiag" {
		return nil, "", false
	}
	for _, digit := range []byte(inside[comma+1:]) {
		if digit < '0' || digit > '9' {
			return nil, "", false
		}
	}
	return parseRankNumber(inside[comma+1:]), strings.TrimPrefix(rest, " "), comma+1 < len(inside)
}

// LinesOfRankOrAll returns the lines of a rank, or all lines when none is tagged as its own.
func LinesOfRankOrAll(lines []string, rank *int) []string {
	if rank == nil {
		return lines
	}
	if own := LinesTaggedWith(lines, *rank); len(own) > 0 {
		return own
	}
	return lines
}

// LinesTaggedWith returns the lines that are tagged as those of a rank.
func LinesTaggedWith(lines []string, rank int) (own []string) {
	for _, line := range lines {
		if by, _ := CutRankTag(StripEscapes(line)); by != nil && *by == rank {
			own = append(own, line)
		}
	}
	return own
}

// parseRankNumber reads a rank. Text that is neither a number nor a rank of a job is nil.
func parseRankNumber(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > mpi.MaxNodes*mpi.MaxSlotsPerNode {
		return nil
	}
	return &n
}
