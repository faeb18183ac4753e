package bundle

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const (
	hidden = "***"
	// leastSecret is the length of a value that is looked for elsewhere: a shorter one would be found in ordinary words.
	leastSecret = 6
	// longestLine is how much of a line is kept, in bytes. Looking for secrets in a long one takes long.
	longestLine = 8 << 10
)

var (
	// privateKey is one in PEM, over all its lines: diagnose.Redact sees one at a time.
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	// reference names a variable. An ordinaryWord behind a flag in an output may be the kind of its value in a usage text.
	reference    = regexp.MustCompile(`^\$(?:\(\w+\)|\{\w+\}|[A-Z_]+)$`)
	ordinaryWord = regexp.MustCompile(`^(?:[a-z]+|[A-Z_]+|[<{%$].*)$`)
	pluralFlag   = regexp.MustCompile(`(?:key|token|passwo?r?d|secret)s$`)
	// argument is a flag with its value, a variable or HTTP header with a word, or a word. The groups are the value.
	argument  = regexp.MustCompile(`(?s)^(?:-[\w.+~-]+=(.+)|(?:[\w.+~-]+=|[\w.-]+: *(?:\w+ )?)?(\S+))$`)
	timeStamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+ `)
)

// secrets are values that are taken out of all files.
type secrets map[string]bool

func (s secrets) learn(value string) {
	for _, part := range append(strings.Split(value, ","), value) {
		if part = strings.TrimSpace(part); len(part) >= leastSecret && !reference.MatchString(part) {
			s[part] = true
		}
	}
}

// learnText learns from a text of an object or from the output of a program, and returns it.
func (s secrets) learnText(text string, at place) string {
	if at.secret {
		s.learn(text)
	} else if value := argument.FindStringSubmatch(text); at.typed && value != nil && diagnose.Redact(text) != text {
		s.learn(value[1] + value[2])
	}
	_, found := diagnose.RedactArguments(text)
	for _, value := range found {
		if value = bareValue(value); at.typed || !ordinaryWord.MatchString(value) {
			s.learn(value)
		}
	}
	return text
}

// bareValue returns a value from a text without quotation marks, escapes, and the end of the list that it stood in.
func bareValue(value string) string {
	value = strings.Trim(value, `"' `)
	var plain string
	if json.Unmarshal([]byte(`"`+value+`"`), &plain) == nil {
		value = plain
	}
	return strings.TrimRight(value, `)]},.;\`)
}

// learnTree learns from an object, and from texts in it that are JSON or YAML.
func (s secrets) learnTree(tree any) {
	mapTexts(tree, place{}, func(text string, at place) string {
		var inner any
		if strings.ContainsAny(text, "{[\n") && yaml.Unmarshal([]byte(text), &inner) == nil && inner != any(text) {
			s.learnTree(inner)
		}
		return s.learnText(text, at)
	})
}

// replacer replaces the secrets as they may stand in a file, the longest first: one may be the beginning of another.
func (s secrets) replacer() *strings.Replacer {
	var forms, pairs []string
	for value := range s {
		text, _ := json.Marshal(value)
		// The last bytes of base64 depend on what follows.
		encoded := base64.StdEncoding.EncodeToString([]byte(value[:len(value)/3*3]))
		forms = append(forms, value, strings.Trim(string(text), `"`), url.QueryEscape(value), url.PathEscape(value), encoded)
	}
	slices.SortFunc(forms, func(x, y string) int { return cmp.Or(len(y)-len(x), strings.Compare(x, y)) })
	for _, form := range forms {
		pairs = append(pairs, form, hidden)
	}
	return strings.NewReplacer(pairs...)
}

// place is where a text stands in an object: behind the name of a secret, or in what a user typed for a program.
type place struct{ secret, typed bool }

// mapTexts returns a tree with what visit makes of its texts.
func mapTexts(value any, at place, visit func(string, place) string) any {
	switch value := value.(type) {
	case string:
		return visit(value, at)
	case map[string]any:
		name, _ := value["name"].(string)
		result := make(map[string]any, len(value))
		for key, part := range value {
			text, _ := part.(string)
			secret := key == "value" && hasSecretName(name+"=", text) || hasSecretName(key+"=", text) && !isReferenceField(key)
			typed := at.typed || slices.Contains([]string{"command", "args", "value"}, key)
			result[key] = mapTexts(part, place{secret, typed}, visit)
		}
		return result
	case []any:
		result, before := make([]any, len(value)), ""
		for i, part := range value {
			text, _ := part.(string)
			secret := !strings.HasPrefix(text, "--") && hasSecretName(before+" ", text)
			result[i] = mapTexts(part, place{secret, at.typed}, visit)
			if !secret || !pluralFlag.MatchString(before) {
				before = text
			}
		}
		return result
	}
	return value
}

// hasSecretName reports whether what stands before a value makes it a secret, whatever it is.
func hasSecretName(before, value string) bool {
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		value = strings.Repeat("a", min(len(value), leastSecret))
	}
	return strings.HasSuffix(diagnose.Redact(before+value), hidden)
}

// isReferenceField reports whether a field of Kubernetes has a word such as `key` or `secret` in its name and holds a name.
func isReferenceField(field string) bool {
	return slices.Contains([]string{"key", "topologyKey", "secretName", "secretKey", "tokenExpirationSeconds"}, field)
}

// CleanTree returns an object, as JSON decodes it, without what looks like a secret in it, wherever that stands.
func CleanTree(tree any) any {
	known := secrets{}
	known.learnTree(tree)
	return cleanTree(tree, known.replacer())
}

// cleanTree returns an object without secrets.
func cleanTree(tree any, known *strings.Replacer) any {
	return mapTexts(tree, place{}, func(text string, at place) string {
		if at.secret {
			return hidden
		}
		return cleanText(privateKey.ReplaceAllString(text, hidden), known)
	})
}

// cleanText returns a text without secrets.
func cleanText(text string, known *strings.Replacer) string {
	text, _ = diagnose.RedactArguments(known.Replace(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		stamp := timeStamp.FindString(line)
		lines[i] = stamp + diagnose.Redact(diagnose.ClipBytes(line[len(stamp):], longestLine))
	}
	return strings.Join(lines, "\n")
}
