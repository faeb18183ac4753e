// Package secret finds secrets in the text of specs: private keys, tokens with a known shape, passwords. What it finds never gets into
// a message, and the line is marked so that no renderer shows it.
//
// It looks at text, comments included, because a secret is known to everybody who reads the file wherever it stands. Shapes that
// nothing else has (a PEM header, the prefixes of the providers' tokens) are taken for secrets everywhere. Words such as `password` are
// so in values only, and not before what refers to a secret, is empty, or is plainly no secret: a boolean, a path, a variable in `$(…)`
// or `${…}`, a placeholder such as `<password>`. What is left and is none is accepted by a waiver.
package secret

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Find reports the secrets in files. What was found before about the same text is forgotten, because it may show it.
func Find(files []*source.File, list *diag.List) {
	for _, file := range files {
		if !needsSearch(file.Data) {
			continue
		}
		for number := 1; number <= 1+bytes.Count(file.Data, []byte("\n")); number++ {
			if what, at := secretInLine(file.Line(number)); what != "" {
				column := utf8.RuneCountInString(file.Line(number)[:at]) + 1
				replaceReport(list, file.Token(number, column, 1), what)
			}
		}
	}
}

// replaceReport is Report in the place of an earlier finding about the same text.
func replaceReport(list *diag.List, at source.Span, what string) {
	for _, d := range list.Since(0) {
		if d.Span.File == at.File && d.Span.Line == at.Line && d.Span.Column <= at.Column && at.Column < d.Span.Column+d.Span.Length {
			*d = newFinding(at, what)
			return
		}
	}
	ReportKind(list, at, what)
}

// ReportKind reports a secret of a kind, such as `a private key`.
func ReportKind(list *diag.List, at source.Span, what string) {
	*list.Errorf(diag.SecretInSpec, at, "") = newFinding(at, what)
}

func newFinding(at source.Span, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Code: diag.SecretInSpec, Severity: diag.Error, Span: at, Message: "the spec holds " + what, Secret: true,
		Help: []string{"take it out, replace it where it comes from, and keep the new one in a Secret of the namespace"},
	}
}

// hints are parts of words and headers of which a line with a secret has one, if it has no prefix of a shape.
var hints = []string{
	"-----BEGIN", "eyJ", "assw", "ASSW", "assphrase", "ASSPHRASE", "ecret", "ECRET", "oken", "OKEN",
	"piKey", "pi_key", "pi-key", "PI_KEY", "pikey", "rivateKey", "rivate_key", "rivate-key", "RIVATE_KEY", "dockerconfigjson",
}

// needsSearch reports whether a file is looked at line by line. Most are not.
func needsSearch(data []byte) bool {
	return signs().isIn(data) || bytes.Contains(data, []byte("://")) && bytes.IndexByte(data, '@') >= 0
}

// textSearcher are texts that are looked for all at once: a repository has thousands of files, and there are some dozen texts.
type textSearcher struct {
	// pairs has a bit for each pair of bytes with which a text begins, texts those that begin with a byte.
	pairs [1 << 16 / 64]uint64
	texts [256][]string
}

// signs are the hints and the prefixes of the shapes.
var signs = sync.OnceValue(func() *textSearcher {
	s := &textSearcher{}
	for _, hint := range hints {
		s.add(hint)
	}
	for i := range shapes {
		s.add(shapes[i].prefix)
	}
	return s
})

func pairOf(a, b byte) int { return int(a)<<8 | int(b) }

// add adds a text of at least two bytes.
func (s *textSearcher) add(text string) {
	pair := pairOf(text[0], text[1])
	s.pairs[pair/64] |= 1 << (pair % 64)
	s.texts[text[0]] = append(s.texts[text[0]], text)
}

func (s *textSearcher) isIn(data []byte) bool {
	for i := 0; i+1 < len(data); i++ {
		pair := pairOf(data[i], data[i+1])
		if s.pairs[pair/64]&(1<<(pair%64)) != 0 && s.isAtStart(data[i:]) {
			return true
		}
	}
	return false
}

func (s *textSearcher) isAtStart(data []byte) bool {
	for _, text := range s.texts[data[0]] {
		if len(data) >= len(text) && string(data[:len(text)]) == text {
			return true
		}
	}
	return false
}

// tokenShape is how the tokens of a provider look: a prefix and at least some characters of an alphabet.
type tokenShape struct {
	prefix   string
	least    int
	alphabet string
	what     string
}

const (
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum    = upper + "abcdefghijklmnopqrstuvwxyz0123456789"
	alnumURL = alnum + "_-"
)

var shapes = []tokenShape{
	{"AKIA", 16, upper + "0123456789", "an access key of AWS"},
	{"ASIA", 16, upper + "0123456789", "an access key of AWS"},
	{"AIza", 35, alnumURL, "an API key of Google Cloud"},
	{"ghp_", 36, alnum, "a token of GitHub"},
	{"gho_", 36, alnum, "a token of GitHub"},
	{"ghu_", 36, alnum, "a token of GitHub"},
	{"ghs_", 36, alnum, "a token of GitHub"},
	{"ghr_", 36, alnum, "a token of GitHub"},
	{"github_pat_", 22, alnumURL, "a token of GitHub"},
	{"glpat-", 20, alnumURL, "a token of GitLab"},
	{"xoxb-", 20, alnumURL, "a token of Slack"},
	{"xoxp-", 20, alnumURL, "a token of Slack"},
	{"hooks.slack.com/services/", 20, alnum + "/", "a webhook of Slack"},
	{"discord.com/api/webhooks/", 20, alnumURL + "/", "a webhook of Discord"},
	{"webhook.office.com/webhookb2/", 20, alnumURL + "@/", "a webhook of Microsoft Teams"},
	{"hf_", 34, alnum, "a token of Hugging Face"},
	{"nvapi-", 40, alnumURL, "an API key of NVIDIA"},
	{"sk-", 40, alnumURL, "an API key"},
	{"eyJhdXRocyI6", 8, alnum + "+/=", "credentials of a registry"},
}

// secretInLine returns what secret a line has and where it begins, in bytes, or "".
func secretInLine(line string) (what string, at int) {
	if at := findPrivateKey(line); at >= 0 {
		return "a private key", at
	}
	for i := range shapes {
		if at := shapes[i].find(line); at >= 0 {
			return shapes[i].what, at
		}
	}
	if at := findWebToken(line); at >= 0 {
		return "a signed token (JWT)", at
	}
	if at := findUserInfo(line); at >= 0 {
		return "a password in a URL", at
	}
	return findNamedValue(line)
}

// findPrivateKey finds the header of a PEM block.
func findPrivateKey(line string) int {
	const begin = "-----BEGIN "
	for from := 0; ; {
		i := strings.Index(line[from:], begin)
		if i < 0 {
			return -1
		}
		at := from + i
		if header, _, _ := strings.Cut(line[at+len(begin):], "-----"); strings.Contains(header, "PRIVATE KEY") {
			return at
		}
		from = at + len(begin)
	}
}

// find returns where a token of the shape begins, or -1. Keys that end in EXAMPLE are those of AWS's own documentation.
func (s *tokenShape) find(line string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], s.prefix)
		if i < 0 {
			return -1
		}
		at := from + i
		rest := line[at+len(s.prefix):]
		token := rest[:len(rest)-len(strings.TrimLeft(rest, s.alphabet))]
		begins := at == 0 || !strings.ContainsRune(alnumURL, rune(line[at-1]))
		if begins && len(token) >= s.least && !strings.HasSuffix(token, "EXAMPLE") {
			return at
		}
		from = at + len(s.prefix)
	}
}

// findWebToken finds a JSON Web Token: three parts in base64, of which two begin as `{"` does.
func findWebToken(line string) int {
	header := tokenShape{prefix: "eyJ", least: 10, alphabet: alnumURL + "."}
	at := header.find(line)
	if at < 0 || !strings.Contains(line[at:], ".eyJ") {
		return -1
	}
	return at
}

// findUserInfo finds `scheme://user:password@host`.
func findUserInfo(line string) int {
	scheme := strings.Index(line, "://")
	if scheme < 0 {
		return -1
	}
	authority := line[scheme+3:]
	if end := strings.IndexAny(authority, "/ \t\"'"); end >= 0 {
		authority = authority[:end]
	}
	info, _, found := strings.Cut(authority, "@")
	name, password, both := strings.Cut(info, ":")
	if !found || !both || isPlainWord(password) {
		return -1
	}
	return scheme + 3 + len(name) + 1
}

// words are the last parts of keys whose value is a secret.
var words = []string{"password", "passwd", "passphrase", "secretkey", "secretaccesskey", "clientsecret", "apikey", "authtoken", "accesstoken", "privatekey", "dockerconfigjson"}

// findNamedValue finds `password: value` and `password=value`, outside of comments.
func findNamedValue(line string) (string, int) {
	text := line
	if i := strings.Index(text, " #"); i >= 0 {
		text = text[:i]
	}
	if strings.HasPrefix(strings.TrimSpace(text), "#") {
		return "", 0
	}
	for i := range len(text) {
		if c := text[i]; c != ':' && c != '=' || i+1 < len(text) && c == ':' && !strings.ContainsRune(" \t", rune(text[i+1])) {
			continue
		}
		value := strings.TrimLeft(text[i+1:], " \t")
		if IsName(lastWord(text[:i])) && !isPlainWord(unquotedValue(value)) {
			return "a password or key", len(text) - len(value)
		}
	}
	return "", 0
}

// lastWord returns the last word of a text, without quotes.
func lastWord(text string) string {
	text = strings.TrimRight(text, " \t\"'")
	return text[strings.LastIndexAny(text, " \t\"'{,;&?(")+1:]
}

// unquotedValue returns a value up to its end in a line.
func unquotedValue(value string) string {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		inner, _, _ := strings.Cut(value[1:], value[:1])
		return inner
	}
	if end := strings.IndexAny(value, " \t,;&}"); end >= 0 {
		return value[:end]
	}
	return value
}

// IsName reports whether a key or variable is one whose value is a secret: `db_password`, `AWS_SECRET_ACCESS_KEY`.
func IsName(key string) bool {
	flat := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(key))
	for _, word := range words {
		if strings.HasSuffix(flat, word) {
			return true
		}
	}
	return false
}

// IsVariable reports whether an environment variable is one whose value is a secret.
func IsVariable(name string) bool {
	upperName := strings.ToUpper(name)
	for _, suffix := range []string{"_TOKEN", "_PASSWORD", "_PASSWD", "_SECRET", "_SECRET_KEY", "_ACCESS_KEY", "_API_KEY", "_CREDENTIALS"} {
		if strings.HasSuffix(upperName, suffix) || upperName == suffix[1:] {
			return true
		}
	}
	return IsName(name)
}

// LooksSecret reports whether a value looks like a secret by itself, so that Find reports it.
func LooksSecret(value string) bool {
	what, _ := secretInLine(value)
	return what != ""
}

// IsPlain reports whether a value is plainly no secret, whatever its key is called: empty, a boolean, a path, a reference, a placeholder.
func IsPlain(value string) bool { return isPlainWord(value) }

func isPlainWord(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "null", "~", "none", "yes", "no", "0", "1", "changeme", "xxx", "***":
		return true
	}
	for _, begin := range []string{"/", "./", "$(", "${", "<", "{", "[", "*", "&", "file:", "vault:", "std.", "self.", "$.", "import"} {
		if strings.HasPrefix(value, begin) {
			return true
		}
	}
	return false
}
