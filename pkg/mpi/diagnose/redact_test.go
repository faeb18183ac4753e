package diagnose

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRedact(t *testing.T) {
	hf := "hf_" + strings.Repeat("a", 30)
	for line, want := range map[string]string{
		"clone https://jane:pw@git.test/x":                    "clone https://***@git.test/x",
		"GET https://s3.test/b?X-Amz-Signature=ab12&x=1":      "GET https://s3.test/b?X-Amz-Signature=***&x=1",
		"WANDB_API_KEY=abc123 python train.py":                "WANDB_API_KEY=*** python train.py",
		"export HF_TOKEN='x y'":                               "export HF_TOKEN='*** y'",
		`{"api_key": "abc", "user": "jane"}`:                  `{"api_key": "***", "user": "jane"}`,
		"password: hunter2":                                   "password: ***",
		"login --token abc --user jane":                       "login --token *** --user jane",
		"Authorization: Bearer abcdef123456":                  "Authorization: Bearer ***",
		"using " + hf:                                         "using ***",
		"id AKIAIOSFODNN7EXAMPLE":                             "id ***",
		"-----BEGIN OPENSSH PRIVATE KEY-----":                 "***",
		strings.Repeat("Ab0+", 16):                            "***",
		"KeyError: 'x'":                                       "KeyError: 'x'",
		"step 3 loss=0.1 tokens/s 4000":                       "step 3 loss=0.1 tokens/s 4000",
		"RuntimeError: CUDA out of memory":                    "RuntimeError: CUDA out of memory",
		"check that both pods mount the same Secret with key": "check that both pods mount the same Secret with key",
	} {
		if got := Redact(line); got != want {
			t.Errorf("%s\nwant %s\ngot  %s", line, want, got)
		}
	}
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
			if diff := cmp.Diff(tc.want, Quote(tc.lines, tc.bytes)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := Quote(strings.Split(strings.Repeat("x\n", 50), "\n"), 1000); len(got) != maxLines {
		t.Errorf("got %d lines", len(got))
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\x1b[0mb\r\nTOKEN=x", 50)
	f.Add("\x1b]0;title\x07x", 3)
	f.Fuzz(func(t *testing.T, text string, bytes int) {
		size := 0
		for _, line := range Quote(strings.Split(text, "\n"), bytes) {
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
