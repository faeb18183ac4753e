package diagnose

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// secretWord makes a name that contains it the name of a secret, but for tokenizer. Short words must be a part of the
	// name between separators. PWD alone is the working directory of a shell.
	secretWord = `(?:` + otherWord + `|token)`
	otherWord  = `(?:key|secret|passwo?r?d|passphrase|credential|signature)`
	secretName = `(?:[\w.-]*(?:` + otherWord + `[\w.-]*|token(?:(?:[a-hj-z\d_.-]|i[^z\s])[\w.-]*)?)|` +
		`(?:[\w.-]*[_.-]|\b)(?:pass|sig)(?:[_.-][\w.-]*)?|[\w.-]*[_.;-]pwd)`
	secretFlag = `--?(?:[\w.-]*` + secretWord + `s?|(?:[\w.-]*[_.-])?(?:pass|pwd))`
	// secretValue is a value with its first quotation mark as a group. Empty values and comparisons do not match.
	secretValue = `(?:([bru]?")(?:[^"\\]|\\.)+|([bru]?')(?:[^'\\]|\\.)+|[^\s"'&,;=][^\s"'&,;]*)`
	// quoted is a value in quotation marks, which a string of JSON escapes. A bare argument may have commas; lineValue takes
	// the line.
	quoted        = `(\\+["'])[^"'\\]+|(")(?:[^"\\]|\\.)+|(')(?:[^'\\]|\\.)+`
	argumentValue = `(?:` + quoted + `|[^\s"'&;=\\-](?:[^\s"'&;\\]|\\[^n"'])*)`
	lineValue     = `(?:` + quoted + `|[^\s"'\\-][^\n"\\]*)`
)

// Output of programs goes into the status of pods and TrainJobs, which more people may read than logs. Redact therefore
// takes out what looks like a secret, by these rules and no others:
//
//   - a private key in PEM, up to the end, and lines that may be the middle of one
//   - what follows Bearer or Basic
//   - user and password in a URL: `https://jane:pw@host` becomes `https://***@host`
//   - the value of a name that contains key, token, secret, password, passphrase, credential or signature, or of which pass,
//     pwd or sig is a part: `HF_TOKEN=hf_x` becomes `HF_TOKEN=***`, in assignments, URLs, flags, JSON, and in YAML where the
//     line holds nothing else; tokenizers and numbers of tokens stay
//   - the same in lists, where the name is one item and its value the next (argumentRules)
//   - what has the form of a well-known token: GitHub, GitLab, Hugging Face, NVIDIA, Slack, AWS, Google, OpenAI, JSON Web
//     Tokens
//
// The groups of a rule are what stands before the secret and stays. What one rule leaves must not hide from a later one
// what it knows, so those that take most come first.
var (
	earlyRules = compiled(
		`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*`,
		`(?i)\b((?:bearer|basic)\s+)[\w+/=._~-]{8,}`,
		`(://)[^/\s"']+@`,
	)
	// argumentRules find secrets in arguments: --flag value and --flag=value, variables of an environment, and items of lists
	// in JSON and YAML, also over several lines and as text within JSON.
	argumentRules = compiled(
		`(?i)(`+secretFlag+`(?:=|(?:[ \t]|\\+(?:n|\n))+(?:- )?))`+argumentValue,
		`(\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWO?R?D|PASSPHRASE|CREDENTIAL)S?=)`+argumentValue,
		`(?i)(["']`+secretFlag+`\\*["'](?:[\s,]|\\+n)+(?:\n[^\n"'\\]*)?)(?:`+quoted+`)`,
		`(?i)(- ["']?`+secretFlag+`["']?[ \t\r]*\n[^\n]*?- )`+lineValue,
		`(?i)(["']name\\*["']\s*:\s*\\*["']`+secretName+`\\*["']\s*,[^"'{}]*["']value\\*["']\s*:\s*)`+argumentValue,
		`(?i)(\bname:\s*["']?`+secretName+`["']?(?:[ ,]+|\\+n *|[ \t\r]*\n[^\n]*?\b)value:[ \t]*)`+lineValue,
	)
	lateRules = compiled(
		`(?i)(`+secretName+`["']?\s*=>?\s*)`+secretValue,
		`(?i)(["']`+secretName+`\\*["']\s*:\s*\\*)`+secretValue,
		`(?i)(\bpasswo?r?d:\s*)`+secretValue,
		`\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{16,}|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{8,}|`+
			`(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)[\w-]*`,
	)
	// lineRules apply to whole lines, less the tag of a launcher.
	lineRules = compiled(`(?i)^(\s*(?:- )?[\w.-]*`+secretWord+`s?:\s*)\S+$`, `^\s*[A-Za-z0-9+/]{60,}={0,2}$`)
)

// compiled compiles rules when they are first used: each process of the agent has them, and few quote an output.
func compiled(rules ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, rule := range rules {
			all = append(all, rx(rule))
		}
		return all
	})
}

// Redact takes out of a line what looks like a secret. What it returns stays as it is when it is redacted again.
func Redact(line string) string {
	line, _ = hide(line, slices.Concat(earlyRules(), argumentRules(), lateRules()))
	_, text := CutRankTag(line)
	clean, _ := hide(text, lineRules())
	return strings.TrimSuffix(line, text) + clean
}

// RedactArguments takes out of a text of any number of lines the secrets that are arguments, and returns them.
func RedactArguments(text string) (clean string, secrets []string) {
	return hide(text, argumentRules())
}

func hide(text string, rules []*regexp.Regexp) (clean string, secrets []string) {
	for _, rule := range rules {
		var kept strings.Builder
		done := 0
		for _, at := range rule.FindAllStringSubmatchIndex(text, -1) {
			start := slices.Max(append(at[2:], at[0]))
			// The @ of a URL stays.
			if before, value := text[at[0]:start], strings.TrimSuffix(text[start:at[1]], "@"); !isOrdinary(before, value) {
				kept.WriteString(text[done:start] + "***")
				secrets, done = append(secrets, value), start+len(value)
			}
		}
		text = kept.String() + text[done:]
	}
	return text, secrets
}

// isOrdinary reports whether a value is a number of tokens, as in `--max-tokens 4096`, or the next flag.
func isOrdinary(before, value string) bool {
	name := strings.TrimRight(strings.ToLower(before), "=: \t\"'\\,")
	isCount := strings.Trim(value, "0123456789._") == "" && strings.HasSuffix(name, "tokens")
	return isCount || before != "" && !strings.ContainsAny(before, "=:") && strings.HasPrefix(value, "--")
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
