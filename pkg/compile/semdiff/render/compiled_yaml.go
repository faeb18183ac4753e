package render

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// Bounds of the YAML of a report, in lines: of one entry in a comment, in a page or a message, and if a flag asks for
// it, and of all entries.
const (
	maxCompiledInComment = 30
	maxCompiled          = 60
	maxCompiledWanted    = 200
	maxAllCompiled       = 10_000
)

// yamlRoom counts the lines of YAML that a report has room for.
type yamlRoom int

// compiledYAML returns how the objects differ that an entry shows. What has no room is counted in the last line.
func (room *yamlRoom) compiledYAML(e *group.Entry, most int) []yamlLine {
	var lines []yamlLine
	for i := range e.Samples {
		last, around := "", match.Path(nil)
		for _, c := range e.Samples[i].Changes {
			if name := c.Object().ID.String(); name != last {
				lines, last, around = append(lines, yamlLine{' ', "# " + name}), name, nil
			}
			lines = append(lines, yamlLinesOf(c, around)...)
			around = c.Path
		}
	}
	shown := min(most, int(*room), len(lines))
	left := len(lines) - shown
	lines = lines[:shown]
	*room -= yamlRoom(shown)
	for i := range lines {
		text := strings.TrimLeft(lines[i].text, " ")
		text = lines[i].text[:len(lines[i].text)-len(text)] + escapeControl(text)
		if letters := []rune(text); len(letters) > maxLine {
			text = string(letters[:maxLine-1]) + "…"
		}
		lines[i].text = text
	}
	if left > 0 {
		lines = append(lines, yamlLine{' ', "… and " + plural(left, "more line")})
	}
	return lines
}

// yamlText joins lines of YAML to a text, each with its mark.
func yamlText(lines []yamlLine) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(string(line.mark) + " " + line.text + "\n")
	}
	return b.String()
}

// yamlLine is a line of an object: of both states, or of the one before (-) or after (+).
type yamlLine struct {
	mark byte
	text string
}

// yamlLinesOf returns the lines of a change below the keys around it. Keys around the change before are left out.
func yamlLinesOf(c *match.Change, before match.Path) []yamlLine {
	var lines []yamlLine
	depth, key := 0, ""
	if n := len(c.Path); n > 0 {
		same := true
		for i, around := range c.Path[:n-1] {
			if same = same && i < len(before)-1 && before[i] == around; !same {
				lines = append(lines, yamlLine{' ', strings.Repeat("  ", depth) + around + ":"})
			}
			depth++
		}
		key = c.Path[n-1]
	}
	if c.Old != nil {
		lines = appendYAML(lines, '-', key, c.Old, depth)
	}
	if c.New != nil {
		lines = appendYAML(lines, '+', key, c.New, depth)
	}
	return lines
}

// appendYAML appends a value under its key; an item of a list has the key `-`, and a whole object has none.
func appendYAML(lines []yamlLine, mark byte, key string, n *object.Node, depth int) []yamlLine {
	indent := strings.Repeat("  ", depth)
	switch {
	case n.Leaf():
		text := n.Text
		isPlain := text != "" && !strings.ContainsAny(text, "\n#:{}[]") && strings.TrimSpace(text) == text
		if n.Kind == object.TextNode && !isPlain {
			text = strconv.Quote(text)
		}
		return append(lines, yamlLine{mark, indent + strings.TrimSuffix(key, ":") + yamlSeparator(key) + text})
	case key != "":
		lines = append(lines, yamlLine{mark, indent + key + strings.TrimSpace(yamlSeparator(key))})
		depth++
	}
	for i := range n.Children {
		child := &n.Children[i]
		name := child.Key
		if n.Kind == object.ListNode {
			name = "-"
		}
		lines = appendYAML(lines, mark, name, child, depth)
	}
	return lines
}

func yamlSeparator(key string) string {
	if key == "-" {
		return " "
	}
	return ": "
}
