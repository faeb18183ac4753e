package patch

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// warnUnreadValues warns of values of a component that its chart does not read. It never blames a value that is read: a key counts as read where it
// is a word anywhere in the chart's templates, and so does all below a key that a template takes as a whole.
func (r chartReader) warnUnreadValues() {
	if len(r.component.Places) == 0 {
		return
	}
	text, packed := templatesText(r.content)
	if packed {
		return
	}
	unread := map[string]bool{}
	for _, pointer := range slices.Sorted(maps.Keys(r.component.Places)) {
		keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		key := keys[len(keys)-1]
		at := r.component.Places[pointer].Key
		if unread[path.Dir(pointer)] {
			unread[pointer] = true // the key above is the mistake
			continue
		}
		if at.IsZero() || keys[0] == "global" || strings.Contains(pointer, "~") || hasWord(text, key) || takenWhole(text, keys[:len(keys)-1]) {
			continue
		}
		unread[pointer] = true
		report := r.list.Warnf(diag.ValueNotRead, at, "no template of the chart `%s` reads `%s`", r.component.Chart.V, strings.Join(keys, ".")).Suggest(key, templateKeys(text))
		if len(report.Help) == 0 {
			report.Helpf("write a key of the chart's `values.yaml`, or remove it")
		}
	}
}

// templatesText is all in a chart that can read a value: the templates, and what its Chart.yaml names; the names of files stand for dependencies.
// packed reports whether a dependency is an archive, of which nothing is known.
func templatesText(files []chart.File) (text string, packed bool) {
	var b strings.Builder
	for _, f := range files {
		packed = packed || strings.HasSuffix(f.Name, ".tgz")
		inCharts := strings.HasPrefix(f.Name, "charts/")
		switch {
		case strings.HasPrefix(f.Name, "templates/"), inCharts && strings.Contains(f.Name, "/templates/"), path.Base(f.Name) == "Chart.yaml":
			b.Write(f.Data)
		}
		if inCharts {
			b.WriteString(f.Name)
		}
		b.WriteByte('\n')
	}
	return b.String(), packed
}

// takenWhole reports whether a template takes a key above a value, or all values, as a whole: then it may read whatever is below.
func takenWhole(text string, above []string) bool {
	return slices.ContainsFunc(append([]string{"Values"}, above...), func(key string) bool {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "."+key)
			if !found {
				return false
			}
			rest = after
			if rest == "" || rest[0] != '.' && !isWordLetter(rest[0]) {
				return true
			}
		}
	})
}

// hasWord reports whether a text has a key that is not a part of a longer word.
func hasWord(text, key string) bool {
	for rest := text; ; {
		before, after, found := strings.Cut(rest, key)
		if !found {
			return false
		}
		begins := before == "" || !isWordLetter(before[len(before)-1])
		if begins && (after == "" || !isWordLetter(after[0])) {
			return true
		}
		rest = rest[len(before)+1:]
	}
}

func isWordLetter(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

var keyInTemplate = regexp.MustCompile(`\.([a-z]\w*)`)

// templateKeys are the keys that templates read.
func templateKeys(text string) []string {
	var keys []string
	for _, m := range keyInTemplate.FindAllStringSubmatch(text, -1) {
		keys = append(keys, m[1])
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
