package format

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

// writer writes lines.
type writer struct {
	out bytes.Buffer
	// pending is the dash of a list item that waits for the first line of its mapping.
	pending string
	// fresh says that nothing stands above: at the top of a document or a block a blank line is not wanted.
	fresh bool
	blank bool
}

func write(roots []*block) []byte {
	w := &writer{}
	for i, root := range roots {
		if i > 0 {
			w.line(0, "---")
		}
		w.fresh = true
		top := w.out.Len()
		w.comments(root.head, 0)
		w.fresh = w.out.Len() == top
		if len(root.entries) == 0 {
			w.line(0, "{}")
		}
		w.block(root, 0, nil)
	}
	return w.out.Bytes()
}

// line writes a line, behind a blank one where that is due.
func (w *writer) line(indent int, text string) {
	if w.blank && !w.fresh {
		w.out.WriteByte('\n')
	}
	w.blank, w.fresh = false, false
	if w.pending != "" {
		w.out.WriteString(w.pending)
		w.pending = ""
	} else {
		w.out.WriteString(strings.Repeat(" ", indent))
	}
	w.out.WriteString(text)
	w.out.WriteByte('\n')
}

// comments writes comments and blank lines.
func (w *writer) comments(lines []string, indent int) {
	for _, line := range lines {
		if line == "" {
			w.blank = true
			continue
		}
		w.line(indent, line)
	}
}

// block writes entries. The comments above an entry that was announced are already written.
func (w *writer) block(b *block, indent int, announced *entry) {
	for i, e := range b.entries {
		if i == 0 && b.parent != nil && announced == nil {
			w.fresh = true
		}
		if e != announced {
			w.comments(e.head, indent)
		}
		w.entry(e, indent)
	}
	w.comments(b.foot, indent)
}

func (w *writer) entry(e *entry, indent int) {
	if e.key == nil {
		w.item(e, indent)
		return
	}
	prefix := keyText(e.key) + ":"
	if e.inner == nil {
		w.value(e, prefix, indent)
		return
	}
	w.line(indent, prefix+anchor(e.value)+beside(e))
	w.block(e.inner, indent+2, nil)
}

// item writes an item of a list. A mapping begins beside the dash, unless an anchor stands there.
func (w *writer) item(e *entry, indent int) {
	switch {
	case e.inner == nil:
		w.value(e, "-", indent)
	case e.inner.node.Kind == yaml.MappingNode && e.value.Anchor == "":
		if e.beside != "" {
			w.comments([]string{e.beside}, indent)
		}
		first := e.inner.entries[0]
		w.comments(above(first), indent)
		w.pending = strings.Repeat(" ", indent) + "- "
		w.block(e.inner, indent+2, first)
	default:
		w.line(indent, "-"+anchor(e.value)+beside(e))
		w.block(e.inner, indent+2, nil)
	}
}

// above returns the comments above an entry without blank lines at the beginning and at the end.
func above(e *entry) []string {
	lines := e.head
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// value writes an entry that is one line, or a block scalar.
func (w *writer) value(e *entry, prefix string, indent int) {
	header, body := inline(e.value)
	if header != "" {
		header = " " + header
	}
	w.line(indent, prefix+anchor(e.value)+header+beside(e))
	for _, line := range body {
		if line == "" {
			w.out.WriteByte('\n')
			continue
		}
		w.line(indent+2, line)
	}
	if strings.Contains(header, "+") && len(body) > 0 {
		w.fresh = true // blank lines below belong to the value
	}
}

func anchor(node *yaml.Node) string {
	if node.Anchor == "" || node.Kind == yaml.AliasNode {
		return ""
	}
	return " &" + node.Anchor
}

func beside(e *entry) string {
	if e.beside == "" {
		return ""
	}
	return " " + e.beside
}
