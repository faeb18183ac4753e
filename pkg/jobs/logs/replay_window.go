package logs

import (
	"hash/maphash"
	"strings"
	"time"
)

// rewind is how far before the last line a log is asked for again. A time in a request has whole seconds (metav1.Time), and stdout
// and stderr of a program are stamped by two threads of the container runtime, so that the order of a file is that of time only nearly.
const rewind = time.Second

// chunk is where container runtimes cut a line into parts with a time each (16 KiB, containerd pkg/cri/io and cri-o conmon). A log that
// is read from a time on may begin with the end of such a line.
const chunk = 16 << 10

// replayWindow remembers the newest lines of a source, by time and text, so that a log that is read again gives each line once. Remembering a line
// costs little; only a log that is read again is looked up.
type replayWindow struct {
	// limited: lines before the first one were not asked for.
	limited     bool
	first, last time.Time
	seed        maphash.Seed
	newest      []lineKey
	// again counts what a stream repeats of them; nil once it is past them.
	again map[lineKey]int
	until time.Time
	// noteCut notes that kubelet has deleted the first lines of a run; nil once that is judged.
	noteCut func()
	// long is the last line of at least a chunk; begin says that a stream has just begun.
	long  Line
	begin bool
	// words are those of kubelet itself, which have no time. The program has not printed them: tell gets each once; nil for nobody.
	words map[string]bool
	tell  func(text string)
}

type lineKey struct {
	at   int64
	hash uint64
}

func newReplayWindow(limited bool) *replayWindow {
	return &replayWindow{limited: limited, seed: maphash.MakeSeed(), words: map[string]bool{}}
}

// resumeTime is the time from which the log is asked for next, zero while nothing was seen.
func (w *replayWindow) resumeTime() time.Time {
	if w.last.IsZero() {
		return time.Time{}
	}
	return w.last.Truncate(time.Second).Add(-rewind)
}

// beginReplay is said before a log is read again.
func (w *replayWindow) beginReplay() {
	w.again, w.until, w.begin = make(map[lineKey]int, len(w.newest)), w.last, true
	for _, key := range w.newest {
		w.again[key]++
	}
}

// isNewLine reports whether a line was not seen before, and remembers it.
func (w *replayWindow) isNewLine(line Line, stamped bool) bool {
	if !stamped {
		known := w.words[line.Raw]
		w.words[line.Raw] = true
		return !known
	}
	key := lineKey{line.Time.UnixNano(), maphash.String(w.seed, line.Raw)}
	if w.isRepeated(key, line) {
		return false
	}
	if w.first.IsZero() {
		w.first = line.Time
	}
	if line.Time.After(w.last) {
		w.last = line.Time
	}
	if len(line.Raw) >= chunk {
		w.long = line
	}
	w.newest = append(w.newest, key)
	w.forgetOld()
	return true
}

// tellKubeletWord passes on what kubelet says.
func (w *replayWindow) tellKubeletWord(text string) {
	if w.tell != nil && text != "" {
		w.tell(text)
	}
}

func (w *replayWindow) isRepeated(key lineKey, line Line) bool {
	begins := w.begin
	w.begin = false
	if w.limited && line.Time.Before(w.first) {
		return true
	}
	if w.again == nil {
		return false
	}
	if w.again[key] > 0 {
		w.again[key]--
		return true
	}
	if begins && w.long.Time.Before(line.Time) && line.Raw != "" && strings.HasSuffix(w.long.Raw, line.Raw) && !line.Time.After(w.until) {
		return true
	}
	if line.Time.After(w.until.Add(rewind)) {
		w.again = nil
	}
	return false
}

// forgetOld drops what will not be asked for again.
func (w *replayWindow) forgetOld() {
	oldest := w.resumeTime().UnixNano()
	n := 0
	for n < len(w.newest) && w.newest[n].at < oldest {
		n++
	}
	w.newest = w.newest[n:]
}
