package secret

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// found returns what is found in a text, and what a report says in all formats that have text of the file in them.
func found(t *testing.T, text string) (what []string, told string) {
	t.Helper()
	list := &diag.List{}
	Find([]*source.File{source.NewFile("tenants/a.yaml", []byte(text))}, list)
	for _, d := range list.Sorted() {
		what = append(what, strings.TrimPrefix(d.Message, "the spec holds "))
	}
	var b strings.Builder
	if err := list.WriteText(&b, diag.Palette{}); err != nil {
		t.Fatal(err)
	}
	if err := list.WriteGitHub(&b, func(path string) string { return path }); err != nil {
		t.Fatal(err)
	}
	return what, b.String()
}

// TestFind: each kind of secret is found, and shown nowhere. The tokens are made here: none ever was one.
func TestFind(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	letters := strings.Repeat("aB3", 20)
	for name, c := range map[string]struct{ text, secret, want string }{
		"private key":          {"key: |\n  " + strings.ReplaceAll(private, "\n", "\n  "), "BEGIN", "a private key"},
		"private key in JSON":  {`key: "` + strings.ReplaceAll(private, "\n", `\n`) + `"`, "MIG", "a private key"},
		"OpenSSH":              {"-----BEGIN OPENSSH PRIVATE KEY-----", "BEGIN", "a private key"},
		"AWS":                  {"x: ASIA" + strings.Repeat("Q7", 8), "Q7Q7", "an access key of AWS"},
		"Google":               {"x: AIza" + letters[:35], "aB3", "an API key of Google Cloud"},
		"GitHub":               {"x: ghp_" + letters[:36], "aB3", "a token of GitHub"},
		"GitHub, fine-grained": {"x: github_pat_" + letters[:30], "aB3", "a token of GitHub"},
		"GitLab":               {"x: glpat-" + letters[:20], "aB3", "a token of GitLab"},
		"Hugging Face":         {"x: hf_" + letters[:34], "aB3", "a token of Hugging Face"},
		"NVIDIA":               {"x: nvapi-" + letters, "aB3", "an API key of NVIDIA"},
		"registry":             {"x: eyJhdXRocyI6eyJyZWdpc3RyeSI6", "yJyZW", "credentials of a registry"},
		"JWT":                  {"x: eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.", "OiJub", "a signed token (JWT)"},
		"URL":                  {"x: postgres://me:hunter2@db/x", "hunter2", "a password in a URL"},
		"key and value":        {"  password: hunter2", "hunter2", "a password or key"},
		"quoted":               {`  "adminPassword": "hunter2",`, "hunter2", "a password or key"},
		"assignment":           {`dsn: "user=me password=hunter2"`, "hunter2", "a password or key"},
		"in a comment":         {"# not any more: AKIA" + strings.Repeat("Q7", 8), "Q7Q7", "an access key of AWS"},
		"block":                {"password: |\n  hunter2", "password: |", "a password or key"},
		"in one line":          {"{user: me, api_key: hunter2}", "hunter2", "a password or key"},
		"in Jsonnet":           {"  clientSecret: 'hunter2',", "hunter2", "a password or key"},
	} {
		what, told := found(t, c.text)
		if diff := cmp.Diff([]string{c.want}, what); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(told, c.secret) {
			t.Errorf("%s: the secret is shown:\n%s", name, told)
		}
	}
}

// TestNone: what only looks like a secret is none.
func TestNone(t *testing.T) {
	for _, text := range []string{
		"password: \"\"", "password: null", "password: ~", "passwordSecretRef: db", "existingPassword: true", "password: $(DB_PASSWORD)", "password: ${DB}",
		"password: {secretKeyRef: {name: db}}", "password: /run/secrets/db", "password: <your password>", "# password: hunter2", "x: 1 # the password: see the vault",
		"secret: bucket", "pullSecrets: [registry]", "objectStore: {secret: bucket}", "tokens: 4096", "TOKENIZERS_PARALLELISM: no",
		"x: AKIAIOSFODNN7EXAMPLE", "x: xAKIA" + strings.Repeat("Q7", 8), "x: ghp_short", "hf_home: /data", "task-1: eyJ", "password: std.extVar('x')",
		"url: https://git.example.com/a@b:c", "url: ssh://git@example.com/x", "image: registry:5000/mpi@sha256:abc", "-----BEGIN CERTIFICATE-----",
		"description: the password is asked for", "x: \"-----BEGIN PUBLIC KEY-----\"",
	} {
		if what, _ := found(t, text); len(what) > 0 {
			t.Errorf("%s: %v", text, what)
		}
	}
}

// TestForgotten: an earlier finding about the same text is not there any more, because it may quote it.
func TestForgotten(t *testing.T) {
	file := source.NewFile("tenants/a.yaml", []byte("endpoint: https://me:hunter2@s3\n"))
	list := &diag.List{}
	list.Errorf(diag.BadFormat, file.Token(1, 11, 21), "`https://me:hunter2@s3` has credentials")
	list.Errorf(diag.UnknownKey, file.Token(1, 1, 8), "there is no key `endpoint`")
	Find([]*source.File{file}, list)
	var b strings.Builder
	if err := list.WriteText(&b, diag.Palette{}); err != nil {
		t.Fatal(err)
	}
	if list.Errors() != 2 || strings.Contains(b.String(), "hunter2") {
		t.Error(b.String())
	}
}

// TestVariables: variables are known by their last word.
func TestVariables(t *testing.T) {
	for name, want := range map[string]bool{
		"HF_TOKEN": true, "DB_PASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "NGC_API_KEY": true, "client_secret": true, "PGPASSWORD": true,
		"TOKENIZERS_PARALLELISM": false, "SECRET_NAME": false, "MAX_TOKENS": false, "NCCL_SOCKET_IFNAME": false, "KEY": false,
	} {
		if got := IsVariable(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzFind: no text makes it panic, and what it finds lies inside the line.
func FuzzFind(f *testing.F) {
	f.Add("password: x\n")
	f.Add("://a:b@c -----BEGIN PRIVATE KEY")
	f.Add("\xff\xfepassword=\xff, eyJ.eyJ")
	f.Fuzz(func(t *testing.T, text string) {
		list := &diag.List{}
		file := source.NewFile("a.yaml", []byte(text))
		Find([]*source.File{file}, list)
		for _, d := range list.Sorted() {
			if d.Span.Line < 1 || d.Span.Column < 1 || d.Span.Column > 1+len([]rune(file.Line(d.Span.Line))) {
				t.Errorf("%s is outside", d.Span)
			}
		}
	})
}
