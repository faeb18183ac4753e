package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a cluster that does what is written down, in fake time.
type script struct {
	mu sync.Mutex
	// looks are what each look sees; the last one stays.
	looks []look
	// streams are what is answered when the log of a pod is opened, one after the other; the last one stays.
	streams map[string][]answer
	asked   []string
}

type look struct {
	statuses []ContainerStatus
	over     bool
	err      error
}

type answer struct {
	text string
	// breaks ends the stream with an error; err is said instead of a stream.
	breaks, err error
	// stays keeps the stream open for so long.
	stays time.Duration
}

func (s *script) Containers(context.Context) ([]ContainerStatus, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.looks[0]
	if len(s.looks) > 1 {
		s.looks = s.looks[1:]
	}
	return slices.Clone(now.statuses), now.over, now.err
}

func (s *script) Open(_ context.Context, source LogSource, r ContainerLogRequest) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := source.Pod
	for word, is := range map[string]bool{" follow": r.Follow, " previous": r.Previous} {
		if is {
			asked += word
		}
	}
	if !r.Since.IsZero() {
		asked += " since " + r.Since.Format(time.TimeOnly)
	}
	s.asked = append(s.asked, asked)
	all := s.streams[source.Pod]
	now := all[0]
	if len(all) > 1 {
		s.streams[source.Pod] = all[1:]
	}
	if now.err != nil {
		return nil, now.err
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(now.text), &slow{now.stays, now.breaks})), nil
}

// slow ends a stream after a while.
type slow struct {
	wait time.Duration
	err  error
}

func (s *slow) Read([]byte) (int, error) {
	time.Sleep(s.wait)
	if s.err != nil {
		return 0, s.err
	}
	return 0, io.EOF
}

func podOf(name string, restarts int, ended bool) ContainerStatus {
	return ContainerStatus{LogSource: LogSource{Pod: name, UID: name, Container: "node", Role: "launcher"}, Restarts: restarts, Started: true, Ended: ended}
}

var errReset = errors.New("connection reset")

func second(n int, text string) string {
	return stampedLine(noon.Add(time.Duration(n)*time.Second), text)
}

func TestRun(t *testing.T) {
	running, done := podOf("a", 0, false), podOf("a", 0, true)
	notStarted := running
	notStarted.Started = false
	cases := map[string]struct {
		reason  string
		looks   []look
		streams map[string][]answer
		options Options
		want    []string
		notes   string
		result  ReadResult
		err     error
	}{
		"All": {
			"", []look{{statuses: []ContainerStatus{done}, over: true}}, map[string][]answer{"a": {{text: second(1, "x")}}}, Options{},
			[]string{"x"}, "", ReadResult{Sources: 1}, nil,
		},
		"BreaksOnce": {
			"", []look{{statuses: []ContainerStatus{done}, over: true}},
			map[string][]answer{"a": {{text: second(1, "x"), breaks: errReset}, {text: second(1, "x") + second(2, "y")}}}, Options{},
			[]string{"x", "y"}, "", ReadResult{Sources: 1}, nil,
		},
		"FollowsRestart": {
			"the end of the first run is read, though the second one has begun",
			[]look{{statuses: []ContainerStatus{running}}, {statuses: []ContainerStatus{podOf("a", 1, false)}}, {statuses: []ContainerStatus{podOf("a", 1, true)}, over: true}},
			map[string][]answer{"a": {
				{text: second(1, "x")}, {text: second(1, "x"), stays: time.Second, breaks: errReset}, {text: second(1, "x") + second(2, "end of 1")},
				{text: second(3, "begin of 2"), stays: time.Second}, {text: second(3, "begin of 2") + second(4, "end of 2")},
			}}, Options{Follow: true},
			[]string{"x", "end of 1", "begin of 2", "end of 2"}, "", ReadResult{Sources: 1}, nil,
		},
		"RestartsLost": {
			"", []look{{statuses: []ContainerStatus{podOf("a", 3, true)}, over: true}},
			map[string][]answer{"a": {{text: second(1, "third")}, {text: second(2, "fourth")}}}, Options{},
			[]string{"third", "fourth"}, "launcher (pod a) was started again 3 times; the output of 2 earlier runs is not kept", ReadResult{Sources: 1}, nil,
		},
		"PreviousNotKept": {
			"", []look{{statuses: []ContainerStatus{podOf("a", 1, true)}, over: true}},
			map[string][]answer{"a": {{err: ErrNotStarted}, {text: second(2, "y")}}}, Options{},
			[]string{"y"}, "", ReadResult{Sources: 1}, nil,
		},
		"PreviousBreaks": {
			"", []look{{statuses: []ContainerStatus{podOf("a", 1, true)}, over: true}},
			map[string][]answer{"a": {{err: errReset}, {text: second(1, "x")}, {text: second(2, "y")}}}, Options{},
			[]string{"x", "y"}, "", ReadResult{Sources: 1}, nil,
		},
		"Gone": {
			"", []look{{statuses: []ContainerStatus{running}}, {over: true}},
			map[string][]answer{"a": {{text: second(1, "x")}, {text: second(1, "x"), stays: time.Second, breaks: errReset}, {err: ErrGone}}}, Options{Follow: true},
			[]string{"x"}, "launcher is gone (pod a): what it printed after 2026-03-01T12:00:01Z may be missing", ReadResult{Sources: 1}, nil,
		},
		"RemovedAtTheEnd": {
			"kubelet says that the file is gone, and all of it was read",
			[]look{{statuses: []ContainerStatus{running}}, {over: true}},
			map[string][]answer{"a": {{text: second(1, "x") + "\nfailed to try resolving symlinks\n"}, {err: ErrGone}}},
			Options{Follow: true}, []string{"x"}, "", ReadResult{Sources: 1}, nil,
		},
		"NeverReadable": {
			"", []look{{statuses: []ContainerStatus{done}, over: true}}, map[string][]answer{"a": {{err: errReset}}}, Options{},
			nil, "the rest of the output of launcher (pod a) could not be read: connection reset; ask again later", ReadResult{Sources: 1, Incomplete: 1}, nil,
		},
		"Refused": {
			"", []look{{statuses: []ContainerStatus{running}}}, map[string][]answer{"a": {{err: ErrRefused}}}, Options{Follow: true},
			nil, "", ReadResult{Sources: 1, Incomplete: 1}, ErrRefused,
		},
		"LookRefused": {
			"the rights may be taken away meanwhile", []look{{statuses: []ContainerStatus{running}}, {err: ErrRefused}},
			map[string][]answer{"a": {{stays: time.Hour}}}, Options{Follow: true}, nil, "", ReadResult{Sources: 1}, ErrRefused,
		},
		"LookFails": {
			"", []look{{err: errReset}}, nil, Options{}, nil, "", ReadResult{}, errReset,
		},
		"LookBreaks": {
			"one that fails is not the last", []look{{statuses: []ContainerStatus{running}}, {err: errReset}, {err: errReset}, {statuses: []ContainerStatus{done}, over: true}},
			map[string][]answer{"a": {{text: second(1, "x")}}}, Options{Follow: true}, []string{"x"}, "", ReadResult{Sources: 1}, nil,
		},
		"NotStarted": {
			"", []look{{statuses: []ContainerStatus{notStarted}}, {statuses: []ContainerStatus{notStarted}}, {statuses: []ContainerStatus{done}, over: true}},
			map[string][]answer{"a": {{text: second(1, "x")}}}, Options{Follow: true}, []string{"x"}, "", ReadResult{Sources: 1}, nil,
		},
		"NothingYet": {
			"", []look{{statuses: []ContainerStatus{notStarted}}}, nil, Options{}, nil, "", ReadResult{Sources: 1}, nil,
		},
		"Wanted": {
			"", []look{{statuses: []ContainerStatus{done, podOf("b", 0, true)}, over: true}}, map[string][]answer{"b": {{text: second(1, "b")}}},
			Options{Want: func(s LogSource) bool { return s.Pod == "b" }}, []string{"b"}, "", ReadResult{Sources: 1}, nil,
		},
		"NewPod": {
			"", []look{{statuses: []ContainerStatus{done}}, {statuses: []ContainerStatus{done, podOf("b", 0, true)}, over: true}},
			map[string][]answer{"a": {{text: second(1, "a")}}, "b": {{text: second(2, "b")}}}, Options{Follow: true}, []string{"a", "b"}, "", ReadResult{Sources: 2}, nil,
		},
		"Tail": {
			"what is not asked for does not come back with a break", []look{{statuses: []ContainerStatus{podOf("a", 1, true)}, over: true}},
			map[string][]answer{"a": {{text: second(2, "y"), breaks: errReset}, {text: second(1, "x") + second(2, "y") + second(3, "z")}}},
			Options{Tail: new(int64)}, []string{"y", "z"}, "", ReadResult{Sources: 1}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{looks: tc.looks, streams: tc.streams}
				var got, notes []string
				tc.options.Note = func(text string) { notes = append(notes, text) }
				result, err := Run(t.Context(), s, tc.options, func(lines []Line) error {
					got = append(got, raws(lines)...)
					return nil
				})
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if strings.Join(notes, "; ") != tc.notes || result != tc.result || !errors.Is(err, tc.err) {
					t.Errorf("%q, %+v, %v", notes, result, err)
				}
			})
		})
	}
}

// A log whose beginning kubelet has deleted starts with a whole line and is named; a whole one, and a part that was asked for, are not.
func TestBeginningThatKubeletHasDeleted(t *testing.T) {
	const gone = "the beginning of the output of launcher (pod a) is gone: kubelet keeps only the newest part of a long log"
	byAgent := func(restarts int, ended bool) ContainerStatus {
		status := podOf("a", restarts, ended)
		status.HasAgent = true
		return status
	}
	agent := second(1, "mpi-agent: all nodes answered after 0.21 s")
	over := []look{{statuses: []ContainerStatus{byAgent(0, true)}, over: true}}
	running := []look{{statuses: []ContainerStatus{byAgent(0, false)}}, {statuses: []ContainerStatus{byAgent(0, true)}, over: true}}
	cases := map[string]struct {
		looks   []look
		streams []answer
		options Options
		want    []string
		notes   string
	}{
		"Cut": {over, []answer{{text: second(1, "est of a line") + second(2, "x") + second(3, "y")}}, Options{}, []string{"x", "y"}, gone},
		"CutFollowed": {
			running, []answer{{text: second(1, "est of a line") + second(2, "x")}, {text: second(2, "x") + second(3, "y"), stays: time.Second}, {text: second(3, "y")}},
			Options{Follow: true}, []string{"x", "y"}, gone,
		},
		"CutAfterRestart": {
			[]look{{statuses: []ContainerStatus{byAgent(1, true)}, over: true}}, []answer{{text: agent + second(2, "x")}, {text: second(3, "est") + second(4, "y")}},
			Options{}, []string{"mpi-agent: all nodes answered after 0.21 s", "x", "y"}, gone,
		},
		"Whole":      {over, []answer{{text: agent + second(2, "x")}}, Options{}, []string{"mpi-agent: all nodes answered after 0.21 s", "x"}, ""},
		"OutOfOrder": {over, []answer{{text: second(1, "x") + agent}}, Options{}, []string{"x", "mpi-agent: all nodes answered after 0.21 s"}, ""},
		"NotStarted": {
			over, []answer{{text: second(1, "exec /opt/lockstep/bin/mpi-agent: exec format error")}}, Options{},
			[]string{"exec /opt/lockstep/bin/mpi-agent: exec format error"}, "",
		},
		"Restarted": {
			[]look{{statuses: []ContainerStatus{byAgent(1, true)}, over: true}}, []answer{{text: agent + second(2, "x")}, {text: second(3, "mpi-agent: x")}},
			Options{}, []string{"mpi-agent: all nodes answered after 0.21 s", "x", "mpi-agent: x"}, "",
		},
		"Broken": {
			over, []answer{{text: agent, breaks: errReset}, {text: agent + second(2, "x")}}, Options{},
			[]string{"mpi-agent: all nodes answered after 0.21 s", "x"}, "",
		},
		"Tail":    {over, []answer{{text: second(2, "x")}}, Options{Tail: new(int64)}, []string{"x"}, ""},
		"Since":   {over, []answer{{text: second(2, "x")}}, Options{SinceSeconds: 9}, []string{"x"}, ""},
		"Nothing": {over, []answer{{}}, Options{}, nil, ""},
		"Foreign": {[]look{{statuses: []ContainerStatus{podOf("a", 0, true)}, over: true}}, []answer{{text: second(2, "x")}}, Options{}, []string{"x"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got, notes []string
				tc.options.Note = func(text string) { notes = append(notes, text) }
				_, err := Run(t.Context(), &script{looks: tc.looks, streams: map[string][]answer{"a": tc.streams}}, tc.options, func(lines []Line) error {
					got = append(got, raws(lines)...)
					return nil
				})
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || strings.Join(notes, "; ") != tc.notes {
					t.Errorf("%v, notes %q (-want +got):\n%s", err, notes, diff)
				}
			})
		})
	}
}

// What is asked for again is asked for from a second before the last line on, and not all of it.
func TestAsksFromWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			looks:   []look{{statuses: []ContainerStatus{podOf("a", 0, false)}}, {statuses: []ContainerStatus{podOf("a", 0, true)}, over: true}},
			streams: map[string][]answer{"a": {{text: second(10, "x")}, {text: second(20, "y"), stays: time.Second}, {text: second(20, "y")}}},
		}
		if _, err := Run(t.Context(), s, Options{Follow: true}, func([]Line) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "a follow since 12:00:09", "a since 12:00:19"}, s.asked); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTooManyMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := podOf("a", 0, false), podOf("b", 0, false)
		s := &script{looks: []look{{statuses: []ContainerStatus{a}}, {statuses: []ContainerStatus{a, b}}}, streams: map[string][]answer{"a": {{stays: time.Hour}}}}
		var many *TooManyError
		if _, err := Run(t.Context(), s, Options{Follow: true, Most: 1}, func([]Line) error { return nil }); !errors.As(err, &many) || fmt.Sprint(many) == "" {
			t.Errorf("err = %v", err)
		}
	})
}

func TestOrder(t *testing.T) {
	status := func(role string, index int) ContainerStatus {
		return ContainerStatus{LogSource: LogSource{Role: role, Index: index, Pod: fmt.Sprint(role, index)}}
	}
	all := []ContainerStatus{status("node", 10), status("node", 2), status("launcher", 0)}
	slices.SortStableFunc(all, compareContainers)
	var got []string
	for _, s := range all {
		got = append(got, s.Label())
	}
	if diff := cmp.Diff([]string{"launcher", "node-2", "node-10"}, got); diff != "" {
		t.Error(diff)
	}
}
