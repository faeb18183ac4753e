package accepted

import (
	"regexp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// keyPlace is the place of the key that a problem is about, where a value alone is known, or a file of a chart: an unknown field is wrong itself,
// and a template has a line for each key. What is not there once, as written by a loop, keeps its place.
func keyPlace(at source.Span, from *origin.Origin, p *schema.Problem) source.Span {
	switch {
	case from == nil || at.IsZero():
	case from.Kind == origin.Written && isFromOverlay(at.Path()) && p.Key != "":
		return keyBefore(at, p.Key)
	case from.Kind == origin.Rendered && at.Line == 0:
		return onlyKey(at, lastKey(p.Path))
	}
	return at
}

// keyBefore is the nearest key of a name before a value: on its line, or on the one above that says something.
func keyBefore(at source.Span, key string) source.Span {
	for number := at.Line; number > 0; number-- {
		letters := []rune(at.File.Line(number))
		if number == at.Line {
			letters = letters[:min(at.Column-1, len(letters))]
		}
		line := string(letters)
		if i := strings.LastIndex(line, key); i >= 0 {
			return at.File.Token(number, len([]rune(line[:i]))+1, len([]rune(key)))
		}
		if said, _, _ := strings.Cut(line, "#"); number < at.Line && strings.TrimSpace(said) != "" {
			break
		}
	}
	return at
}

// onlyKey is the only key of a name in a file, or the file.
func onlyKey(file source.Span, key string) source.Span {
	if key == "" {
		return file
	}
	found := regexp.MustCompile(`(?m)^[ \t]*(?:- )?["']?(`+regexp.QuoteMeta(key)+`)["']?:`).FindAllStringSubmatchIndex(file.File.Text(), 2)
	if len(found) != 1 {
		return file
	}
	before := file.File.Text()[:found[0][2]]
	number := strings.Count(before, "\n") + 1
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	return file.File.Token(number, column, len([]rune(key)))
}

// lastKey is the last key of a path such as spec.hard["requests.cpu"] or spec.ports[0].
func lastKey(path string) string {
	path = regexp.MustCompile(`(\[\d+\])+$`).ReplaceAllString(path, "")
	if quoted, isQuoted := strings.CutSuffix(path, `"]`); isQuoted {
		return quoted[strings.LastIndexByte(quoted, '"')+1:]
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}
