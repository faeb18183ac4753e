package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The guest's scripts begin such lines with a mark; all others are for people.
const mark = "guest:"

// longest is the length of a line up to which it is shown.
const longest = 1 << 20

// report is what the guest said about its task.
type report struct {
	passed, failed []string
	// ended says that the script came to its end, with code.
	ended bool
	code  int
}

// silence is how long the guest may say nothing before a line says that it still runs: booting alone takes a minute.
const silence = 30 * time.Second

// read takes the guest's words until it is gone, and shows each line with the seconds since the start.
func read(words io.Reader, out io.Writer, start time.Time) report {
	said := make(chan string)
	go func() {
		defer close(said)
		lines := bufio.NewScanner(words)
		lines.Buffer(nil, longest)
		for lines.Scan() {
			said <- strings.TrimRight(lines.Text(), "\r")
		}
		_, _ = io.Copy(io.Discard, words) // a line that is too long must not stop the guest
	}()
	show := func(line string) { _, _ = fmt.Fprintf(out, "[%7.1fs] %s\n", time.Since(start).Seconds(), line) }
	var r report
	for {
		select {
		case line, more := <-said:
			if !more {
				return r
			}
			show(line)
			r.hear(line)
		case <-time.After(silence):
			show("…")
		}
	}
}

// hear reads one line: `guest:passed NAME`, `guest:failed NAME` or `guest:ended CODE`.
func (r *report) hear(line string) {
	words, marked := strings.CutPrefix(line, mark)
	if !marked {
		return
	}
	verb, rest, _ := strings.Cut(words, " ")
	switch verb {
	case "passed":
		r.passed = append(r.passed, rest)
	case "failed":
		r.failed = append(r.failed, rest)
	case "ended":
		code, err := strconv.Atoi(rest)
		r.ended, r.code = err == nil, code
	}
}

// verdict is nil for a task that ran to its end, of which something passed and nothing failed.
func (r report) verdict() error {
	switch {
	case len(r.failed) > 0:
		return fmt.Errorf("failed: %s", strings.Join(r.failed, "; "))
	case !r.ended:
		return fmt.Errorf("the guest went before its task ended; %d steps had passed", len(r.passed))
	case r.code != 0:
		return fmt.Errorf("the task ended with exit code %d", r.code)
	case len(r.passed) == 0:
		return fmt.Errorf("the task showed nothing")
	}
	return nil
}
