package syntax

import "strings"

// The limits of plain text: what is beyond them is for the library, or a mistake.
const (
	maxPlainDepth = 32
	maxPlainKey   = 128
)

// plainReader reads plain YAML. Every method that returns a node returns nil where the text is not plain; then all of it is void.
type plainReader struct {
	text  string
	nodes *nodeArena
	// pos is the next byte; line counts from 1 and begins at start.
	pos, line, start int
	// indent is the column, from 0, of the first character of the current line; -1 after the end of a document.
	indent int
	// more says that the document ended with `---`, after which another one must come.
	more bool
}

// readPlain returns the documents of plain text, and whether it is plain.
func readPlain(text string, nodes *nodeArena) ([]*Node, bool) {
	if !isPlainASCII(text) {
		return nil, false
	}
	p := plainReader{text: text, nodes: nodes}
	if !p.nextLine() {
		return nil, false
	}
	if p.indent < 0 && (!p.more || !p.nextLine()) { // `---` before the first document
		return nil, false
	}
	var documents []*Node
	for {
		if p.indent != 0 || len(documents) == MaxDocuments {
			return nil, false
		}
		document := p.readMapping(1)
		if document == nil || p.indent >= 0 {
			return nil, false
		}
		documents = append(documents, document)
		if !p.more {
			return documents, true
		}
		if !p.nextLine() {
			return nil, false
		}
	}
}

// isPlainASCII reports whether text is ASCII without control characters, so that bytes are characters, and all are allowed in YAML.
func isPlainASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n') || c > '~' {
			return false
		}
	}
	return true
}

// nextLine goes to the first character of the next line that is not blank and not a comment. At the end of the document indent is -1.
// It is false where the line is not plain.
func (p *plainReader) nextLine() bool {
	p.indent, p.more = -1, false
	for p.pos < len(p.text) {
		p.start = p.pos
		p.line++
		end := p.pos + len(p.text[p.pos:])
		if i := strings.IndexByte(p.text[p.pos:], '\n'); i >= 0 {
			end = p.pos + i
		}
		for p.pos < end && p.text[p.pos] == ' ' {
			p.pos++
		}
		if p.pos < end && p.text[p.pos] != '#' {
			return p.acceptLine(end)
		}
		p.pos = min(end+1, len(p.text))
	}
	return true
}

func (p *plainReader) acceptLine(end int) bool {
	if end-p.start > plainLine {
		return false
	}
	if p.pos == p.start && strings.HasPrefix(p.text[p.pos:end], "---") {
		p.more = end-p.start == len("---")
		p.pos = min(end+1, len(p.text))
		return p.more
	}
	p.indent = p.pos - p.start
	return true
}

// plainLine is the length of a line up to which its tokens are measured, see source.File.Token.
const plainLine = 1000

func (p *plainReader) newNode(kind Kind, tag Tag, from, length int) *Node {
	at := Place{Line: int32(p.line), Column: int32(from - p.start + 1), Length: int32(length)}
	return p.nodes.new(Node{Kind: kind, Tag: tag, At: at})
}

// peek returns the current byte, or a line end after the last one.
func (p *plainReader) peek() byte { return p.byteAt(p.pos) }

func (p *plainReader) byteAt(i int) byte {
	if i < len(p.text) {
		return p.text[i]
	}
	return '\n'
}

// atListItem reports whether a list item begins here.
func (p *plainReader) atListItem() bool {
	return p.peek() == '-' && (p.byteAt(p.pos+1) == ' ' || p.byteAt(p.pos+1) == '\n')
}

// readBlock reads what begins at the current line.
func (p *plainReader) readBlock(depth int) *Node {
	if p.atListItem() {
		return p.readSequence(depth)
	}
	return p.readMapping(depth)
}

// readMapping reads the entries that have the indent of the current position, and goes to the line after them.
func (p *plainReader) readMapping(depth int) *Node {
	if depth > maxPlainDepth {
		return nil
	}
	indent := p.indent
	var mapping *Node
	var last **Node
	for p.indent == indent && !p.atListItem() {
		key := p.readKey()
		if key == nil {
			return nil
		}
		if mapping == nil {
			mapping = p.nodes.new(Node{Kind: Mapping, Tag: Map, At: key.At})
			last = &mapping.First
		}
		key.Next = p.readValue(indent, depth)
		if key.Next == nil {
			return nil
		}
		*last = key
		last = &key.Next.Next
	}
	if p.indent >= indent {
		return nil
	}
	return mapping
}

// readKey reads a key, its colon and the blanks after it.
func (p *plainReader) readKey() *Node {
	from := p.pos
	for p.pos < len(p.text) && keyByte[p.text[p.pos]] {
		p.pos++
	}
	length := p.pos - from
	if length == 0 || length > maxPlainKey || !letterByte[p.text[from]] || p.peek() != ':' {
		return nil
	}
	if next := p.byteAt(p.pos + 1); next != ' ' && next != '\n' {
		return nil
	}
	key := p.newNode(Scalar, String, from, length)
	key.Value = p.text[from:p.pos]
	p.pos++
	p.skipBlanks()
	return key
}

func (p *plainReader) skipBlanks() {
	for p.peek() == ' ' {
		p.pos++
	}
}

// readValue reads the value of a key: on its line, or in the lines below.
func (p *plainReader) readValue(indent, depth int) *Node {
	if p.peek() != '\n' && !p.atComment() {
		return p.readLineValue(indent, depth)
	}
	if !p.endLine() || p.indent < indent || p.indent == indent && !p.atListItem() {
		return nil // no value, which the library places
	}
	if p.indent == indent || p.atListItem() {
		return p.readSequence(depth + 1)
	}
	return p.readMapping(depth + 1)
}

// readLineValue reads a value that ends with its line, and goes to the next one.
func (p *plainReader) readLineValue(indent, depth int) *Node {
	node := p.readInline(depth + 1)
	if node == nil || !p.endLine() || p.indent > indent {
		return nil // a scalar of several lines, or a mistake
	}
	return node
}

// atComment reports whether a comment begins here, which needs a blank before it.
func (p *plainReader) atComment() bool { return p.peek() == '#' && p.pos > 0 && p.text[p.pos-1] == ' ' }

// endLine skips blanks and a comment, and goes to the next line.
func (p *plainReader) endLine() bool {
	p.skipBlanks()
	if p.atComment() {
		if i := strings.IndexByte(p.text[p.pos:], '\n'); i >= 0 {
			p.pos += i
		} else {
			p.pos = len(p.text)
		}
	}
	if p.peek() != '\n' {
		return false
	}
	p.pos = min(p.pos+1, len(p.text))
	return p.nextLine()
}

// readSequence reads the items that have the indent of the current position.
func (p *plainReader) readSequence(depth int) *Node {
	if depth > maxPlainDepth {
		return nil
	}
	indent := p.indent
	sequence := p.newNode(Sequence, List, p.pos, 1)
	last := &sequence.First
	for p.indent == indent && p.atListItem() {
		p.pos++
		p.skipBlanks()
		item := p.readItem(indent, depth)
		if item == nil {
			return nil
		}
		*last = item
		last = &item.Next
	}
	if p.indent > indent {
		return nil
	}
	return sequence
}

// readItem reads what follows the dash.
func (p *plainReader) readItem(indent, depth int) *Node {
	if p.peek() == '\n' || p.atComment() {
		if !p.endLine() || p.indent <= indent {
			return nil
		}
		return p.readBlock(depth + 1)
	}
	if p.atListItem() {
		return nil
	}
	from, used := p.pos, p.nodes.used
	if p.readKey() != nil { // a mapping that begins beside the dash
		p.pos, p.nodes.used = from, used
		p.indent = p.pos - p.start
		return p.readMapping(depth + 1)
	}
	p.pos, p.nodes.used = from, used
	return p.readLineValue(indent, depth)
}

// readInline reads a scalar or a flow collection.
func (p *plainReader) readInline(depth int) *Node {
	if depth > maxPlainDepth {
		return nil
	}
	switch p.peek() {
	case '[':
		return p.readFlowSequence(depth)
	case '{':
		return p.readFlowMapping(depth)
	case '"', '\'':
		return p.readQuoted()
	}
	return p.readScalar(blockByte)
}

// readFlow is readInline inside of a flow collection.
func (p *plainReader) readFlow(depth int) *Node {
	if strings.IndexByte("[{\"'", p.peek()) >= 0 {
		return p.readInline(depth)
	}
	return p.readScalar(flowByte)
}

func (p *plainReader) readFlowSequence(depth int) *Node {
	sequence := p.newNode(Sequence, List, p.pos, 1)
	last := &sequence.First
	p.pos++
	p.skipBlanks()
	for p.peek() != ']' || sequence.First != nil {
		item := p.readFlow(depth + 1)
		if item == nil {
			return nil
		}
		*last = item
		last = &item.Next
		switch p.readSeparator() {
		case ']':
			return sequence
		case ',':
		default:
			return nil
		}
	}
	p.pos++
	return sequence
}

func (p *plainReader) readFlowMapping(depth int) *Node {
	mapping := p.newNode(Mapping, Map, p.pos, 1)
	last := &mapping.First
	p.pos++
	p.skipBlanks()
	for p.peek() != '}' || mapping.First != nil {
		key := p.readKey()
		if key == nil {
			return nil
		}
		key.Next = p.readFlow(depth + 1)
		if key.Next == nil {
			return nil
		}
		*last = key
		last = &key.Next.Next
		switch p.readSeparator() {
		case '}':
			return mapping
		case ',':
		default:
			return nil
		}
	}
	p.pos++
	return mapping
}

// readSeparator reads what follows an item of a flow collection, with the blanks around it.
func (p *plainReader) readSeparator() byte {
	p.skipBlanks()
	c := p.peek()
	if c != '\n' {
		p.pos++
	}
	if c == ',' {
		p.skipBlanks()
	}
	return c
}

// readQuoted reads a quoted scalar without escapes.
func (p *plainReader) readQuoted() *Node {
	from, quote := p.pos, p.text[p.pos]
	for p.pos++; p.peek() != quote; p.pos++ {
		if c := p.peek(); c == '\n' || c == '\\' && quote == '"' {
			return nil
		}
	}
	p.pos++
	if c := p.peek(); c == quote || c == ':' {
		return nil
	}
	node := p.newNode(Scalar, String, from, p.pos-from)
	node.Value = p.text[from+1 : p.pos-1]
	return node
}

// readScalar reads a plain scalar of some bytes. It ends at a line end, a comment, or in a flow collection at its next character.
func (p *plainReader) readScalar(allowed *[256]bool) *Node {
	from := p.pos
	if c := p.peek(); !firstByte[c] && (c != '-' || !letterByte[p.byteAt(p.pos+1)]) {
		return nil
	}
	end := p.pos
	for ; p.pos < len(p.text) && allowed[p.text[p.pos]]; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == ' ':
			continue
		case c == '#' && p.text[p.pos-1] == ' ':
			p.pos-- // endLine wants to see the blank
			return p.newScalarNode(from, end)
		case c == ':' && !afterColon[p.byteAt(p.pos+1)]:
			return nil
		}
		end = p.pos + 1
	}
	return p.newScalarNode(from, end)
}

func (p *plainReader) newScalarNode(from, end int) *Node {
	text := p.text[from:end]
	node := p.newNode(Scalar, resolveTag(text), from, len(text))
	node.Value = text
	return node
}

// The alphabets of plain text.
var (
	letterByte = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
	keyByte    = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
	firstByte  = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+(=$^;")
	flowByte   = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+(=$^; -:@)~<>&*!|%'\"\\`")
	blockByte  = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+(=$^; -:@)~<>&*!|%'\"\\`#,[]{}?")
	afterColon = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@")
)

func byteSet(bytes string) *[256]bool {
	var set [256]bool
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return &set
}
