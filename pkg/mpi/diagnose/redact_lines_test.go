package diagnose

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// redacted are lines, and how they may be shown. What looks like a key is made here, so that none stands in this file.
func redacted() map[string]string {
	hf := "hf_" + strings.Repeat("a", 30)
	body, begin := strings.Repeat("Ab0+", 16), "-----BEGIN "+"PRIVATE KEY-----"
	return map[string]string{
		"clone https://jane:pw@git.test/x":                    "clone https://***@git.test/x",
		"clone https://jane:p@w@git.test/x":                   "clone https://***@git.test/x",
		"GET https://s3.test/b?X-Amz-Signature=ab12&x=1":      "GET https://s3.test/b?X-Amz-Signature=***&x=1",
		"GET https://blob.test/b?se=2026&sig=a%2Bb%3D&sp=r":   "GET https://blob.test/b?se=2026&sig=***&sp=r",
		"WANDB_API_KEY=abc123 python train.py":                "WANDB_API_KEY=*** python train.py",
		"export HF_TOKEN='x y' A=1":                           "export HF_TOKEN='***' A=1",
		`export HF_TOKEN="x y" A=1`:                           `export HF_TOKEN="***" A=1`,
		"Namespace(token=b'abc', lr=0.1)":                     "Namespace(token=b'***', lr=0.1)",
		"aws_secret_access_key = wJalr/K7+x":                  "aws_secret_access_key = ***",
		"DB_PASS=hunter2 MYSQL_PWD=hunter2 x":                 "DB_PASS=*** MYSQL_PWD=*** x",
		"pass.phrase=hunter2":                                 "pass.phrase=***",
		"Server=db;Uid=sa;Pwd=hunter2;":                       "Server=db;Uid=sa;Pwd=***;",
		"{'password' => 'hunter2'}":                           "{'password' => '***'}",
		`{"api_key": "abc", "user": "jane"}`:                  `{"api_key": "***", "user": "jane"}`,
		`{"db_pass": "a\"b c", "user": "jane"}`:               `{"db_pass": "***", "user": "jane"}`,
		`"{\"api_key\": \"abc\"}"`:                            `"{\"api_key\": \"***"`,
		`{"auth_token": "Bearer abcdefghijkl"}`:               `{"auth_token": "***"}`,
		`"private_key": "` + begin + `\n` + body + `\n",`:     `"private_key": "***`,
		`SSH_KEY="` + begin:                                   `SSH_KEY="***`,
		"password: hunter2":                                   "password: ***",
		`password: "hunter 2"`:                                "password: ***",
		"[1,0]<stdout>:token: abc":                            "[1,0]<stdout>:token: ***",
		"login --token abc --user jane":                       "login --token *** --user jane",
		`login --db-pass "a b" --user jane`:                   `login --db-pass "***" --user jane`,
		"login --token a,b --user jane":                       "login --token *** --user jane",
		"train --logger.api_key=a,b --lr 1":                   "train --logger.api_key=*** --lr 1",
		`args: ["--api-key", "abc", "--lr", "1"]`:             `args: ["--api-key", "***", "--lr", "1"]`,
		`['--token','abc','--lr','1']`:                        `['--token','***','--lr','1']`,
		`"[\"--token\",\"abc\",\"--lr\"]"`:                    `"[\"--token\",\"***\",\"--lr\"]"`,
		`{"name":"DB_PASSWORD","value":"abc","x":"y"}`:        `{"name":"DB_PASSWORD","value":"***","x":"y"}`,
		`["--token", "--verbose"]`:                            `["--token", "--verbose"]`,
		"train --max-tokens 4096 --tokenizer=bert":            "train --max-tokens 4096 --tokenizer=bert",
		`{"max_new_tokens": 128, "tokenizer": "bert"}`:        `{"max_new_tokens": 128, "tokenizer": "bert"}`,
		"Authorization: Bearer abcdef123456":                  "Authorization: Bearer ***",
		"using " + hf:                                         "using ***",
		"glpat" + "-abcdefghij0123456789 x":                   "*** x",
		"nvapi" + "-abcdefghij_0123456789 x":                  "*** x",
		"AIza" + strings.Repeat("b", 35) + " x":               "*** x",
		"id AKIAIOSFODNN7EXAMPLE":                             "id ***",
		"-----BEGIN OPENSSH PRIVATE KEY-----":                 "***",
		body:                                                  "***",
		"[1,0]<stdout>:" + body:                               "[1,0]<stdout>:***",
		"[rank2]: " + body:                                    "[rank2]: ***",
		"DB_PASSWORD=--hunter2 x":                             "DB_PASSWORD=*** x",
		"password: --hunter2":                                 "password: ***",
		`{"password": "--hunter2"}`:                           `{"password": "***"}`,
		"NUM_TOKENS_PASSWORD=123456 x":                        "NUM_TOKENS_PASSWORD=*** x",
		"MAX_TOKENS_KEY=123456 x":                             "MAX_TOKENS_KEY=*** x",
		"tokenid=secret1 TOKENS=4":                            "tokenid=*** TOKENS=4",
		"KeyError: 'x'":                                       "KeyError: 'x'",
		"step 3 loss=0.1 tokens/s 4000":                       "step 3 loss=0.1 tokens/s 4000",
		"RuntimeError: CUDA out of memory":                    "RuntimeError: CUDA out of memory",
		"check that both pods mount the same Secret with key": "check that both pods mount the same Secret with key",
		"compass=north bypass=1 passed=4 sigma=0.5":           "compass=north bypass=1 passed=4 sigma=0.5",
		"PWD=/w OLDPWD=/x passes: 3":                          "PWD=/w OLDPWD=/x passes: 3",
		"if key == other and token != x:":                     "if key == other and token != x:",
		"tokenizers==0.15.2 installed":                        "tokenizers==0.15.2 installed",
		`HF_TOKEN="" is empty`:                                `HF_TOKEN="" is empty`,
		"-----BEGIN CERTIFICATE-----":                         "-----BEGIN CERTIFICATE-----",
	}
}

func TestRedact(t *testing.T) {
	for line, want := range redacted() {
		if got := Redact(line); got != want {
			t.Errorf("%s\nwant %s\ngot  %s", line, want, got)
		}
	}
}

// TestRedactTwice: a line goes through several hands, and each redacts it. Lines are made of what the rules know, in any order.
func TestRedactTwice(t *testing.T) {
	parts := []string{
		"token", "HF_TOKEN", "--token", `["--token",`, `\"--token\",`, "tokens", "4096", `"name":"DB_KEY","value":`, "name: A_KEY value: ", "sig", "db_pass", "x.pwd", "password", "--key", "- secret", "Bearer", "basic", "=", " = ", "=>", "==", ": ", ":", " ", "  ",
		`"`, `'`, `\"`, `\`, "b'", ",", ";", "&", "?", "(", "-", "***", "abcdefghijkl", "v", "=v", "://", "@", "/", "[1,0]<stdout>:", "[rank2]: ", "[3] ",
		"hf_" + strings.Repeat("a", 20), "-----BEGIN " + "PRIVATE KEY-----", strings.Repeat("Ab0+", 16), "é", "\n",
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var line string
		for range 1 + chance.IntN(9) {
			line += parts[chance.IntN(len(parts))]
		}
		once := Redact(line)
		if twice := Redact(once); twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", line, once, twice)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for line := range redacted() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		once := Redact(line)
		if twice := Redact(once); twice != once {
			t.Errorf("%q\nonce  %q\ntwice %q", line, once, twice)
		}
	})
}

func TestQuote(t *testing.T) {
	long := strings.Repeat("é", 400)
	cases := map[string]struct {
		lines []string
		bytes int
		want  []string
	}{
		"order":    {[]string{"a", "", "b\r\n", "\x1b[31mc\x1b[0m"}, 100, []string{"a", "b", "c"}},
		"last":     {[]string{"aaaa", "bbbb", "cccc"}, 9, []string{"bbbb", "cccc"}},
		"progress": {[]string{" 1%\r 2%\r 99%"}, 100, []string{" 99%"}},
		"secret":   {[]string{"TOKEN=abc"}, 100, []string{"TOKEN=***"}},
		"binary":   {[]string{"a\xffb\x00c\td"}, 100, []string{"a\uFFFDbc d"}},
		"long":     {[]string{long}, 1000, []string{strings.Repeat("é", 148) + "…"}},
		"nothing":  {nil, 100, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, QuoteLines(tc.lines, tc.bytes)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := QuoteLines(strings.Split(strings.Repeat("x\n", 50), "\n"), 1000); len(got) != maxLines {
		t.Errorf("got %d lines", len(got))
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\x1b[0mb\r\nTOKEN=x", 50)
	f.Add("\x1b]0;title\x07x", 3)
	f.Fuzz(func(t *testing.T, text string, bytes int) {
		size := 0
		for _, line := range QuoteLines(strings.Split(text, "\n"), bytes) {
			size += len(line)
			if line == "" || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\r\x1b\x00") || len(line) > maxLine {
				t.Errorf("%q", line)
			}
		}
		if size > max(bytes, 0) {
			t.Errorf("%d bytes, %d allowed", size, bytes)
		}
	})
}
