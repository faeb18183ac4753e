package decode

import (
	"fmt"
	"strings"
	"unicode"
)

// lookalikes are letters of other alphabets that look like one of ours, and what text processors and web pages write for ASCII.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'и': 'u', 'ѵ': 'v', 'х': 'x', 'у': 'y',
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'Ј': 'J', 'К': 'K', 'М': 'M', 'О': 'O', 'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'Х': 'X', 'У': 'Y',
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x',
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O', 'Ρ': 'P', 'Τ': 'T', 'Χ': 'X', 'Ζ': 'Z',
	'“': '"', '”': '"', '„': '"', '«': '"', '»': '"', '″': '"', '‘': '\'', '’': '\'', '‚': '\'', '′': '\'',
	'‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-', '﹣': '-', '－': '-',
	'\u00a0': ' ', '\u2002': ' ', '\u2003': ' ', '\u2007': ' ', '\u2009': ' ', '\u202f': ' ', '\u3000': ' ',
	'：': ':', '，': ',', '．': '.', '／': '/', '＿': '_', '…': '.', '＠': '@', '＊': '*', '×': 'x',
}

// isInvisible reports whether nobody sees a character.
func isInvisible(r rune) bool {
	return r == '\u00ad' || r == '\ufeff' || r >= '\u200b' && r <= '\u200f' || r == '\u2060'
}

// asciiOf returns a text with the characters that were meant by those that only look like them. Quotes around it go.
func asciiOf(text string) string {
	plain := strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		if meant, found := lookalikes[r]; found {
			return meant
		}
		if r >= '０' && r <= '９' || r >= 'Ａ' && r <= 'Ｚ' || r >= 'ａ' && r <= 'ｚ' {
			return r - '０' + '0'
		}
		return r
	}, text)
	if plain != text {
		plain = strings.Trim(plain, "\"' ")
	}
	return plain
}

// firstLookalike returns the first character of a text that is not what it looks like, with what is meant by it, or nothing.
func firstLookalike(text string) string {
	column := 0
	for _, r := range text {
		column++
		meant, found := lookalikes[r]
		switch {
		case isInvisible(r):
			return fmt.Sprintf("character %d is %U, which nobody sees: remove it", column, r)
		case !found:
		case unicode.IsSpace(r):
			return fmt.Sprintf("character %d is %U, a space that is not the usual one: remove it, or write a space", column, r)
		case meant == '"' || meant == '\'':
			return fmt.Sprintf("character %d is `%c` (%U), a quote of printed text, which is a part of the value in YAML: write `%c`", column, r, r, meant)
		case meant == '-':
			return fmt.Sprintf("character %d is `%c` (%U), which is not the hyphen: write `-`", column, r, r)
		default:
			return fmt.Sprintf("character %d is `%c` (%U), which only looks like `%c`: write `%c`", column, r, r, meant, meant)
		}
	}
	return ""
}

// IntendedName returns the name that was probably meant by a malformed one, such as team-vision for Team_Vision: small letters, and a hyphen
// for everything else. It is empty where nobody can know, because nothing is left, or because of letters that have no counterpart.
func IntendedName(name string) string {
	if isDNSLabel(name) {
		return name
	}
	if len(name) > 4*maxDNSLabel {
		name = name[:4*maxDNSLabel] // no name is
	}
	var meant strings.Builder
	for _, r := range strings.ToLower(asciiOf(strings.ToValidUTF8(name, "-"))) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			meant.WriteRune(r)
		case r == '\'' || r == '"':
		case r > unicode.MaxASCII && unicode.IsLetter(r):
			return ""
		case !strings.HasSuffix(meant.String(), "-"):
			meant.WriteByte('-')
		}
	}
	return strings.Trim(meant.String()[:min(maxDNSLabel, meant.Len())], "-")
}

// maxDNSLabel is the longest DNS label, in characters.
const maxDNSLabel = 63
