package compare

import (
	"regexp"
	"slices"
	"strings"
)

// pythonFunction is one of Python that runs as every rank. The Python package sends it as the last word of a command (python/src/lockstep/_function.py).
type pythonFunction struct {
	name, file, source string
	// runner is what calls it.
	runner    string
	arguments []pythonArgument
}

// pythonArgument is one of a call, as Python writes it.
type pythonArgument struct{ name, value string }

const (
	sourceBegins = `SOURCE = """`
	sourceEnds   = "\"\"\"\n\n"
)

// call is the last line of a program.
var call = regexp.MustCompile(`\n\nrun\(SOURCE, ("[^"]*"|'[^']*'), \d+, '(\w+)', \{(.*)\}\)\n$`)

// parsePythonFunction returns the function that a command runs, and the words before its program.
func parsePythonFunction(command []string) (f pythonFunction, before []string, found bool) {
	at := slices.IndexFunc(command, func(word string) bool { return strings.HasPrefix(word, sourceBegins) && call.MatchString(word) })
	if at < 0 {
		return pythonFunction{}, nil, false
	}
	program := command[at]
	called := call.FindStringSubmatchIndex(program)
	part := func(i int) string { return program[called[2*i]:called[2*i+1]] }
	source, runner, whole := strings.Cut(program[len(sourceBegins):called[0]], sourceEnds)
	f = pythonFunction{name: part(2), file: dollars.Replace(strings.Trim(part(1), `"'`)), source: unescaped.Replace(source), runner: runner}
	for _, text := range splitAtCommas(part(3)) {
		if name, value, is := strings.Cut(strings.TrimSpace(text), ": "); is {
			f.arguments = append(f.arguments, pythonArgument{strings.Trim(name, `'`), dollars.Replace(value)})
		}
	}
	return f, command[:at], whole
}

// The package hides dollars from Kubernetes. What else is escaped stays as Python writes it in arguments, and is undone in a source.
var (
	dollars   = strings.NewReplacer(`\\`, `\\`, `\x24`, "$")
	unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\x24`, "$")
)

// splitAtCommas divides what Python writes of a list or dict at commas that are in no other one and in no string.
func splitAtCommas(text string) []string {
	var parts []string
	begin, depth, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.IndexByte("[{(", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			parts, begin = append(parts, text[begin:i]), i+1
		}
	}
	return append(parts, text[begin:])
}
