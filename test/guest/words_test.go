package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	cases := map[string]struct {
		reason string
		words  string
		want   string
	}{
		"passed":    {"all that was shown passed", "=== a\nguest:passed a (1 s)\r\nguest:ended 0\n", ""},
		"failed":    {"one failure is one too many, whatever the script ends with", "guest:passed a (1 s)\nguest:failed b (2 s)\nguest:ended 0\n", "b (2 s)"},
		"gone":      {"a machine that is switched off early has shown nothing", "guest:passed a (1 s)\n", "before its task ended"},
		"exit code": {"a script may fail between its steps", "guest:passed a (1 s)\nguest:ended 7\n", "exit code 7"},
		"nothing":   {"a script without a step proves nothing", "guest:ended 0\n", "showed nothing"},
		"no mark":   {"only a line that begins with it counts", "echo guest:ended 0\n", "before its task ended"},
		"nonsense":  {"an exit code is a number", "guest:passed a\nguest:ended\n", "before its task ended"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := read(strings.NewReader(tc.words), io.Discard, time.Now()).verdict()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestEveryLineIsShownWithItsTime(t *testing.T) {
	var out strings.Builder
	read(strings.NewReader("a\r\nb\n"), &out, time.Now())
	if want := "[    0.0s] a\n[    0.0s] b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// A line longer than any buffer must not stop the guest, which waits until somebody reads.
func TestALineWithoutEndIsReadToTheEnd(t *testing.T) {
	words := strings.NewReader(strings.Repeat("x", 3<<20))
	read(words, io.Discard, time.Now())
	if words.Len() != 0 {
		t.Errorf("%d bytes were left", words.Len())
	}
}
