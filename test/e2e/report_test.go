package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// A suite of minutes tells how far it is: a line for each spec that has ended, and at the end which took longest.

// slowestShown is how many specs are named at the end.
const slowestShown = 10

// lines goes to people while the suite runs: to the file or pipe of LOCKSTEP_E2E_LINES, because Ginkgo keeps what several processes print,
// or to the terminal.
var lines io.Writer = openLines()

var began = time.Now()

func openLines() io.Writer {
	path := os.Getenv("LOCKSTEP_E2E_LINES")
	if path == "" {
		return os.Stdout
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: LOCKSTEP_E2E_LINES:", err)
		return os.Stdout
	}
	return file
}

var _ = ReportAfterEach(func(spec SpecReport) {
	if spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) && spec.Failure.IsZero() {
		return // it was not asked for
	}
	fmt.Fprintln(lines, specLine(spec, time.Since(began)))
})

// specLine is a spec in one line: when it ended, how, how long it took, and what it was about.
func specLine(spec SpecReport, elapsed time.Duration) string {
	line := fmt.Sprintf("[%6.1fs] %-6s %6.1fs  %s", elapsed.Seconds(), outcome(spec.State), spec.RunTime.Seconds(), spec.FullText())
	if spec.Failed() {
		first, _, _ := strings.Cut(strings.TrimSpace(spec.Failure.Message), "\n")
		line += ": " + first
	}
	return line
}

// failures are the specs that failed, with where and the beginning of what they had to say: often nothing else of a run is left.
func failures(specs []SpecReport) string {
	var text strings.Builder
	for _, spec := range specs {
		if !spec.Failed() {
			continue
		}
		fmt.Fprintf(&text, "  FAILED %s\n    %s\n", spec.FullText(), spec.Failure.Location)
		indentBeginning(&text, spec.Failure.Message)
		for _, entry := range spec.ReportEntries {
			if entry.Name == unfinishedJobs {
				fmt.Fprintf(&text, "   %s:\n", entry.Name)
				indentBeginning(&text, entry.StringRepresentation())
			}
		}
	}
	return text.String()
}

func indentBeginning(b *strings.Builder, text string) {
	const most = 25
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(len(lines), most)] {
		fmt.Fprintf(b, "    %s\n", line)
	}
}

func outcome(state types.SpecState) string {
	switch state {
	case types.SpecStatePassed:
		return "ok"
	case types.SpecStateSkipped, types.SpecStatePending:
		return "skip"
	}
	return "FAILED"
}

var _ = ReportAfterSuite("which specs took longest, and how many passed", func(report Report) {
	fmt.Fprint(lines, slowest(report.SpecReports))
	summary := fmt.Sprintf("%-22s %s in %.1fs\n", "e2e:", counts(report.SpecReports), report.RunTime.Seconds())
	summary += failures(report.SpecReports)
	fmt.Fprint(lines, summary)
	if path := os.Getenv("SUMMARY"); path != "" {
		Expect(appendTo(path, summary)).To(Succeed())
	}
})

// counts has the form that all suites have (test/suite/summarise). What surrounds the specs, such as starting the cluster, counts only where it failed.
func counts(specs types.SpecReports) string {
	var passed, failed, skipped int
	for _, spec := range specs {
		switch {
		case spec.Failed():
			failed++
		case spec.LeafNodeType != types.NodeTypeIt:
		case spec.State.Is(types.SpecStatePassed):
			passed++
		default:
			skipped++
		}
	}
	return fmt.Sprintf("%5d passed, %d failed, %d skipped", passed, failed, skipped)
}

func slowest(specs types.SpecReports) string {
	ran := slices.DeleteFunc(slices.Clone(specs), func(s SpecReport) bool { return s.RunTime == 0 || s.LeafNodeType != types.NodeTypeIt })
	slices.SortFunc(ran, func(a, b SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	var b strings.Builder
	fmt.Fprintln(&b, "the slowest specs:")
	for _, spec := range ran[:min(len(ran), slowestShown)] {
		fmt.Fprintf(&b, "  %6.1fs  %s\n", spec.RunTime.Seconds(), spec.FullText())
	}
	return b.String()
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
