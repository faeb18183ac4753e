package logs

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	streamBuffer = 64 << 10
	// batchLines is how many lines are handed over at once, for speed, and batchBytes how long they are together; fewer if no
	// more have arrived.
	batchLines = 512
	batchBytes = 1 << 20
)

// readStream hands over the lines of a stream in batches until it ends. A last line without its end is whole only where the stream
// is known to be all of it; else it is left for the next read. It returns nil at the end of the stream, or why it broke.
func readStream(stream io.Reader, source *LogSource, seen *replayWindow, whole bool, deliver func([]Line) error) error {
	r := bufio.NewReaderSize(stream, streamBuffer)
	s := lineSplitter{source: source, seen: seen}
	for {
		part, err := r.ReadSlice('\n')
		s.addBytes(part)
		switch {
		case err == nil:
			s.endOfStream()
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && whole:
			s.endOfStream()
		}
		if broken := err != nil && !errors.Is(err, bufio.ErrBufferFull); broken || len(s.batch) >= batchLines || s.bytes >= batchBytes || r.Buffered() == 0 {
			if failed := s.flushBatch(broken, deliver); failed != nil {
				return failed
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if broken {
				return err
			}
		}
	}
}

// lineSplitter makes lines of parts.
type lineSplitter struct {
	source *LogSource
	seen   *replayWindow
	line   []byte
	// open is the line of which more is to come.
	open  *Line
	batch []Line
	bytes int
	// flushed is how many lines the batch before this one had.
	flushed int
}

func (s *lineSplitter) addBytes(part []byte) {
	s.line = append(s.line, part...)
	for len(s.line) > MaxLine+1 {
		s.putLine(string(s.line[:MaxLine]), true)
		s.line = append(s.line[:0], s.line[MaxLine:]...)
	}
}

func (s *lineSplitter) endOfStream() {
	text := s.line
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	} else if n == 0 {
		return
	}
	s.putLine(string(text), false)
	s.line, s.open = s.line[:0], nil
}

func (s *lineSplitter) putLine(text string, more bool) {
	var line Line
	stamped := true
	if s.open != nil {
		line = Line{Time: s.open.Time, Source: s.source, Rank: s.open.Rank, Raw: text, Text: text, Continued: true}
	} else {
		line, stamped = parseLine(s.source, text)
	}
	if more {
		begun := line
		s.open = &begun
	}
	switch fresh := s.seen.isNewLine(line, stamped); {
	case !fresh:
		return
	case !stamped:
		s.seen.tellKubeletWord(text)
		return
	case s.batch == nil:
		s.batch = make([]Line, 0, s.flushed) // logs come as they came before: much at once, or line by line
	}
	s.batch = append(s.batch, line)
	s.bytes += len(line.Raw)
}

func (s *lineSplitter) flushBatch(last bool, deliver func([]Line) error) error {
	if s.seen.noteCut != nil && len(s.batch) > 0 && !s.judgeBeginning(last) || len(s.batch) == 0 {
		return nil
	}
	batch := s.batch
	s.batch, s.bytes, s.flushed = nil, 0, len(batch)
	return deliver(batch)
}

// judgeBeginning drops the first line of a log that kubelet has cut, which may be the rest of one. It returns false while
// more lines are needed. A whole log has a line of the agent among its first lines, or of the runtime that cannot start it; not
// always as the very first, because stdout and stderr are read side by side.
func (s *lineSplitter) judgeBeginning(last bool) bool {
	isAgent := func(line Line) bool { return strings.Contains(line.Raw, mpi.AgentName) }
	switch {
	case slices.ContainsFunc(s.batch, isAgent):
	case !last && len(s.batch) < batchLines && s.bytes < batchBytes:
		return false
	default:
		s.seen.noteCut()
		s.batch = s.batch[1:]
	}
	s.seen.noteCut = nil
	return true
}
