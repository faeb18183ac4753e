package diagnose

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Output of programs goes into the status of pods and TrainJobs, which more people may read than logs. Redact therefore
// takes out what looks like a secret, by these rules and no others:
//
//   - user and password in a URL: `https://jane:pw@host` becomes `https://***@host`
//   - the value of a name that contains key, token, secret, password, credential or signature: `HF_TOKEN=hf_x` becomes
//     `HF_TOKEN=***`, in assignments, URLs, flags, JSON, and in YAML where the line holds nothing else
//   - what follows Bearer or Basic
//   - what has the form of a well-known token: GitHub, Hugging Face, Slack, AWS, OpenAI, JSON Web Tokens
//   - lines of a private key in PEM
var redactions = []struct {
	find    *regexp.Regexp
	replace string
}{
	{regexp.MustCompile(`://[^/\s@]+@`), `://***@`},
	{regexp.MustCompile(`(?i)([\w.-]*(?:key|token|secret|passwo?r?d|credential|signature)[\w.-]*["']?=["']?)[^\s"'&,;]+`), `${1}***`},
	{regexp.MustCompile(`(?i)(["'][\w.-]*(?:key|token|secret|passwo?r?d|credential|signature)[\w.-]*["']\s*:\s*["']?)[^\s"'&,;]+`), `${1}***`},
	{regexp.MustCompile(`(?i)(^\s*[\w.-]*(?:key|token|secret|credential|signature)s?:\s*)\S+$`), `${1}***`},
	{regexp.MustCompile(`(?i)(\bpasswo?r?d:\s*)\S+`), `${1}***`},
	{regexp.MustCompile(`(?i)(--?[\w-]*(?:key|token|secret|passwo?r?d|credential)s?\s+)[^\s"'&,;-][^\s"'&,;]*`), `${1}***`},
	{regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[\w+/=._~-]{8,}`), `${1}***`},
	{regexp.MustCompile(`\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|hf_\w{16,}|xox[abprs]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)`), `***`},
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----.*|^[A-Za-z0-9+/]{60,}={0,2}$`), `***`},
}

// Redact takes out of a line what looks like a secret.
func Redact(line string) string {
	for _, r := range redactions {
		line = r.find.ReplaceAllString(line, r.replace)
	}
	return line
}

const (
	// maxLine is the length of a line in a verdict, in bytes; maxLines is how many there are.
	maxLine  = 300
	maxLines = 12
)

// Quote returns the last lines of an output as they may be shown: without secrets, escape sequences, control characters
// and empty lines, each line at most 300 bytes of valid UTF-8, at most 12 of them and as many bytes as given.
func Quote(lines []string, bytes int) []string {
	var quoted []string
	for i := len(lines) - 1; i >= 0 && len(quoted) < maxLines; i-- {
		line := Clip(Redact(Plain(lines[i])), maxLine)
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

// Plain returns a line as a terminal would leave it: without escape sequences and control characters, and of a line that
// was written over again and again, as progress bars are, the last version.
func Plain(line string) string {
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

// Clip cuts a text to a number of bytes, at the border of a character.
func Clip(text string, bytes int) string {
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
