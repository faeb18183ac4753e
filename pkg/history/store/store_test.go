package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/jobs/kept"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	roomy = Limits{For: 7 * 24 * time.Hour, PerJob: 1 << 30, PerNamespace: 1 << 30, Total: 1 << 30}
)

func opened(t *testing.T, root string, limits Limits) *Store {
	t.Helper()
	s, err := Open(root, limits, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func aJob(namespace, name string, ended *metav1.Time) kept.Job {
	return kept.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name + "-1",
			UID:       types.UID(namespace + "." + name),
		},
		TrainJob: name,
		Ended:    ended,
		Objects:  &kept.Objects{},
	}
}

func begun(t *testing.T, s *Store, job kept.Job) *Writer {
	t.Helper()
	if err := s.Keep(job); err != nil {
		t.Fatal(err)
	}
	w, err := s.OpenLog(job.UID)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func appended(t *testing.T, w *Writer, lines ...string) {
	t.Helper()
	for _, line := range lines {
		at, source, text := kept.ParseLine(line)
		if err := w.Append(at, source, text); err != nil {
			t.Fatal(err)
		}
	}
}

// printed are lines of a container, one in a second.
func printed(source string, from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, kept.FormatLine(noon.Add(time.Duration(i)*time.Second), source, fmt.Sprint("line ", i)))
	}
	return lines
}

func logOf(t *testing.T, s *Store, job kept.Job) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.CopyLog(&out, &job); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(out.String(), "\x00"), "\n")[:strings.Count(out.String(), "\n")]
}

// A process that is killed in the middle of a write, at any byte, leaves a log that goes on: what kubelet repeats is
// kept once, and nothing is lost.
func TestKilledInTheMiddleOfAWrite(t *testing.T) {
	root := t.TempDir()
	job := aJob("team", "train", nil)
	s := opened(t, root, roomy)
	w := begun(t, s, job)
	all := printed("train-node-0-0-abcde/node", 0, 30)
	appended(t, w, all[:10]...)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	appended(t, w, all[10:20]...)
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	path := s.path(&job, logFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := opened(t, root, roomy)
		w, err := s.OpenLog(job.UID)
		if err != nil {
			t.Fatal(err)
		}
		since := w.Since("train-node-0-0-abcde/node")
		for _, line := range all {
			if at, source, text := kept.ParseLine(line); !at.Before(since) {
				if err := w.Append(at, source, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(true, ""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(all, logOf(t, s, job)); diff != "" {
			t.Fatalf("cut at byte %d: %s", cut, diff)
		}
	}
}

// A clock that was set back loses no line, and doubles none: what counts is where the log ends.
func TestClockSetBack(t *testing.T) {
	root := t.TempDir()
	job := aJob("team", "train", nil)
	const source = "a/node"
	before := append(printed(source, 1000, 1003), printed(source, 0, 3)...)
	w := begun(t, opened(t, root, roomy), job)
	appended(t, w, before...)
	if err := w.Close(false, ""); err != nil {
		t.Fatal(err)
	}
	s := opened(t, root, roomy)
	w, err := s.OpenLog(job.UID)
	if err != nil {
		t.Fatal(err)
	}
	if since := w.Since(source); !since.Equal(noon.Add(time.Second)) {
		t.Errorf("resumed at %s", since)
	}
	appended(t, w, append(append(printed(source, 1000, 1003), printed(source, 1, 3)...), printed(source, 3, 5)...)...)
	if err := w.Close(true, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(before, printed(source, 3, 5)...), logOf(t, s, job)); diff != "" {
		t.Error(diff)
	}
}

// Names and lines of any kind come back as they were, and equal lines of one moment count each.
func TestOddNamesAndLines(t *testing.T) {
	root := t.TempDir()
	job := aJob("n", "a", nil)
	job.Name, job.UID = strings.Repeat("x", 253), "00000000-0000-4000-8000-000000000000"
	source := strings.Repeat("p.", 126) + "p/" + strings.Repeat("c", 63)
	lines := []string{
		kept.FormatLine(
			noon,
			source,
			"",
		),
		kept.FormatLine(noon, source, "same"),
		kept.FormatLine(noon, source, "same"),
		kept.FormatLine(
			noon,
			source,
			"  two spaces, \x00, \xff and a\rreturn ",
		),
		kept.FormatLine(noon, source, strings.Repeat("long", 1<<18)),
	}
	w := begun(t, opened(t, root, roomy), job)
	appended(t, w, lines...)
	if err := w.Close(false, ""); err != nil {
		t.Fatal(err)
	}
	s := opened(t, root, roomy)
	w, err := s.OpenLog(job.UID)
	if err != nil {
		t.Fatal(err)
	}
	appended(t, w, lines...)
	appended(t, w, lines[1])
	if err := w.Close(true, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(lines, lines[1]), logOf(t, s, job)); diff != "" {
		t.Error(diff)
	}
}

// One file that cannot be read takes nothing else with it.
func TestBrokenJobFile(t *testing.T) {
	root := t.TempDir()
	s := opened(t, root, roomy)
	good, bad := aJob("team", "good", nil), aJob("team", "bad", nil)
	begun(t, s, good)
	begun(t, s, bad)
	if err := os.WriteFile(s.path(&bad, jobFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(root, roomy, time.Now)
	if err == nil || len(s.List(func(*kept.Job) bool { return true })) != 1 {
		t.Errorf("err = %v", err)
	}
}

// What cannot be written is neither kept by halves nor taken for kept.
func TestFolderIsGone(t *testing.T) {
	s := opened(t, t.TempDir(), roomy)
	job := aJob("team", "train", nil)
	w := begun(t, s, job)
	if err := os.RemoveAll(filepath.Dir(w.path)); err != nil {
		t.Fatal(err)
	}
	appended(t, w, printed("a/node", 0, 1)...)
	if err := w.flush(); err == nil {
		t.Error("nothing was said")
	}
	if err := w.Append(noon, "a/node", "more"); err == nil {
		t.Error("a broken writer takes lines")
	}
	if s.jobs[job.UID].Log.Bytes != 0 {
		t.Error("bytes are counted that nobody has")
	}
}

func names(s *Store) (all []string) {
	for _, j := range s.List(func(*kept.Job) bool { return true }) {
		all = append(all, j.Namespace+"/"+j.TrainJob)
	}
	return all
}

func ago(d time.Duration) *metav1.Time { at := metav1.NewTime(noon.Add(-d)); return &at }

func TestLimits(t *testing.T) {
	root := t.TempDir()
	s := opened(t, root, roomy)
	noise := func(i int) []string {
		return []string{
			kept.FormatLine(
				noon.Add(time.Duration(i)*time.Second),
				"a/node",
				strings.Repeat(fmt.Sprintf("%08x", i*2654435761), 100),
			),
		}
	}
	for _, job := range []kept.Job{
		aJob("team", "first", ago(3*time.Hour)), aJob("team", "second", ago(2*time.Hour)), aJob("team", "runs", nil),
		aJob("other", "old", ago(7*24*time.Hour)),
	} {
		w := begun(t, s, job)
		for i := range 100 {
			appended(t, w, noise(i)...)
			if err := w.flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(job.Ended != nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	one := s.jobs["team.runs"].Log.Bytes
	sweep := func(at time.Time, limits Limits, want ...string) {
		t.Helper()
		s.now, s.limits = func() time.Time { return at }, limits
		if err := s.Sweep(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, names(s)); diff != "" {
			t.Error(diff)
		}
	}
	sweep(noon, roomy, "other/old", "team/first", "team/runs", "team/second")
	sweep(noon.Add(time.Second), roomy, "team/first", "team/runs", "team/second")
	tight := roomy
	tight.PerNamespace = 2*one + one/2
	sweep(noon, tight, "team/runs", "team/second")
	tight.Total = one
	sweep(noon, tight, "team/runs")
	tight.PerJob = one / 3
	sweep(noon, tight, "team/runs")
	running := *s.jobs["team.runs"]
	if left := logOf(
		t,
		s,
		running,
	); len(left) < 10 || left[len(left)-1] != noise(99)[0] || !running.Log.Cut ||
		running.Log.Bytes > one/3 {
		t.Errorf("%d lines are left of %+v", len(left), running.Log)
	}
	if info, err := os.Stat(s.path(&running, logFile)); err != nil || info.Size() != running.Log.Bytes {
		t.Errorf("%v, %v", info.Size(), err)
	}
	tight.PerJob = 1
	sweep(noon, tight, "team/runs")
	if err := s.Keep(aJob("team", "second", ago(2*time.Hour))); !errors.Is(err, ErrNotKept) {
		t.Errorf("a job that was removed came back: %v", err)
	}
}

// Who is removed while its log is written does not come back by what is still written.
func TestRemovedWhileWritten(t *testing.T) {
	s := opened(t, t.TempDir(), roomy)
	job := aJob("team", "train", ago(time.Hour))
	w := begun(t, s, job)
	appended(t, w, printed("a/node", 0, 1)...)
	if err := s.Remove(job.UID); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(true, ""); !errors.Is(err, ErrNotKept) {
		t.Error(err)
	}
	if _, err := os.Stat(s.path(&job, "")); !os.IsNotExist(err) {
		t.Error("its folder is there")
	}
}
