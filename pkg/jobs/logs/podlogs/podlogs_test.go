package podlogs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	podCount = 16
	lines    = 10000
)

func jobOn(t *testing.T, server *fakeServer) podlogs.JobLogs {
	t.Helper()
	config := &rest.Config{Host: server.url, QPS: -1}
	reader, err := fetch.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return podlogs.JobLogs{Namespace: "team", Name: "train", Reader: reader, Core: core}
}

// collected is what a reader was given.
type collected struct {
	texts    map[string][]string
	newest   time.Time
	unsorted int
	behind   time.Duration
}

func (c *collected) take(batch []logs.Line) error {
	for _, line := range batch {
		c.texts[line.Source.Pod] = append(c.texts[line.Source.Pod], line.Text)
		if line.Time.Before(c.newest) {
			c.unsorted++
		}
		c.newest = line.Time
		c.behind = max(c.behind, time.Since(line.Time))
	}
	return nil
}

func (c *collected) check(t *testing.T, pod string, want int) {
	t.Helper()
	got := c.texts[pod]
	for i := range min(len(got), want) {
		if expected := textOf(pod, i); got[i] != expected {
			t.Fatalf("%s: line %d is %.60q, want %.60q", pod, i, got[i], expected)
		}
	}
	if len(got) != want {
		t.Fatalf("%s: %d lines, want %d", pod, len(got), want)
	}
}

func textOf(pod string, i int) string { return fmt.Sprintf("%s line %d", pod, i) }

// The connections of all pods break again and again, some in the middle of a line, some as if the log had ended; the launcher's container
// is started again, kubelet does not know its pods for a while, and one pod is killed.
func TestFollowThroughFaults(t *testing.T) {
	server := newServer(t)
	server.breakAfter = 1700
	var pods []*fakePod
	for i := range podCount {
		pods = append(pods, server.addPod(i))
	}
	go func() {
		defer server.finish()
		for i := range lines {
			for _, p := range pods {
				p.write(textOf(p.name, i))
			}
			switch i {
			case lines / 4:
				server.forget(podCount)
			case lines / 3:
				pods[0].restart()
			case lines / 2:
				// The killed one ends here, and another comes in its place.
				pods[5].kill()
				pods = append(pods[:5:5], append(pods[6:], server.addPod(podCount))...)
			}
			if i%50 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	got := collected{texts: map[string][]string{}}
	result, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Follow: true, Note: func(text string) { t.Log(text) }}, got.take)
	if err != nil {
		t.Fatal(err)
	}
	for i := range podCount {
		want := lines
		if i == 5 {
			want = lines/2 + 1
		}
		got.check(t, podName(i), want)
	}
	if late := got.texts[podName(podCount)]; len(late) != lines-lines/2-1 {
		t.Errorf("%d lines of the pod that came later, want %d", len(late), lines-lines/2-1)
	}
	if result.Incomplete > 0 || result.Sources != podCount+1 {
		t.Errorf("%+v", result)
	}
	if server.broken() < 50 {
		t.Errorf("only %d streams broke: the test shows little", server.broken())
	}
	// How late and how well ordered depends on how busy the machine is: with a clock that does not, the tests of Merge show it.
	t.Logf("%d streams broke, at most %s behind, %d lines after a newer one", server.broken(), got.behind, got.unsorted)
}

// What was printed is read whole though each stream breaks, and then the command is done.
func TestReadWhatIsThere(t *testing.T) {
	server := newServer(t)
	server.breakAfter = 900
	for i := range podCount {
		p := server.addPod(i)
		for n := range lines / 5 {
			p.write(textOf(p.name, n))
		}
	}
	got := collected{texts: map[string][]string{}}
	if _, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{}, got.take); err != nil {
		t.Fatal(err)
	}
	for i := range podCount {
		got.check(t, podName(i), lines/5)
	}
	if got.unsorted > 0 {
		t.Errorf("%d lines come after a newer one", got.unsorted)
	}
}

func TestTailStaysATail(t *testing.T) {
	server := newServer(t)
	server.breakAfter = 7
	p := server.addPod(0)
	for n := range 100 {
		p.write(textOf(p.name, n))
	}
	var got []string
	tail := int64(20)
	if _, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Tail: &tail}, func(batch []logs.Line) error {
		for _, line := range batch {
			got = append(got, line.Text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 20 || got[0] != textOf(p.name, 80) || got[19] != textOf(p.name, 99) {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

func TestWhoMayNotRead(t *testing.T) {
	server := newServer(t)
	server.addPod(0).write("secret")
	server.forbidden = true
	if _, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Follow: true}, nothing); !errors.Is(err, logs.ErrRefused) || !apierrors.IsForbidden(err) {
		t.Errorf("err = %v", err)
	}
}

// A container under the agent whose log lacks the agent's line has lost its beginning; other containers have no such line.
func TestBeginningIsGone(t *testing.T) {
	for command, want := range map[string]string{mpi.AgentBin: "line 1", "train": "line 0"} {
		server := newServer(t)
		p := server.addPod(0)
		p.command = command
		for n := range 3 {
			p.write(fmt.Sprint("line ", n))
		}
		var got, notes []string
		if _, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Note: func(text string) { notes = append(notes, text) }}, func(batch []logs.Line) error {
			for _, line := range batch {
				got = append(got, line.Text)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got[0] != want || (len(notes) == 1) != (want == "line 1") {
			t.Errorf("%s: %q, notes %q", command, got, notes)
		}
	}
}

func TestTooMany(t *testing.T) {
	server := newServer(t)
	for i := range 3 {
		server.addPod(i)
	}
	var many *logs.TooManyError
	if _, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Most: 2}, nothing); !errors.As(err, &many) || many.Found != 3 {
		t.Errorf("err = %v", err)
	}
}

// A log that cannot be read, though its pod is there, ends the command and is named.
func TestUnreadable(t *testing.T) {
	server := newServer(t)
	server.addPod(0).write("x")
	server.unreadable = true
	var notes []string
	result, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Note: func(text string) { notes = append(notes, text) }}, nothing)
	if err != nil || result.Incomplete != 1 || len(notes) != 1 || !strings.Contains(notes[0], "could not be read") {
		t.Errorf("%+v, %v, %q", result, err, notes)
	}
}

func TestInterrupted(t *testing.T) {
	server := newServer(t)
	server.addPod(0).write("x")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := logs.Run(ctx, jobOn(t, server), logs.Options{Follow: true}, func([]logs.Line) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestNotStartedAndOver(t *testing.T) {
	server := newServer(t)
	p := server.addPod(0)
	p.waiting = true
	server.finish()
	if result, err := logs.Run(t.Context(), jobOn(t, server), logs.Options{Follow: true}, nothing); err != nil || result.Sources != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

func nothing([]logs.Line) error { return nil }
