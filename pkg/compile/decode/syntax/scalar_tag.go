package syntax

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// resolveTag returns the type of a plain scalar. It answers itself where the first characters suffice, and asks the library for the
// rest: dates, floats, numbers in other bases, words such as `true`.
func resolveTag(text string) Tag {
	switch c := text[0]; {
	case c >= '1' && c <= '9':
		if tag := decimalTag(text); tag != 0 {
			return tag
		}
	case c == '0' && len(text) == 1:
		return Int
	case strings.IndexByte("0123456789+-.~<", c) >= 0:
	case !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") && !strings.EqualFold(text, "null"):
		return String
	}
	return libraryTag(text)
}

// decimalTag answers for text that begins with 1 to 9: decimal digits are a number, and a letter that is in no float (e, E) and in no
// time (T, t, Z) makes a string. 0 means that neither is sure.
func decimalTag(text string) Tag {
	onlyDigits := len(text) <= 18
	for i := range len(text) {
		c := text[i]
		if c >= '0' && c <= '9' {
			continue
		}
		onlyDigits = false
		if c == '/' || (c|0x20 >= 'a' && c|0x20 <= 'z' && strings.IndexByte("eEtTZ", c) < 0) {
			return String
		}
	}
	if onlyDigits {
		return Int
	}
	return 0
}

func libraryTag(text string) Tag {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) != 1 {
		return String
	}
	if tag := tags[document.Content[0].ShortTag()]; document.Content[0].Value == text && tag != 0 {
		return tag
	}
	return String
}
