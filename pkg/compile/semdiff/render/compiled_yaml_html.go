package render

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// What bounds the compiled differences of a page: lines of one entry, and of all.
const (
	maxCompiled    = 60
	maxAllCompiled = 10_000
)

// writeCompiledYAML writes how the objects differ that an entry shows, as YAML, behind a click.
func (p *htmlPage) writeCompiledYAML(e *group.Entry) {
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
	left := len(lines) - maxCompiled
	lines = lines[:min(maxCompiled, len(lines))]
	if len(lines) == 0 || p.yaml+len(lines) > maxAllCompiled {
		return
	}
	p.yaml += len(lines)
	p.raw(`<details class="yaml"><summary>compiled</summary><pre><code>`)
	for _, line := range lines {
		text := strings.TrimLeft(line.text, " ")
		text = line.text[:len(line.text)-len(text)] + escapeControl(text)
		if letters := []rune(text); len(letters) > maxLine {
			text = string(letters[:maxLine-1]) + "…"
		}
		switch line.mark {
		case '+':
			p.put("<ins>+ %s</ins>", text)
		case '-':
			p.put("<del>- %s</del>", text)
		default:
			p.put("  %s\n", text)
		}
	}
	if left > 0 {
		p.put("  %s\n", "… and "+plural(left, "more line"))
	}
	p.raw("</code></pre></details>\n")
}

// yamlLine is a line of an object: of both states, or of the one before (-) or after (+).
type yamlLine struct {
	mark byte
	text string
}

// yamlLinesOf are the lines of a change below the keys around it, without those that it has in common with the change before.
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
		if n.Kind == object.TextNode && (text == "" || strings.ContainsAny(text, "\n#:{}[]") || strings.TrimSpace(text) != text) {
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
