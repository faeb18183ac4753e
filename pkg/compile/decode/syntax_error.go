package decode

import (
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/decode/lines"
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// reportSyntax reports text that the parser refused: where the mistake is, if its lines show that, or else where the parser stopped. A
// mistake is never behind that place.
func reportSyntax(file *source.File, wrong *syntax.Error, list *diag.List) {
	cause, found := lines.FirstMistake(file.Text())
	if !found || cause.Line > wrong.At.Line {
		reportWhereParserStopped(file, wrong, list)
		return
	}
	at := file.Token(cause.Line, cause.Column, cause.Length)
	report := list.Errorf(diag.Syntax, at, "not valid YAML: %s", cause.Message).Notef("the rest of this file was not read").Helpf("%s", cause.Help)
	reportOddSpace(report, file, cause.Line)
}

// reportWhereParserStopped reports the parser's error where the parser stopped.
func reportWhereParserStopped(file *source.File, wrong *syntax.Error, list *diag.List) {
	message, likely := wrong.Message, parserMessages[wrong.Message]
	if likely.message != "" {
		message = likely.message
	}
	report := list.Errorf(diag.Syntax, wrong.At, "not valid YAML: %s", message).Notef("the rest of this file was not read")
	line := file.Line(wrong.At.Line)
	switch {
	case strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t"):
		report.Helpf("indent with spaces: YAML does not allow tabs there")
	case strings.Contains(wrong.Message, "unknown anchor"):
		report.Helpf("an anchor is known behind its `&`, in the same document; write the values out instead, or in quotes if `*` is meant")
	case likely.help != "":
		report.Helpf("%s", likely.help)
	}
	reportOddSpace(report, file, wrong.At.Line)
}

// reportOddSpace tells of a character that looks like a space.
func reportOddSpace(report *diag.Diagnostic, file *source.File, last int) {
	if number, column, r := firstOddSpace(file, last); r != 0 {
		report.Helpf("line %d has the character %U at column %d, which looks like a space and is none: write a space", number, r, column)
	}
}

// parserMessages are the words for what the parser says where it knows no more.
var parserMessages = map[string]struct{ message, help string }{
	"did not find expected key": {
		"a key was expected here", "compare the indentation with the lines above, and look there for an unclosed quote or bracket",
	},
	"did not find expected '-' indicator": {
		"an item that begins with `- ` was expected here", "compare the indentation with the items above, and look there for an unclosed quote or bracket",
	},
	"could not find expected ':'": {
		"a key without colon, here or in the line above", "write `key: value`; look above for an unclosed quote or bracket",
	},
	"mapping values are not allowed in this context": {
		"no key can stand here", "compare the indentation with the line above, or write a value that holds `: ` in quotes",
	},
	"found unexpected end of stream": {
		"the file ends within a value", "look above for an unclosed quote or bracket",
	},
	"did not find expected ',' or '}'": {
		"a comma or `}` was expected here", "close the bracket above, or write a comma between its entries",
	},
	"did not find expected ',' or ']'": {
		"a comma or `]` was expected here", "close the bracket above, or write a comma between its items",
	},
}

// firstOddSpace finds the first character up to a line that people see as a space, or not at all, and YAML reads as a letter: they come
// with text that is copied from web pages.
func firstOddSpace(file *source.File, last int) (number, column int, r rune) {
	for number := 1; number <= last; number++ {
		column := 0
		for _, r := range file.Line(number) {
			if column++; r > unicode.MaxASCII && (unicode.Is(unicode.Zs, r) || r == '\u200b' || r == '\u2060') {
				return number, column, r
			}
		}
	}
	return 0, 0, 0
}
