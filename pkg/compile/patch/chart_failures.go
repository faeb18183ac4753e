package patch

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/decode/lines"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Where a chart fails: at a value of the spec, at a line of a template, or, where Helm names neither, at the component.

// reportNotFound reports a chart that is not there, with the one that is probably meant.
func (r chartReader) reportNotFound() {
	name := r.component.Chart.V
	report := r.list.Errorf(diag.ChartNotFound, r.component.Chart.At, "there is no chart at `%s`", name)
	var folders, bases []string
	for _, pattern := range []string{"*/Chart.yaml", "*/*/Chart.yaml", "*/*/*/Chart.yaml"} {
		found, _ := fs.Glob(r.root, pattern) // the patterns are well formed
		for _, file := range found {
			folders, bases = append(folders, path.Dir(file)), append(bases, path.Base(path.Dir(file)))
		}
	}
	if base, close := diag.Nearest(path.Base(name), bases); close {
		report.Meant(name, folders[slices.Index(bases, base)])
		return
	}
	report.Helpf("name a folder with a Chart.yaml, relative to the root of the repository")
	if len(folders) > 0 {
		report.Notef("charts are in `%s`", strings.Join(folders[:min(10, len(folders))], "`, `"))
	}
}

// chartFile returns a file of the chart, by its name in the chart.
func (r chartReader) chartFile(name string) *source.File {
	for _, f := range r.content {
		if f.Name == name {
			return source.NewFile(path.Join(r.component.Chart.V, name), f.Data)
		}
	}
	return &source.File{Path: path.Join(r.component.Chart.V, name)}
}

// reportInChart reports a mistake of a chart, once for all components that are rendered from it.
func (r chartReader) reportInChart(code diag.Code, at source.Span, message, help string) {
	key := at.String() + message
	report := r.told[key]
	if report == nil {
		report = &chartMistake{Diagnostic: r.list.Errorf(code, at, "%s", message)}
		if help != "" {
			report.Helpf("%s", help)
		}
		r.told[key] = report
	}
	component := diag.Related{Span: r.component.Chart.At, Message: "rendered for this component"}
	if !slices.Contains(report.Related, component) {
		report.Related = append(report.Related, component)
	}
	if report.times++; report.times > len(report.Related) { // a loop, and not several components
		report.Notes = []string{fmt.Sprintf("found %d times in what the chart renders", report.times)}
	}
}

// chartMistake is a mistake of a chart, and how often it was met.
type chartMistake struct {
	*diag.Diagnostic
	times int
}

var (
	// schemaLine is a value that a schema refuses.
	schemaLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^- at '([^']*)': (.+)$`) })
	quotedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'([^']*)'`) })
	// templatePlace is the file, the line and the column of a template: the name of the chart, then the path in it.
	templatePlace = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([\w.-]+)/((?:charts/)?[\w./-]+\.[a-z]+):(\d+)(?::(\d+))?`)
	})
	failingPart  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`at <([^>]*)>`) })
	openedOrDone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{-?\s*(if|range|with|define|block|end)\b`) })
	lineOfOutput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bline (\d+)`) })
)

// reportHelmError reports an error of Helm, whose messages may have several lines, in one.
func (r chartReader) reportHelmError(message string) {
	if r.reportRefusedValues(message) || r.reportAtTemplateLine(message) {
		return
	}
	r.list.Errorf(diag.ChartFails, r.component.Chart.At, "cannot render the chart `%s`: %s", r.component.Chart.V, inOneLine(message))
}

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// reportRefusedValues reports the values that the schema of a chart refuses, each at its own key.
func (r chartReader) reportRefusedValues(message string) bool {
	if !strings.Contains(message, "schema(s)") {
		return false
	}
	found := schemaLine().FindAllStringSubmatch(message, -1)
	for _, line := range found {
		pointer, what := line[1], line[2]
		if strings.HasPrefix(what, "additional properties") {
			for _, name := range quotedName().FindAllStringSubmatch(what, -1) {
				r.reportUnknownValue(pointer, name[1])
			}
			continue
		}
		at, whole := r.valueAt(pointer)
		what = strings.NewReplacer("object", "mapping", "array", "list").Replace(what)
		r.list.Errorf(diag.ChartFails, at, "the chart `%s` refuses %s: %s", r.component.Chart.V, whole, what)
	}
	return len(found) > 0
}

// valueAt returns the place of a value, or of the nearest one around it, and what it is called.
func (r chartReader) valueAt(pointer string) (at source.Span, name string) {
	name = "its values"
	if pointer != "" {
		name = "the value `" + dottedPath(pointer) + "`"
	}
	if place, found := r.component.Places[pointer]; found {
		return place.Value, name
	}
	return r.keyAround(pointer), name
}

// keyAround returns the key of the nearest value around one, or that of all values.
func (r chartReader) keyAround(pointer string) source.Span {
	for pointer != "" {
		pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
		if place, found := r.component.Places[pointer]; found {
			return place.Key
		}
	}
	if len(r.component.Places) > 0 {
		return r.component.ValuesAt
	}
	return r.component.Chart.At
}

func dottedPath(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."))
}

// reportUnknownValue reports a value that the chart does not know.
func (r chartReader) reportUnknownValue(around, name string) {
	pointer := around + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	place, written := r.component.Places[pointer]
	if !written {
		// The compiler gives its own charts values of its own (`mode`, `monitoring`), which an older copy does not know.
		r.list.Errorf(diag.ChartFails, r.component.Chart.At, "the chart `%s` has no value `%s`", r.component.Chart.V, dottedPath(pointer)).
			Notef("the compiler sets it").Helpf("the chart in your repository is older than this compiler: update it")
		return
	}
	allowed := r.allowedValueNames(around)
	report := r.list.Errorf(diag.ChartFails, place.Key, "the chart `%s` has no value `%s`", r.component.Chart.V, dottedPath(pointer)).Suggest(name, allowed)
	switch {
	case len(report.Help) > 0:
	case len(allowed) > 0:
		report.Helpf("there are `%s`", strings.Join(allowed, "`, `"))
	default:
		report.Helpf("remove the value, or correct its name")
	}
}

// allowedValueNames returns the names of the values that a chart has, by its schema and its defaults, in order.
func (r chartReader) allowedValueNames(pointer string) []string {
	names := map[string]bool{}
	var schema, defaults map[string]any
	// What cannot be read allows nothing.
	_ = json.Unmarshal(r.chartFile("values.schema.json").Data, &schema)
	_ = yaml.Unmarshal(r.chartFile("values.yaml").Data, &defaults)
	for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if key != "" {
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[key].(map[string]any)
			defaults, _ = defaults[key].(map[string]any)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name := range properties {
		names[name] = true
	}
	for name := range defaults {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// reportAtTemplateLine reports a failure at the line of a template that Helm names: the innermost one.
func (r chartReader) reportAtTemplateLine(message string) bool {
	places := templatePlace().FindAllStringSubmatchIndex(message, -1)
	if len(places) == 0 {
		return false
	}
	last := places[len(places)-1]
	part := func(i int) string {
		if last[2*i] < 0 {
			return ""
		}
		return message[last[2*i]:last[2*i+1]]
	}
	file := r.chartFile(part(2))
	if len(file.Data) == 0 {
		return false
	}
	number, _ := strconv.Atoi(part(3)) // digits
	what := inOneLine(strings.TrimLeft(message[last[1]:], "): "))
	if what == "" && len(places) > 1 { // "…:2: unclosed action started at …:1"
		what = inOneLine(strings.Trim(strings.TrimSuffix(message[places[len(places)-2][1]:last[0]], "started at "), "): "))
	}
	at := templateToken(file, number, what)
	if strings.Contains(message, "execution error at (") { // `required` and `fail`: the chart refuses its values
		r.reportRequiredValue(what, at)
		return true
	}
	if strings.Contains(what, "unexpected EOF") {
		at, what = unclosedBlockSpan(file, at), "an `end` is missing for what begins here"
	}
	if behind := failingPart().FindStringIndex(what); behind != nil && strings.HasPrefix(what, "executing ") {
		what = "`" + strings.TrimSuffix(strings.TrimPrefix(what[behind[0]:behind[1]], "at <"), ">") + "` fails" + what[behind[1]:]
	}
	r.reportInChart(diag.ChartFails, at, fmt.Sprintf("cannot render the chart `%s`: %s", r.component.Chart.V, what), failureHelp(what))
	return true
}

// failureHelp says what to do about the failures that people meet most.
func failureHelp(what string) string {
	switch {
	case strings.Contains(what, "nil pointer evaluating"):
		return "what is before the last dot has no value: set it in `values`, give the chart a default in values.yaml, or ask for it with `with` or `default`"
	case strings.HasPrefix(what, "function ") && strings.HasSuffix(what, "not defined"):
		return "correct the name of the function, or quote it if it is text"
	case what == "unclosed action":
		return "end it with `}}`"
	case strings.Contains(what, "no template "):
		return "correct the name, or `define` the template in a file such as templates/_helpers.tpl"
	}
	return ""
}

// templateToken returns what fails in a line of a template: the expression that Helm quotes, or the line.
func templateToken(file *source.File, number int, what string) source.Span {
	line := file.Line(number)
	if part := failingPart().FindStringSubmatch(what); part != nil {
		if from := strings.Index(line, part[1]); from >= 0 && part[1] != "" {
			return file.Token(number, len([]rune(line[:from]))+1, len([]rune(part[1])))
		}
	}
	text := strings.TrimSpace(line)
	if text == "" {
		return source.Span{File: file, Line: number, Column: 1, Length: 1}
	}
	before, _, _ := strings.Cut(line, text)
	return file.Token(number, len([]rune(before))+1, len([]rune(text)))
}

// unclosedBlockSpan returns the line with the last block of a template that has no end, or else where it was missed.
func unclosedBlockSpan(file *source.File, missed source.Span) source.Span {
	var open []int
	number := 1
	text, from := file.Text(), 0
	for _, found := range openedOrDone().FindAllStringSubmatchIndex(text, -1) {
		number += strings.Count(text[from:found[0]], "\n")
		from = found[0]
		switch word := text[found[2]:found[3]]; {
		case word != "end":
			open = append(open, number)
		case len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return missed
	}
	return templateToken(file, open[len(open)-1], "")
}

// reportRequiredValue reports what a chart asks for: at the value that its words name, or at the values.
func (r chartReader) reportRequiredValue(what string, template source.Span) {
	at := r.keyAround("")
	words := strings.FieldsFunc(what, func(c rune) bool { return strings.ContainsRune(" `'\",;:()", c) })
	for _, word := range words {
		pointer := "/" + strings.ReplaceAll(strings.Trim(strings.TrimPrefix(word, ".Values."), "."), ".", "/")
		if place, found := r.component.Places[pointer]; found {
			at = place.Value
			break
		}
	}
	r.list.Errorf(diag.ChartFails, at, "the chart `%s` does not take these values: %s", r.component.Chart.V, what).Also(template, "asked for here")
}

// reportImpureCall reports a call whose result changes, at its line.
func (r chartReader) reportImpureCall(call chart.FunctionCall) {
	const help = "pass the value in `values`, or let something in the cluster create it"
	message := fmt.Sprintf("`%s` calls `%s`, whose result changes from run to run or from machine to machine", call.Where, call.Function)
	file := r.chartFile(call.Where)
	if len(file.Data) == 0 { // a value that a template evaluates
		r.list.Errorf(diag.ChartNotReproducible, r.valueWith(call.Function), "%s", message).Helpf("%s", help)
		return
	}
	at := source.WholeFile(file)
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(call.Function) + `\b`)
	for number := 1; number <= strings.Count(file.Text(), "\n")+1; number++ {
		line := file.Line(number)
		if found := word.FindStringIndex(line); found != nil && strings.Contains(line, "{{") {
			at = file.Token(number, len([]rune(line[:found[0]]))+1, len(call.Function))
			break
		}
	}
	r.reportInChart(diag.ChartNotReproducible, at, message, help)
}

// valueWith returns the first value that holds a text, or else all of them.
func (r chartReader) valueWith(text string) source.Span {
	for _, pointer := range slices.Sorted(maps.Keys(r.component.Places)) {
		if at := r.component.Places[pointer].Value; strings.Contains(diag.Underlined(at), text) {
			return at
		}
	}
	return r.keyAround("")
}

// reportOutput reports a template that renders to something else than objects.
func (r chartReader) reportOutput(name string, at source.Span, what string) {
	r.reportInChart(diag.ChartOutput, at, fmt.Sprintf("`%s` does not render to Kubernetes objects: %s", name, inOneLine(what)), "")
}

// reportNotYAML reports output that is not YAML, at the line of the template from which the wrong line comes, if one is like it.
func (r chartReader) reportNotYAML(name string, document []byte, err error) {
	_, template, _ := strings.Cut(name, "/")
	file := r.chartFile(template)
	at, what, number := source.WholeFile(file), err.Error(), 0
	if cause, found := lines.FirstMistake(string(document)); found {
		number, what = cause.Line, cause.Message
	} else if found := lineOfOutput().FindStringSubmatch(what); found != nil {
		number, _ = strconv.Atoi(found[1]) // digits
	}
	if output := strings.Split(string(document), "\n"); number > 0 && number <= len(output) {
		if line := matchingLine(file, output[number-1]); line > 0 {
			at = templateToken(file, line, "")
		}
		what = lineOfOutput().ReplaceAllString(what, "`"+strings.ReplaceAll(strings.TrimSpace(output[number-1]), "$", "$$")+"`")
	}
	r.reportOutput(name, at, what)
}

// matchingLine returns the only line of a template that is a line of its output, or that has its key; 0 for none and for several.
func matchingLine(file *source.File, output string) int {
	output = strings.TrimSpace(output)
	key, _, isEntry := strings.Cut(output, ":")
	same, alike, n := 0, 0, 0
	for number := 1; number <= strings.Count(file.Text(), "\n")+1; number++ {
		line := strings.TrimSpace(file.Line(number))
		switch {
		case output == "":
		case line == output:
			same = number
		case isEntry && strings.HasPrefix(line, key+":"):
			alike = number
			n++
		}
	}
	if same > 0 || n != 1 {
		return same
	}
	return alike
}
