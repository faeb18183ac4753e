package lines

import (
	"regexp"
	"strings"
	"sync"
)

// Spec is what a document would define: the word behind `kind`, and `metadata.name` as it is written. Both may be empty.
type Spec struct {
	Kind, Name string
	// Line is where the document begins, from 1; Place is that of the name, zero without one.
	Line  int
	Place Place
}

const quotes = "\"'“”‘’„«»`"

var (
	kindOf = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[\s{` + quotes + `]*kind[` + quotes + `]?\s*[:=：]?\s*[` + quotes + `]*([A-Za-z]+)`)
	})
	nameOf = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[\s{,` + quotes + `])name(?:[` + quotes + `]?[ \t]*[:=：][ \t]*|[ \t]+)([^\s,}\]#][^\n,}\]#]*)`)
	})
)

// Specs returns the specs that a text would define, however wrong it is: one for each document that is not empty.
func Specs(text string) []Spec {
	var specs []Spec
	lines := splitLines(text)
	for begin := 0; begin < len(lines); {
		end := begin
		for end < len(lines) && !isSeparator(lines[end]) {
			end++
		}
		if document := strings.Join(lines[begin:end], "\n"); strings.TrimSpace(document) != "" {
			specs = append(specs, specOf(document, begin))
		}
		begin = end + 1
	}
	return specs
}

func specOf(document string, line int) Spec {
	spec := Spec{Line: line + 1}
	if found := kindOf().FindStringSubmatch(document); found != nil {
		spec.Kind = found[1]
	}
	// The first name behind `metadata` is meant; `name` alone where that word is not there.
	from := max(0, strings.Index(document, "metadata"))
	found := nameOf().FindStringSubmatchIndex(document[from:])
	if found == nil {
		return spec
	}
	begin, end := from+found[2], from+found[3]
	written := document[begin:end]
	spec.Name = strings.Trim(written, quotes+" \t\r")
	before := document[:begin]
	last := strings.LastIndexByte(before, '\n') + 1
	spec.Place = Place{
		Line: line + 1 + strings.Count(before, "\n"), Column: characterCount(before[last:]) + 1, Length: max(1, characterCount(strings.TrimRight(written, " \t"))),
	}
	return spec
}
