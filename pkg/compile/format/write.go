package format

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

// blockWriter writes lines.
type blockWriter struct {
	out bytes.Buffer
	// pending is the dash of a list item that waits for the first line of its mapping.
	pending string
	// fresh says that nothing stands above: at the top of a document or a block a blank line is not wanted.
	fresh bool
	blank bool
}

func writeBlocks(roots []*block) []byte {
	w := &blockWriter{}
	for i, root := range roots {
		if i > 0 {
			w.writeLine(0, "---")
		}
		w.fresh = true
		top := w.out.Len()
		w.writeComments(root.head, 0)
		w.fresh = w.out.Len() == top
		if len(root.entries) == 0 {
			w.writeLine(0, "{}")
		}
		w.writeBlock(root, 0, nil)
	}
	return w.out.Bytes()
}

// writeLine writes a line, behind a blank one where that is due.
func (w *blockWriter) writeLine(indent int, text string) {
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

// writeComments writes comments and blank lines.
func (w *blockWriter) writeComments(lines []string, indent int) {
	for _, line := range lines {
		if line == "" {
			w.blank = true
			continue
		}
		w.writeLine(indent, line)
	}
}

// writeBlock writes entries. The comments above an entry that was announced are already written.
func (w *blockWriter) writeBlock(b *block, indent int, announced *entry) {
	for i, e := range b.entries {
		if i == 0 && b.parent != nil && announced == nil {
			w.fresh = true
		}
		if e != announced {
			w.writeComments(e.head, indent)
		}
		w.writeEntry(e, indent)
	}
	w.writeComments(b.foot, indent)
}

func (w *blockWriter) writeEntry(e *entry, indent int) {
	if e.key == nil {
		w.writeItem(e, indent)
		return
	}
	prefix := keyText(e.key) + ":"
	if e.inner == nil {
		w.writeValue(e, prefix, indent)
		return
	}
	w.writeLine(indent, prefix+anchorText(e.value)+besideText(e))
	w.writeBlock(e.inner, indent+2, nil)
}

// writeItem writes an item of a list. A mapping begins beside the dash, unless an anchor stands there.
func (w *blockWriter) writeItem(e *entry, indent int) {
	switch {
	case e.inner == nil:
		w.writeValue(e, "-", indent)
	case e.inner.node.Kind == yaml.MappingNode && e.value.Anchor == "":
		if e.beside != "" {
			w.writeComments([]string{e.beside}, indent)
		}
		first := e.inner.entries[0]
		w.writeComments(commentsAbove(first), indent)
		w.pending = strings.Repeat(" ", indent) + "- "
		w.writeBlock(e.inner, indent+2, first)
	default:
		w.writeLine(indent, "-"+anchorText(e.value)+besideText(e))
		w.writeBlock(e.inner, indent+2, nil)
	}
}

// commentsAbove returns the comments above an entry without blank lines at the beginning and at the end.
func commentsAbove(e *entry) []string {
	lines := e.head
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writeValue writes an entry that is one line, or a block scalar.
func (w *blockWriter) writeValue(e *entry, prefix string, indent int) {
	header, body := valueText(e.value)
	if header != "" {
		header = " " + header
	}
	w.writeLine(indent, prefix+anchorText(e.value)+header+besideText(e))
	for _, line := range body {
		if line == "" {
			w.out.WriteByte('\n')
			continue
		}
		w.writeLine(indent+2, line)
	}
	if strings.Contains(header, "+") && len(body) > 0 {
		w.fresh = true // blank lines below belong to the value
	}
}

func anchorText(node *yaml.Node) string {
	if node.Anchor == "" || node.Kind == yaml.AliasNode {
		return ""
	}
	return " &" + node.Anchor
}

func besideText(e *entry) string {
	if e.beside == "" {
		return ""
	}
	return " " + e.beside
}
