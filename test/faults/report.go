package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// summary is all runs of one fault.
type summary struct {
	first     Row
	reasons   []string
	ends      []string
	seconds   []float64
	right     int
	runs      int
	leftovers int
}

// render writes the table of docs/faults.md from the rows in files, separated by commas. Rows of a later file replace those
// of the same fault in an earlier one.
func render(from, to, note string) error {
	var all []Row
	for _, path := range strings.Split(from, ",") {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var rows []Row
		if err := json.Unmarshal(content, &rows); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		all = replace(all, rows)
	}
	return os.WriteFile(to, []byte(document(all, note)), 0o644)
}

// replace puts the new rows of a fault where its old ones were.
func replace(old, rows []Row) []Row {
	of := func(name string) []Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Fault != name })
	}
	var merged []Row
	var done []string
	for _, row := range slices.Concat(old, rows) {
		if slices.Contains(done, row.Fault) {
			continue
		}
		if again := of(row.Fault); len(again) > 0 {
			merged, done = append(merged, again...), append(done, row.Fault)
			continue
		}
		merged = append(merged, row)
	}
	return merged
}

func document(rows []Row, note string) string {
	all := summarise(rows)
	var seconds []float64
	right, leftovers := 0, 0
	for _, s := range all {
		if s.right == s.runs {
			right++
		}
		leftovers += s.leftovers
	}
	for _, row := range rows {
		if row.Right && row.Want[0] != "Complete" {
			seconds = append(seconds, row.Seconds)
		}
	}
	var b strings.Builder
	b.WriteString("# What users are told when something breaks\n\n")
	b.WriteString("<!-- Written by `faults -markdown`. -->\n\n")
	b.WriteString("`make faults RUNS=3 OUT=faults.json` injects each fault for real into a real job on the local cluster: processes are killed on their\n")
	b.WriteString("machines, packets dropped by the kernel, pods evicted by the API server. Seconds count from the fault to the condition of the TrainJob\n")
	b.WriteString("that names it, or for faults that a job must survive to its completion; of several runs the median and the slowest. A row is right\n")
	b.WriteString("where the reason is, the message names whom the fault hit (worker, rank, machine), and the job then ended for that reason too, or\n")
	b.WriteString("waits, if a user can mend it. What a running job shows, `kubectl mpi why` must give as the reason too. Leftovers are running\n")
	b.WriteString("pods and keys 20 s after the end, and objects that survive the deletion of the job.\n\n")
	if note != "" {
		b.WriteString(note + "\n\n")
	}
	fmt.Fprintf(&b, "%d faults, %d named rightly in every run; %d leftovers.", len(all), right, leftovers)
	if len(seconds) > 0 {
		slices.Sort(seconds)
		fmt.Fprintf(&b, " From the fault to its name: median %.1f s, slowest %.1f s.", seconds[len(seconds)/2], seconds[len(seconds)-1])
	}
	b.WriteString("\n\n| fault | how it is injected | reason reported | the job | right | seconds: median (slowest) | leftovers |\n|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		b.WriteString(s.line())
	}
	b.WriteString("\n## What it says\n\nOf the first run of each; where the fault was named while the job still ran, what it says in the end comes second.\n\n| fault | message |\n|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| %s | %s |\n", s.first.Fault, cell(said(s.first)))
	}
	return b.String()
}

func summarise(rows []Row) []summary {
	var all []summary
	for _, row := range rows {
		i := slices.IndexFunc(all, func(s summary) bool { return s.first.Fault == row.Fault })
		if i < 0 {
			all = append(all, summary{first: row})
			i = len(all) - 1
		}
		s := &all[i]
		s.runs++
		s.seconds = append(s.seconds, row.Seconds)
		s.leftovers += row.Leftovers
		if row.Right {
			s.right++
		}
		if reason := told(row); !slices.Contains(s.reasons, reason) {
			s.reasons = append(s.reasons, reason)
		}
		if end := ended(row); !slices.Contains(s.ends, end) {
			s.ends = append(s.ends, end)
		}
	}
	return all
}

func told(row Row) string {
	switch {
	case row.Note != "":
		return "(the run failed)"
	case row.Reason == "":
		return "(none)"
	case row.Condition == "Complete":
		return "Complete"
	}
	return row.Reason
}

// ended says what became of the job.
func ended(row Row) string {
	switch {
	case row.Note != "":
		return "(the run failed)"
	case row.Ended == "":
		return "did not end"
	case row.EndReason != "" && row.EndReason != row.Reason:
		return row.Ended + " (" + row.EndReason + ")"
	}
	return row.Ended
}

// said is what users read: what named the fault, and what is there in the end, where that is something else.
func said(row Row) string {
	if row.EndMessage == "" || row.EndMessage == row.Message {
		return row.Message
	}
	return row.Message + "<br>" + row.EndMessage
}

func (s summary) line() string {
	verdict := fmt.Sprintf("%d of %d", s.right, s.runs)
	if s.right < s.runs {
		verdict = fmt.Sprintf("**%s**, wanted %s", verdict, strings.Join(s.first.Want, " or "))
	}
	seconds := slices.Sorted(slices.Values(s.seconds))
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %.1f (%.1f) | %d |\n", s.first.Fault, cell(s.first.How), strings.Join(s.reasons, ", "),
		strings.Join(s.ends, ", "), verdict,
		seconds[len(seconds)/2], seconds[len(seconds)-1], s.leftovers)
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}
