package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// recordFile has a line per package, `lines PACKAGE N`, and a line per file, `file PATH LONG TIC…`. Files with zeros
// only are left out, so a new file starts with zeros.
const recordFile = "test/habits/record.txt"

const raise = "or, if there is a reason, run `make ratchet` and give it in the commit message (`Raises: …`)"

// compare returns the reasons to refuse a checkout: a count above its record, or a record that is too high. changed
// returns the lines of a file that are new since the record, nil if all are.
func compare(before, now counts, changed func(file string) map[int]bool) []string {
	var problems []string
	fell := 0
	for _, name := range keysOf(before.packages, now.packages) {
		switch was, is := before.packages[name], now.packages[name]; {
		case is > was:
			problems = append(problems, fmt.Sprintf("%s: %d lines of code, %d on record: remove some, %s", name, is, was, raise))
		case is < was:
			fell++
		}
	}
	for _, name := range keysOf(before.files, now.files) {
		switch was, is := before.files[name], now.files[name]; {
		case anyAbove(is.recorded(), was.recorded()):
			problems = append(problems, describeFile(name, was, is, changed(name))...)
		case is.recorded() != was.recorded():
			fell++
		}
	}
	if fell > 0 && len(problems) == 0 {
		problems = append(problems, fmt.Sprintf("%d counts fell below %s: run `make ratchet` and commit the record, "+
			"so that they cannot rise again", fell, recordFile))
	}
	return problems
}

func describeFile(name string, was, is fileCount, changed map[int]bool) []string {
	var lines, all []string
	for _, p := range is.places {
		line := fmt.Sprintf("%s:%d: %s", name, p.line, p.what)
		all = append(all, line)
		if changed[p.line] {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 { // not known, or text without tics went, so that the others exceed their mark
		lines = all
	}
	return append(lines, fmt.Sprintf("%s: %s: mend the lines above, %s", name, describeDifference(was, is), raise))
}

func describeDifference(was, is fileCount) string {
	var parts []string
	add := func(what string, was, is int) {
		if was != is {
			parts = append(parts, fmt.Sprintf("%s %d → %d", what, was, is))
		}
	}
	add("long lines", was.long, is.long)
	for i, t := range tics {
		add(t.name, was.above[i], is.above[i])
	}
	return strings.Join(parts, ", ")
}

// describeChanges lists the counts that rose, and how many fell.
func describeChanges(before, now counts) string {
	var rose []string
	fell := 0
	for _, name := range keysOf(before.packages, now.packages) {
		if was, is := before.packages[name], now.packages[name]; is > was {
			rose = append(rose, fmt.Sprintf("rose: %s: lines %d → %d\n", name, was, is))
		} else if is < was {
			fell++
		}
	}
	for _, name := range keysOf(before.files, now.files) {
		was, is := before.files[name], now.files[name]
		if anyAbove(is.recorded(), was.recorded()) {
			rose = append(rose, fmt.Sprintf("rose: %s: %s\n", name, describeDifference(was, is)))
		} else if is.recorded() != was.recorded() {
			fell++
		}
	}
	text := fmt.Sprintf("%d counts rose, %d fell\n", len(rose), fell)
	if len(rose) > 0 {
		text += strings.Join(rose[:min(len(rose), maxShown)], "") + "The commit needs a line `Raises: …` with the reason.\n"
	}
	return text
}

// newOffences returns the long lines and tics of new files. A new file may bring what others lost, as one that was
// moved does. isOld reports whether a file that the record does not name is an old one without offences.
func newOffences(before, now counts, isOld func(file string) bool) (problems []string) {
	var came, went [6]int
	var added []string
	for _, name := range keysOf(before.files, now.files) {
		was, is := before.files[name].recorded(), now.files[name].recorded()
		_, known := before.files[name]
		isNew := !known && is != [6]int{} && !isOld(name)
		if isNew {
			added = append(added, name)
		}
		for i := range is {
			if isNew {
				came[i] += is[i]
			} else {
				went[i] += max(was[i]-is[i], 0)
			}
		}
	}
	for _, name := range added {
		for i, n := range now.files[name].recorded() {
			if n > 0 && came[i] > went[i] {
				problems = append(problems, describeFile(name, fileCount{}, now.files[name], nil)...)
				break
			}
		}
	}
	return problems
}

// isCommitted reports whether the last commit has a file.
func isCommitted(file string) bool {
	return exec.Command("git", "cat-file", "-e", "HEAD:"+file).Run() == nil
}

// maxShown is how many counts are shown of many that rose.
const maxShown = 40

func anyAbove(is, was [6]int) bool {
	for i := range is {
		if is[i] > was[i] {
			return true
		}
	}
	return false
}

func keysOf[T any](a, b map[string]T) []string {
	all := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, known := a[name]; !known {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (c counts) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		fmt.Fprintf(&b, "lines %s %d\n", name, c.packages[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if numbers := c.files[name].recorded(); numbers != [6]int{} {
			fmt.Fprintf(&b, "file %s %s\n", name, strings.Trim(fmt.Sprint(numbers), "[]"))
		}
	}
	return b.String()
}

func writeRecord(path string, c counts) error {
	return os.WriteFile(path, []byte(c.String()), 0o644)
}

// readRecord reads the record; without one all counts are zero.
func readRecord(path string) (counts, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return counts{}, err
	}
	return parseRecord(path, string(content))
}

func parseRecord(path, content string) (counts, error) {
	c := counts{packages: map[string]int{}, files: map[string]fileCount{}}
	number := 0
	for line := range strings.Lines(content) {
		number++
		// A path may have spaces, so the numbers are counted from the end.
		fields := strings.Split(strings.TrimRight(line, "\r\n"), " ")
		var numbers [6]int
		wanted := map[string]int{"lines": 1, "file": len(numbers)}[fields[0]]
		if wanted == 0 || len(fields) < 2+wanted {
			return c, fmt.Errorf("%s:%d: `%s` is neither `lines PACKAGE N` nor `file PATH` with %d numbers: "+
				"run `git checkout HEAD -- %s`, then `make ratchet`",
				path, number, strings.TrimSpace(line), len(numbers), recordFile)
		}
		name := strings.Join(fields[1:len(fields)-wanted], " ")
		for i, field := range fields[len(fields)-wanted:] {
			n, err := strconv.Atoi(field)
			if err != nil || n < 0 {
				return c, fmt.Errorf("%s:%d: `%s` is no count: run `git checkout HEAD -- %s`, then `make ratchet`",
					path, number, field, recordFile)
			}
			numbers[i] = n
		}
		if fields[0] == "lines" {
			c.packages[name] = numbers[0]
		} else {
			c.files[name] = fileCount{long: numbers[0], above: [5]int(numbers[1:])}
		}
	}
	return c, nil
}

var hunk = regexp.MustCompile(`(?m)^@@ \S+ \+(\d+)(?:,(\d+))? @@`)

// linesChangedSince returns a function that asks git which lines of a file are new since the last commit of the record.
// Without git's answer, all are.
func linesChangedSince(record string) func(file string) map[int]bool {
	commit, err := exec.Command("git", "log", "-1", "--format=%H", "--", record).Output()
	return func(file string) map[int]bool {
		if err != nil || len(commit) == 0 {
			return nil
		}
		diff, err := exec.Command("git", "diff", "--unified=0", strings.TrimSpace(string(commit)), "--", file).Output()
		if err != nil || len(diff) == 0 { // a file that git does not know yet has no difference
			return nil
		}
		changed := map[int]bool{}
		for _, found := range hunk.FindAllStringSubmatch(string(diff), -1) {
			first, _ := strconv.Atoi(found[1])
			count := 1
			if found[2] != "" {
				count, _ = strconv.Atoi(found[2])
			}
			for line := first; line < first+count; line++ {
				changed[line] = true
			}
		}
		return changed
	}
}
