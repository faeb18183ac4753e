package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	launcher = &LogSource{Pod: "train-launcher-0-0-x", Container: "node", Role: "launcher", Machine: "m0"}
	node3    = &LogSource{Pod: "train-node-0-3-x", Container: "node", Role: "node", Index: 3}
	noon     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func stampedLine(at time.Time, text string) string {
	return at.Format(time.RFC3339Nano) + " " + text + "\n"
}

func read(t *testing.T, text string, seen *replayWindow, whole bool) []Line {
	t.Helper()
	var got []Line
	if err := readStream(strings.NewReader(text), launcher, seen, whole, func(lines []Line) error {
		got = append(got, lines...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

func raws(lines []Line) []string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Raw)
	}
	return texts
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason, in, raw, text string
		rank                  int
	}{
		"Plain":     {"", "hello  world ", "hello  world ", "hello  world ", -1},
		"OpenMPI":   {"mpirun --tag-output", "[1,3]<stdout>:loss 2", "[1,3]<stdout>:loss 2", "loss 2", 3},
		"OpenMPI5":  {"mpirun --output tag", "[prterun-x-1@1,12]<stderr>: no", "[prterun-x-1@1,12]<stderr>: no", "no", 12},
		"Hydra":     {"mpiexec -l", "[7] hello", "[7] hello", "hello", 7},
		"PyTorch":   {"", "[rank2]: boom", "[rank2]: boom", "boom", 2},
		"List":      {"a list is no tag", "[1, 2, 3]", "[1, 2, 3]", "[1, 2, 3]", -1},
		"Empty":     {"", "", "", "", -1},
		"Carriage":  {"of Windows' line ends", "x\r", "x", "x", -1},
		"NoTextUTF": {"bytes stay as they are", "a\xffb", "a\xffb", "a\xffb", -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			line, stamped := parseLine(launcher, strings.TrimSuffix(stampedLine(noon, tc.in), "\n"))
			rank := -1
			if line.Rank != nil {
				rank = *line.Rank
			}
			if !stamped || line.Raw != tc.raw || line.Text != tc.text || rank != tc.rank || !line.Time.Equal(noon) {
				t.Errorf("%s: %+v, rank %d", tc.reason, line, rank)
			}
		})
	}
}

// A log that is read again from a full second on gives each line once, equal ones as often as they are there.
func TestReadAgain(t *testing.T) {
	var log strings.Builder
	for i, text := range []string{"a", "same", "same", "b"} {
		log.WriteString(stampedLine(noon.Add(time.Duration(i/2)*time.Millisecond), text))
	}
	seen := newReplayWindow(false)
	first := read(t, log.String()+stampedLine(noon.Add(time.Second), "half of a li")[:25], seen, false)
	if diff := cmp.Diff([]string{"a", "same", "same", "b"}, raws(first)); diff != "" {
		t.Error(diff)
	}
	if want := noon.Add(-time.Second); !seen.resumeTime().Equal(want) {
		t.Errorf("asks from %s, want %s", seen.resumeTime(), want)
	}
	for round := range 3 {
		seen.beginReplay()
		log.WriteString(stampedLine(noon.Add(time.Millisecond), "same"))
		if diff := cmp.Diff([]string{"same"}, raws(read(t, log.String(), seen, false))); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
	}
}

// Stdout and stderr are stamped by two threads: a line may be older than one before it.
func TestOlderLineAfterABreak(t *testing.T) {
	seen := newReplayWindow(false)
	text := stampedLine(noon.Add(time.Second), "second")
	read(t, text, seen, false)
	seen.beginReplay()
	if got := raws(read(t, text+stampedLine(noon.Add(time.Second-time.Microsecond), "older"), seen, false)); !cmp.Equal(got, []string{"older"}) {
		t.Error(got)
	}
}

// Of a line in chunks, a log that is read from a time on has the last chunk only.
func TestEndOfALongLine(t *testing.T) {
	long := strings.Repeat("x", 2*chunk) + "the end"
	seen := newReplayWindow(false)
	later := stampedLine(noon.Add(2500*time.Millisecond), "next")
	read(t, stampedLine(noon.Add(500*time.Millisecond), long)+later, seen, false)
	seen.beginReplay()
	again := stampedLine(noon.Add(1100*time.Millisecond), "the end") + later + stampedLine(noon.Add(3*time.Second), "new")
	if got := raws(read(t, again, seen, false)); !cmp.Equal(got, []string{"new"}) {
		t.Error(got)
	}
}

func TestLineWithoutEnd(t *testing.T) {
	endless := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	var whole strings.Builder
	seen := newReplayWindow(false)
	text := stampedLine(noon, "[5] "+endless) + stampedLine(noon, "after")
	lines := read(t, text, seen, true)
	for i, line := range lines[:len(lines)-1] {
		if len(line.Raw) > MaxLine || line.Continued != (i > 0) || line.Rank == nil || *line.Rank != 5 {
			t.Errorf("part %d has %d bytes, continued %v", i, len(line.Raw), line.Continued)
		}
		whole.WriteString(line.Text)
	}
	if last := lines[len(lines)-1]; whole.String() != endless || last.Raw != "after" || last.Continued {
		t.Errorf("%d bytes in %d lines, then %q", whole.Len(), len(lines)-1, last.Raw)
	}
	seen.beginReplay()
	if again := read(t, text, seen, true); len(again) > 0 {
		t.Errorf("%d lines twice", len(again))
	}
}

func TestLastLineWithoutItsEnd(t *testing.T) {
	text := strings.TrimSuffix(stampedLine(noon, "no newline"), "\n")
	if got := read(t, text, newReplayWindow(false), false); len(got) > 0 {
		t.Errorf("a line that may go on was given: %q", raws(got))
	}
	if got := raws(read(t, text, newReplayWindow(false), true)); !cmp.Equal(got, []string{"no newline"}) {
		t.Error(got)
	}
}

// What kubelet says itself has no time. It is not a line of the program, and is told once.
func TestWordsOfKubelet(t *testing.T) {
	seen := newReplayWindow(false)
	var told []string
	seen.tell = func(text string) { told = append(told, text) }
	const word = "unable to retrieve container logs for containerd://1\n"
	if got := raws(read(t, word+word+stampedLine(noon, "x")+"\n", seen, true)); !cmp.Equal(got, []string{"x"}) || !cmp.Equal(told, []string{strings.TrimSpace(word)}) {
		t.Errorf("%q, told %q", got, told)
	}
}

func TestBrokenStream(t *testing.T) {
	broken := errors.New("reset by peer")
	err := readStream(io.MultiReader(strings.NewReader(stampedLine(noon, "x")), failing{broken}), launcher, newReplayWindow(false), true, func([]Line) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
	full := errors.New("disk full")
	if err := readStream(strings.NewReader(stampedLine(noon, "x")), launcher, newReplayWindow(false), true, func([]Line) error { return full }); !errors.Is(err, full) {
		t.Errorf("err = %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestWindowForgets(t *testing.T) {
	seen := newReplayWindow(false)
	for i := range 10000 {
		line := Line{Time: noon.Add(time.Duration(i) * time.Second), Raw: "x"}
		seen.isNewLine(line, true)
	}
	if len(seen.newest) > 3 {
		t.Errorf("%d lines are remembered", len(seen.newest))
	}
}

// gather runs a LineMerge and returns what it gave, with the second of fake time at which it did.
func gather(ctx context.Context, m *LineMerge) *[]string {
	var got []string
	begin := time.Now()
	go func() {
		_ = m.DeliverInOrder(ctx, func(lines []Line) error {
			for _, l := range lines {
				got = append(got, fmt.Sprintf("%s@%.1f", l.Raw, time.Since(begin).Seconds()))
			}
			return nil
		})
	}()
	return &got
}

func at(seconds float64, text string) []Line {
	return []Line{{Time: noon.Add(time.Duration(seconds * float64(time.Second))), Raw: text, Source: launcher}}
}

func TestMergeWaitsForThoseBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewLineMerge()
		a, b := m.addSource(0, behind), m.addSource(1, behind)
		m.CloseSources()
		got := gather(t.Context(), m)
		_ = a.pushLines(at(2, "second"))
		time.Sleep(time.Minute)
		_ = b.pushLines(at(1, "first"))
		synctest.Wait()
		b.setEnded()
		a.setEnded()
		synctest.Wait()
		if diff := cmp.Diff([]string{"first@60.0", "second@60.0"}, *got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMergeHoldsWhileOthersMayHaveOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewLineMerge()
		a, b, quiet := m.addSource(0, live), m.addSource(1, live), m.addSource(2, live)
		m.CloseSources()
		got := gather(t.Context(), m)
		_ = a.pushLines(at(2, "newer"))
		time.Sleep(500 * time.Millisecond)
		_ = b.pushLines(at(1, "older"))
		time.Sleep(10 * time.Second)
		quiet.setBroken()
		_ = a.pushLines(at(20, "while one is away"))
		time.Sleep(3 * time.Second)
		_ = quiet.pushLines(at(15, "it comes back"))
		quiet.setLive()
		time.Sleep(10 * time.Second)
		for _, q := range []*sourceQueue{a, b, quiet} {
			q.setEnded()
		}
		synctest.Wait()
		want := []string{"older@2.5", "newer@2.5", "it comes back@15.5", "while one is away@15.5"}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Error(diff)
		}
	})
}

// Nobody waits longer than a few seconds for one that does not come back.
func TestMergeIsNotFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewLineMerge()
		a, away := m.addSource(0, live), m.addSource(1, live)
		got := gather(t.Context(), m)
		away.setBroken()
		_ = a.pushLines(at(1, "x"))
		time.Sleep(time.Minute)
		a.setEnded()
		away.setEnded()
		m.CloseSources()
		synctest.Wait()
		if diff := cmp.Diff([]string{"x@4.0"}, *got); diff != "" {
			t.Error(diff)
		}
	})
}

// One that prints without end waits for its turn, and not forever.
func TestMergeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewLineMerge()
		busy, idle := m.addSource(0, live), m.addSource(1, live)
		m.CloseSources()
		got := gather(t.Context(), m)
		begin := time.Now()
		lines := slices.Repeat(at(1, "x"), 64)
		for range 4 * queued / len(lines) {
			_ = busy.pushLines(lines)
		}
		if waited := time.Since(begin); waited > hold {
			t.Errorf("it waited %s", waited)
		}
		busy.setEnded()
		idle.setEnded()
		synctest.Wait()
		if len(*got) != 4*queued {
			t.Errorf("%d lines", len(*got))
		}
	})
}

// Pods that print long lines without end take little memory, whoever reads slowly.
func TestMergeIsBoundedByBytes(t *testing.T) {
	const sources, each, all = 16, 64, 8 << 20
	synctest.Test(t, func(t *testing.T) {
		m := NewLineMerge()
		m.most = all
		var pushed, given, most atomic.Int64
		text := strings.Repeat(stampedLine(noon, strings.Repeat("x", MaxLine-100)), each)
		for i := range sources {
			q := m.addSource(i, behind)
			go func() {
				defer q.setEnded()
				_ = readStream(strings.NewReader(text), launcher, newReplayWindow(false), true, func(lines []Line) error {
					for _, line := range lines {
						pushed.Add(int64(len(line.Raw)))
					}
					most.Store(max(most.Load(), pushed.Load()-given.Load()))
					return q.pushLines(lines)
				})
			}()
		}
		m.CloseSources()
		lines := 0
		if err := m.DeliverInOrder(t.Context(), func(batch []Line) error {
			time.Sleep(time.Second)
			for _, line := range batch {
				given.Add(int64(len(line.Raw)))
			}
			lines += len(batch)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if lines != sources*each || most.Load() > all+sources*3*MaxLine {
			t.Errorf("%d lines, at most %d MiB at a time", lines, most.Load()>>20)
		}
	})
}

func TestMergeSaysThatItWasInterrupted(t *testing.T) {
	m := NewLineMerge()
	q := m.addSource(0, behind)
	if err := q.pushLines([]Line{{}}); err != nil {
		t.Fatal(err)
	}
	q.setEnded()
	m.CloseSources()
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.DeliverInOrder(ctx, func([]Line) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestMergeEndsWithItsReader(t *testing.T) {
	full := errors.New("disk full")
	m := NewLineMerge()
	q := m.addSource(0, live)
	_ = q.pushLines(at(1, "x"))
	if err := m.DeliverInOrder(t.Context(), func([]Line) error { return full }); !errors.Is(err, full) {
		t.Errorf("err = %v", err)
	}
	if err := q.pushLines(at(2, "y")); err == nil {
		t.Error("nobody takes it")
	}
}

func printed(t *testing.T, p Printer, lines ...Line) string {
	t.Helper()
	var out bytes.Buffer
	p.SetOutput(&out)
	if err := p.PrintLines(lines); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPrinter(t *testing.T) {
	three := 3
	tagged := Line{Time: noon, Source: launcher, Rank: &three, Raw: "[1,3]<stdout>:loss 2", Text: "loss 2"}
	plain := Line{Time: noon, Source: node3, Raw: "\x1b[2Jcleared \xff", Text: "\x1b[2Jcleared \xff"}
	cases := map[string]struct {
		reason string
		p      Printer
		want   string
	}{
		"One":       {"", Printer{}, "3| loss 2\n\x1b[2Jcleared \xff\n"},
		"Labels":    {"", Printer{Labels: true}, "launcher 3| loss 2\nnode-3| \x1b[2Jcleared \xff\n"},
		"Terminal":  {"a program must not clear it", Printer{Labels: true, Terminal: true}, "launcher 3| loss 2\nnode-3| cleared \uFFFD\n"},
		"Times":     {"", Printer{Times: true, Filter: LineFilter{Ranks: []int{3}}}, "2026-03-01T12:00:00.000000Z 3| loss 2\n"},
		"Raw":       {"bytes as they are", Printer{Format: Raw}, "[1,3]<stdout>:loss 2\n\x1b[2Jcleared \xff\n"},
		"Include":   {"", Printer{Format: Raw, Filter: LineFilter{Include: []*regexp.Regexp{regexp.MustCompile("^loss")}}}, "[1,3]<stdout>:loss 2\n"},
		"Exclude":   {"", Printer{Filter: LineFilter{Exclude: []*regexp.Regexp{regexp.MustCompile("cleared")}}}, "3| loss 2\n"},
		"Rank":      {"", Printer{Filter: LineFilter{Ranks: []int{4}}}, ""},
		"Color":     {"", Printer{Color: true, Terminal: true, Highlight: []*regexp.Regexp{regexp.MustCompile("lo|x*")}, Filter: LineFilter{Ranks: []int{3}}}, "\x1b[38;5;127m3|\x1b[0m \x1b[1;7mlo\x1b[0mss 2\n"},
		"ColorNode": {"", Printer{Color: true, Labels: true, Terminal: true, Filter: LineFilter{Exclude: []*regexp.Regexp{regexp.MustCompile("loss")}}}, "\x1b[38;5;161mnode-3|\x1b[0m cleared \uFFFD\n"},
		"JSON": {"", Printer{Format: JSON}, `{"time":"2026-03-01T12:00:00Z","pod":"train-launcher-0-0-x","container":"node","role":"launcher","index":0,"machine":"m0","rank":3,"text":"loss 2"}
{"time":"2026-03-01T12:00:00Z","pod":"train-node-0-3-x","container":"node","role":"node","index":3,"text":"\u001b[2Jcleared \ufffd"}
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, printed(t, tc.p, tagged, plain)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// BenchmarkMerge reads 16 logs as kubelet writes them, puts them into one order and prints them: ns/op is that of a line.
func BenchmarkMerge(b *testing.B) {
	const sources = 16
	each := b.N/sources + 1
	texts := make([]string, sources)
	for s := range texts {
		var log strings.Builder
		for i := range each {
			log.WriteString(stampedLine(noon.Add(time.Duration(i*sources+s)*time.Microsecond), fmt.Sprintf("[1,%d]<stdout>:step %d loss 0.123456 lr 0.0001", s, i)))
		}
		texts[s] = log.String()
	}
	b.ResetTimer()
	m := NewLineMerge()
	for s, text := range texts {
		q := m.addSource(s, behind)
		source := &LogSource{Role: "node", Index: s}
		go func() {
			defer q.setEnded()
			_ = readStream(strings.NewReader(text), source, newReplayWindow(false), true, q.pushLines)
		}()
	}
	m.CloseSources()
	p := Printer{Labels: true, Terminal: true, Color: true}
	p.SetOutput(io.Discard)
	if err := m.DeliverInOrder(b.Context(), p.PrintLines); err != nil {
		b.Fatal(err)
	}
	if p.Shown != each*sources {
		b.Fatalf("%d lines, want %d", p.Shown, each*sources)
	}
	b.ReportMetric(float64(p.Shown)/b.Elapsed().Seconds(), "lines/s")
}
