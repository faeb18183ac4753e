// Command habits judges what no linter judges: counts that fall and never rise, and the messages of commits.
//
//	habits counts            compare the checkout with the record beside this program
//	habits counts -write     record today's counts, and show what rose and fell
//	habits commits [RANGE]   judge commit messages, by default of all commits since the rules exist
//	habits message FILE      judge the message in a file, as a hook of git
//
// It runs in the root of the checkout, and needs git.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// errRefused has been explained already.
var errRefused = errors.New("")

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: habits counts [-write] | commits [RANGE] | message FILE") }
	flag.Parse()
	if _, err := os.Stat("test/habits"); err != nil {
		fmt.Fprintln(os.Stderr, "habits: run it in the root of the checkout")
		os.Exit(2)
	}
	var err error
	switch command := strings.Join(flag.Args()[:min(2, flag.NArg())], " "); {
	case command == "counts", command == "counts -write":
		err = judgeCounts(flag.Arg(1) == "-write")
	case flag.Arg(0) == "commits":
		err = judgeCommits(flag.Arg(1))
	case flag.Arg(0) == "message" && flag.NArg() == 2:
		err = judgeFile(flag.Arg(1))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		if !errors.Is(err, errRefused) {
			fmt.Fprintln(os.Stderr, "habits:", err)
		}
		os.Exit(1)
	}
}

// judgeCounts compares what is counted with the record, or writes the record.
func judgeCounts(write bool) error {
	now, err := countCheckout(os.DirFS("."))
	if err != nil {
		return err
	}
	before, err := readRecord(recordFile)
	if err != nil {
		return err
	}
	fmt.Print(now.table())
	if write {
		fmt.Print(describeChanges(before, now))
		if problems := newOffences(before, now, isCommitted); len(before.packages) > 0 && len(problems) > 0 {
			return errors.New("nothing was recorded: a new file may have no long line, and no turn of phrase above its mark.\n" +
				"Mend these:\n" + strings.Join(problems, "\n"))
		}
		return writeRecord(recordFile, now)
	}
	problems := compare(before, now, linesChangedSince(recordFile))
	for _, problem := range problems[:min(len(problems), maxShown)] {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > maxShown {
		fmt.Fprintf(os.Stderr, "and %d more\n", len(problems)-maxShown)
	}
	if len(problems) > 0 {
		return errRefused
	}
	return nil
}
