package diagnose

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// secretName is a name whose value is a secret: it contains one of these words, or has one of the short ones as a part of
	// its own. PWD alone is where a shell stands.
	secretName = `(?:[\w.-]*` + secretWord + `[\w.-]*|(?:[\w.-]*[_.-]|\b)(?:pass|sig)(?:[_.-][\w.-]*)?|[\w.-]*[_.;-]pwd)`
	secretWord = `(?:key|token|secret|passwo?r?d|passphrase|credential|signature)`
	// secretValue is a value with its first quotation mark as a group. An empty one, and that of a comparison, is none.
	secretValue = `(?:([bru]?")(?:[^"\\]|\\.)+|([bru]?')(?:[^'\\]|\\.)+|[^\s"'&,;=][^\s"'&,;]*)`
	hidden      = `${1}${2}${3}***`
)

type redactionRule struct {
	find    *regexp.Regexp
	replace string
}

// Output of programs goes into the status of pods and TrainJobs, which more people may read than logs. Redact therefore
// takes out what looks like a secret, by these rules and no others:
//
//   - a private key in PEM, up to the end, and lines that may be the middle of one
//   - what follows Bearer or Basic
//   - user and password in a URL: `https://jane:pw@host` becomes `https://***@host`
//   - the value of a name that contains key, token, secret, password, passphrase, credential or signature, or of which pass,
//     pwd or sig is a part: `HF_TOKEN=hf_x` becomes `HF_TOKEN=***`, in assignments, URLs, flags, JSON, and in YAML where the
//     line holds nothing else
//   - what has the form of a well-known token: GitHub, GitLab, Hugging Face, NVIDIA, Slack, AWS, Google, OpenAI, JSON Web
//     Tokens
//
// What one rule leaves must not hide from a later one what it knows, so those that take most come first.
var redactions = []redactionRule{
	{rx(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*`), `***`},
	{rx(`(?i)\b((?:bearer|basic)\s+)[\w+/=._~-]{8,}`), `${1}***`},
	{rx(`://[^/\s"']+@`), `://***@`},
	{rx(`(?i)(` + secretName + `["']?\s*=>?\s*)` + secretValue), hidden},
	{rx(`(?i)(["']` + secretName + `\\*["']\s*:\s*\\*)` + secretValue), hidden},
	{rx(`(?i)(\bpasswo?r?d:\s*)` + secretValue), hidden},
	{rx(`(?i)(--?(?:[\w-]*` + secretWord + `s?|(?:[\w-]*-)?(?:pass|pwd))\s+)(?:(")[^"]+|(')[^']+|[^\s"'&,;-][^\s"'&,;]*)`), hidden},
	{rx(`\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{16,}|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)[\w-]*`), `***`},
}

// lineRedactions are of whole lines, less the tag of a launcher.
var lineRedactions = []redactionRule{
	{rx(`(?i)^(\s*(?:- )?[\w.-]*` + secretWord + `s?:\s*)\S+$`), `${1}***`},
	{rx(`^\s*[A-Za-z0-9+/]{60,}={0,2}$`), `***`},
}

// Redact takes out of a line what looks like a secret. What it returns stays as it is when it is redacted again.
func Redact(line string) string {
	line = applyRedactions(line, redactions)
	_, text := CutRankTag(line)
	return strings.TrimSuffix(line, text) + applyRedactions(text, lineRedactions)
}

func applyRedactions(text string, rules []redactionRule) string {
	for _, r := range rules {
		text = r.find.ReplaceAllString(text, r.replace)
	}
	return text
}

const (
	// maxLine is the length of a line in a verdict, in bytes; maxLines is how many there are.
	maxLine  = 300
	maxLines = 12
)

// QuoteLines returns the last lines of an output as they may be shown: without secrets, escape sequences, control characters
// and empty lines, each line at most 300 bytes of valid UTF-8, at most 12 of them and as many bytes as given.
func QuoteLines(lines []string, bytes int) []string {
	var quoted []string
	for i := len(lines) - 1; i >= 0 && len(quoted) < maxLines; i-- {
		line := ClipBytes(Redact(StripEscapes(lines[i])), maxLine)
		if line == "" {
			continue
		}
		if bytes -= len(line); bytes < 0 {
			break
		}
		quoted = append([]string{line}, quoted...)
	}
	return quoted
}

var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])`)

// StripEscapes returns a line as a terminal would leave it: without escape sequences and control characters, and of a line that
// was written over again and again, as progress bars are, the last version.
func StripEscapes(line string) string {
	if isPrintableASCII(line) {
		return strings.TrimRight(line, " ")
	}
	line = strings.ToValidUTF8(line, "\uFFFD")
	if strings.Contains(line, "\x1b") {
		line = escapes.ReplaceAllString(line, "")
	}
	line = strings.TrimRight(line, "\r\n\t ")
	line = line[strings.LastIndex(line, "\r")+1:]
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, line)
}

// isPrintableASCII reports whether a line has nothing but printable ASCII, as most have: logs have millions of lines.
func isPrintableASCII(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return true
}

// ClipBytes cuts a text to a number of bytes, at the border of a character.
func ClipBytes(text string, bytes int) string {
	const ellipsis = "…"
	if len(text) <= bytes {
		return text
	}
	cut := max(bytes-len(ellipsis), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}
