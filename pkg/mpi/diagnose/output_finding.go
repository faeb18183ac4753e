package diagnose

import (
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// OutputFinding is what the output of a program tells about its failure.
type OutputFinding struct {
	Reason mpi.Reason
	// Summary is for the sentence `Worker 2 failed: SUMMARY`.
	Summary string
	// Line is the line that tells it, as it may be shown.
	Line string
	// Rank is the rank that printed the line or that the line names; nil when it does not say.
	Rank *int
	// Host is the host that the lines name, or empty.
	Host string
	// Printer is the host that printed the line, where its head names one.
	Printer string
	// Weight says how close to the root it is.
	Weight Weight
}

// Weight says how close to the root of a failure a line of output is.
type Weight int

const (
	// rumour is what programs print that go on, such as one that cannot reach a server for its statistics. Nobody is blamed
	// for it. As an exception it is a Root.
	rumour Weight = iota - 1
	// Report is a launcher's word on how a rank ended.
	Report
	// Symptom is a failure that most likely came because something else had failed before.
	Symptom
	// suspect is a Failure unless another one stands beside it: most programs end after it, some go on, or a line beside it
	// says why they end. As an exception it is a Root.
	suspect
	// Failure is one that may be the root.
	Failure
	// Root is a cause that nothing else in the job can cause.
	Root
)

// weightAlone is what a weight counts for when nothing heavier stands beside it.
func (w Weight) weightAlone() Weight {
	switch w {
	case rumour:
		return Report
	case suspect:
		return Failure
	}
	return w
}

// outputSignature recognises one line.
type outputSignature struct {
	reason mpi.Reason
	weight Weight
	line   *regexp.Regexp
	// summary may use groups of the line; empty is the line itself. The groups named rank and host go into the finding.
	summary string
}

// signatures are tried in this order: of two that match one line the first counts.
var signatures = slices.Concat(ownSignatures, systemSignatures, gpuSignatures, fabricSignatures, mpiSignatures, pythonSignatures, launcherSignatures)

// FindInOutput finds in the last lines of a program why it failed: the heaviest of all signatures, and among equals the first.
// It returns nil when no line is known. Lines may carry the tags by which launchers tell ranks apart.
func FindInOutput(lines []string) *OutputFinding {
	return findHeaviest(lines, func(OutputFinding) bool { return true })
}

// FindInOutputOfRank is FindInOutput where the rank is known that failed first: what cannot be why it ended so is left out.
func FindInOutputOfRank(lines []string, first mpi.RankEnd) *OutputFinding {
	return findHeaviest(lines, func(f OutputFinding) bool { return f.explainsEnd(first) })
}

func findHeaviest(lines []string, counts func(OutputFinding) bool) *OutputFinding {
	var best *OutputFinding
	var python openTracebacks
	for i, raw := range lines {
		rank, line := CutRankTag(StripEscapes(raw))
		finding := matchLine(line, python.endsWithException(rank, line))
		if finding == nil || best != nil && finding.Weight <= best.Weight {
			continue
		}
		if finding.Rank == nil {
			finding.Rank = rank
		}
		if !counts(*finding) {
			continue
		}
		switch finding.Reason {
		case NCCLFailed:
			finding.Summary += ncclLastError(lines[i+1 : min(i+1+detailLines, len(lines))])
		case NCCLTimeout:
			finding.Summary += lateRanks(lines)
		case CommandNotFound:
			finding.Summary = nameExecutable(finding.Summary, lines[i+1:])
		}
		if finding.Host == "" {
			finding.Host = hostInDetailLines(lines[i+1 : min(i+1+detailLines, len(lines))])
		}
		best = finding
	}
	if best != nil {
		best.Weight = best.Weight.weightAlone()
		best.Summary, best.Line = ClipBytes(Redact(best.Summary), maxLine), ClipBytes(Redact(best.Line), maxLine)
	}
	return best
}

// nameExecutable names the program that a launcher could not find. Open MPI prints it some lines after the message.
func nameExecutable(summary string, after []string) string {
	for _, raw := range after[:min(2*detailLines, len(after))] {
		_, line := CutRankTag(StripEscapes(raw))
		if found := executable.FindStringSubmatch(line); found != nil {
			return strings.Replace(summary, "the program was", "the program `"+found[1]+"` was", 1)
		}
	}
	return summary
}

var executable = rx(`^\s*Executable: +(\S+)$`)

// hints are words of which every line that a signature knows has one, in small letters. Most lines have none, and output may
// be long.
var hints = []string{
	"error", "fail", "cuda", "gpu", "driver", "kill", "signal", "slot", "mpi", "not found", "refused", "timed out", "timeout", "denied", "verif",
	"version", "memory", "space", "quota", "resolv", "service", "library", "libraries", "module", "open file", "rank", "process", "lost", "shut down",
	"closed", "reset", "broken", "fault", "exit", "exception", "bad", "xid", "ecc", "nccl", "ibv", "exceeded", "buffer", "unrecognized", "proxy",
	"interrupt", "unable", "servname", "pmi", "transport", "badly", "assert", "unknown host", "hostname", "nvml", "edquot", "enospc", "alloc",
	"too long", "cannot execute", `\r`, "read-only", "erofs",
}

func hasHint(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(line, hint) })
}

// matchLine returns what a line tells, or nil. An exception ended a traceback with this line.
func matchLine(line string, exception bool) *OutputFinding {
	if hasHint(line) {
		for _, s := range signatures {
			if groups := s.line.FindStringSubmatchIndex(line); groups != nil {
				return s.findingOf(line, groups, exception)
			}
		}
	}
	if exception {
		return &OutputFinding{Reason: PythonException, Summary: line, Line: line, Weight: Failure}
	}
	return nil
}

func (s outputSignature) findingOf(line string, groups []int, exception bool) *OutputFinding {
	f := &OutputFinding{Reason: s.reason, Summary: line, Line: line, Weight: s.weightOf(exception || lastWords.MatchString(line), line[:groups[0]])}
	if s.summary != "" {
		f.Summary = string(s.line.ExpandString(nil, s.summary, line, groups))
	}
	f.Rank = parseRankNumber(namedGroup(s.line, line, "rank"))
	f.Host, f.Printer = namedGroup(s.line, line, "host"), namedGroup(printerHead, line, "host")
	return f
}

// printerHead is how UCX and Open MPI begin a line: with host and number of the process, and UCX with the time before.
var printerHead = rx(`^(?:\[\d+\.\d+\] )?\[(?P<host>[\w.-]+):\d+[\]: ]`)

// lastWords is an exception of Python or C++ whose beginning is not to be seen, or what programs print that check each call
// of CUDA.
var lastWords = rx(`^(?:[A-Za-z_][\w.]*(?:[Ee]rror|Exception)|CUDA error| *what\(\)): `)

// mild is what loggers and programs put before a message after which they go on. NCCL's WARN is an error, and not meant.
var mild = rx(`(?i:\bwarning\b|\w+Warning:|<warn>|\bretrying\b)|\bUCX +(?:WARN|DIAG)\b|\b(?:INFO|DEBUG)\b|: [IW] |^\[?[IW]\d{4} |^\[[IW] `)

// weightOf says what a line counts for. A program ended with the line where it is uncaught; before is what stands before the
// words that are known.
func (s outputSignature) weightOf(uncaught bool, before string) Weight {
	switch {
	case uncaught && (s.weight == rumour || s.weight == suspect):
		return Root
	case !uncaught && mild.MatchString(before):
		return rumour
	}
	return s.weight
}

func namedGroup(expression *regexp.Regexp, line, group string) string {
	i, groups := expression.SubexpIndex(group), expression.FindStringSubmatch(line)
	if i < 0 || groups == nil {
		return ""
	}
	return groups[i]
}

// detailLines is how far behind a message launchers print the details that belong to it.
const detailLines = 8

var hostDetail = regexp.MustCompile(`(?i)^\s*(?:remote daemon:.*on node|node|node name|remote host|peer host|local host|host)\s*:?\s+(\S+)\s*$`)

func hostInDetailLines(lines []string) string {
	for _, line := range lines {
		_, line := CutRankTag(StripEscapes(line))
		if groups := hostDetail.FindStringSubmatch(line); groups != nil {
			return strings.Trim(groups[1], `"',.`)
		}
	}
	return ""
}
