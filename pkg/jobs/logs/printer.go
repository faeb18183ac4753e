package logs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Printer writes lines as people or programs read them.
type Printer struct {
	Filter LineFilter
	// Format is Text, Raw or JSON.
	Format OutputFormat
	// Labels puts the pod and the rank before each line; Times the time.
	Labels, Times bool
	// Color marks pods, ranks and Highlight. Terminal: what is written is shown by one, so that escape sequences of programs, which could
	// rewrite what stands there, are taken out.
	Color, Terminal bool
	Highlight       []*regexp.Regexp
	// Shown counts the lines that were written, Tagged those of a known rank that were read.
	Shown, Tagged int

	out   *bufio.Writer
	names map[*LogSource]string
}

// OutputFormat is how a line is written.
type OutputFormat string

// The formats. Raw is what the program printed and nothing else, JSON an object per line.
const (
	Text OutputFormat = "text"
	Raw  OutputFormat = "raw"
	JSON OutputFormat = "json"
)

// Formats are all of them.
func Formats() []string { return []string{string(Text), string(Raw), string(JSON)} }

// SetOutput says where lines are written.
func (p *Printer) SetOutput(out io.Writer) {
	p.out, p.names = bufio.NewWriterSize(out, streamBuffer), map[*LogSource]string{}
}

// PrintLines writes those of some lines that are wanted, and leaves nothing in a buffer.
func (p *Printer) PrintLines(lines []Line) error {
	for _, line := range lines {
		if line.Rank != nil {
			p.Tagged++
		}
		if !p.Filter.Matches(line) {
			continue
		}
		p.Shown++
		p.printLine(line)
	}
	return p.out.Flush()
}

func (p *Printer) printLine(line Line) {
	switch p.Format {
	case JSON:
		p.printJSON(line)
	case Raw:
		_, _ = p.out.WriteString(p.withoutEscapes(line.Raw))
	default:
		p.printText(line)
	}
	_ = p.out.WriteByte('\n')
}

func (p *Printer) printText(line Line) {
	if p.Times {
		_, _ = p.out.WriteString(line.Time.UTC().Format(timeFormat))
		_ = p.out.WriteByte(' ')
	}
	if p.Labels || line.Rank != nil {
		p.printLabel(line)
	}
	text := p.withoutEscapes(line.Text)
	if p.Color {
		text = p.highlight(text)
	}
	_, _ = p.out.WriteString(text)
}

// timeFormat has a fixed width, so that lines stand below each other.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// printLabel is `launcher 3| ` for a line of rank 3, `node-1| ` for one of no rank.
func (p *Printer) printLabel(line Line) {
	if p.Color {
		_, _ = p.out.WriteString(paints[colorOf(line)])
	}
	if p.Labels {
		_, _ = p.out.WriteString(p.nameOf(line.Source))
	}
	if line.Rank != nil {
		if p.Labels {
			_ = p.out.WriteByte(' ')
		}
		_, _ = p.out.Write(strconv.AppendInt(p.out.AvailableBuffer(), int64(*line.Rank), 10))
	}
	_ = p.out.WriteByte('|')
	if p.Color {
		_, _ = p.out.WriteString(unpainted)
	}
	_ = p.out.WriteByte(' ')
}

// nameOf returns the label of a source, which is made once.
func (p *Printer) nameOf(source *LogSource) string {
	name, known := p.names[source]
	if !known {
		name = source.Label()
		p.names[source] = name
	}
	return name
}

// colors are those of the 256 that can be told apart on light and dark ground.
var colors = []int{33, 70, 166, 127, 37, 136, 62, 161, 29, 94, 25, 130, 98, 64, 167, 31}

// paints switch a terminal to each of colors, unpainted back.
var paints = func() (sequences []string) {
	for _, color := range colors {
		sequences = append(sequences, fmt.Sprintf("\x1b[38;5;%dm", color))
	}
	return sequences
}()

const unpainted = "\x1b[0m"

// colorOf returns which of colors a line has.
func colorOf(line Line) int {
	if line.Rank != nil {
		return *line.Rank % len(colors)
	}
	// Pods begin elsewhere, so that node 0 does not look like rank 0.
	return (line.Source.Index + len(line.Source.Role)) % len(colors)
}

func (p *Printer) highlight(text string) string {
	for _, h := range p.Highlight {
		text = h.ReplaceAllStringFunc(text, func(found string) string {
			if found == "" {
				return found
			}
			return "\x1b[1;7m" + found + "\x1b[0m"
		})
	}
	return text
}

func (p *Printer) withoutEscapes(text string) string {
	if p.Terminal {
		return diagnose.StripEscapes(text)
	}
	return text
}

// jsonLine is a line as JSON. Bytes that are not UTF-8 become U+FFFD there.
type jsonLine struct {
	Time      time.Time `json:"time"`
	Pod       string    `json:"pod"`
	Container string    `json:"container"`
	Role      string    `json:"role"`
	Index     int       `json:"index"`
	Machine   string    `json:"machine,omitempty"`
	Rank      *int      `json:"rank,omitempty"`
	Text      string    `json:"text"`
	Continued bool      `json:"continued,omitempty"`
}

func (p *Printer) printJSON(line Line) {
	s := line.Source
	text, err := json.Marshal(jsonLine{line.Time.UTC(), s.Pod, s.Container, s.Role, s.Index, s.Machine, line.Rank, line.Text, line.Continued})
	if err != nil {
		panic(err) // text, numbers, and a time that was read
	}
	_, _ = p.out.Write(text)
}
