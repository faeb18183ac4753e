package subprocess

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mortal answers a number with its square, until it has answered as many as it lives; it ends over 13.
type mortal struct {
	lives  int
	answer strings.Reader
	reason string
}

func (m *mortal) Write(p []byte) (int, error) {
	number, err := strconv.Atoi(strings.TrimSpace(string(p)))
	if err != nil {
		return 0, err
	}
	if m.lives--; number != 13 && m.lives >= 0 {
		m.answer.Reset(strconv.Itoa(number*number) + "\n")
	}
	return len(p), nil
}

func (m *mortal) Read(p []byte) (int, error) { return m.answer.Read(p) }
func (m *mortal) End() string                { return m.reason }

// TestWorker: every question is answered that does not end a fresh process, and no more processes are started than that takes.
func TestWorker(t *testing.T) {
	for name, c := range map[string]struct {
		reason        string
		lives, starts int
		questions     []int
		want          []string
		started       int
	}{
		"one":       {"a process answers what it can", 9, 9, []int{1, 2, 3}, []string{"1", "4", "9"}, 1},
		"tired":     {"what comes after too many others is asked again", 2, 9, []int{1, 2, 3, 4, 5}, []string{"1", "4", "9", "16", "25"}, 3},
		"deadly":    {"what ends a fresh process too is the reason", 9, 9, []int{1, 13, 2}, []string{"1", "tired of it", "4"}, 3},
		"first":     {"what ends a fresh process is not asked again", 9, 9, []int{13, 1}, []string{"tired of it", "1"}, 2},
		"none":      {"an error of the start is passed on", 9, 0, []int{1, 2}, []string{"no process", "no process"}, 0},
		"no second": {"also where a fresh one is needed", 1, 1, []int{1, 2, 3}, []string{"1", "no process", "no process"}, 1},
		"nothing":   {"nobody is started for nothing", 9, 9, nil, nil, 0},
	} {
		started := 0
		w := Worker{Start: func() (Process, error) {
			if started == c.starts {
				return nil, errors.New("no process")
			}
			started++
			return &mortal{lives: c.lives, reason: "tired of it"}, nil
		}}
		var got []string
		for _, question := range c.questions {
			answer := 0
			if err := w.Do(func(l JSONPipe) error { return l.Ask(question, &answer) }); err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, strconv.Itoa(answer))
			}
		}
		w.End()
		if diff := cmp.Diff(c.want, got); diff != "" || started != c.started {
			t.Errorf("%s: %s: %d processes, want %d (-want +got):\n%s", name, c.reason, started, c.started, diff)
		}
	}
}

// TestEnded: of a process that does not say why it ended, what is known is told, and that it was not the start that failed.
func TestEnded(t *testing.T) {
	w := Worker{Start: func() (Process, error) { return &mortal{}, nil }}
	answer := 0
	err := w.Do(func(l JSONPipe) error { return l.Ask(1, &answer) })
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Reason != "it gave no result: EOF" {
		t.Errorf("got %v", err)
	}
}
