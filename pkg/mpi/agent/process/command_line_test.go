package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	cases := map[string]struct {
		reason string
		line   string
		want   []string // nil: a shell is needed
	}{
		"orted":         {"as Open MPI 4 sends it", `orted -mca ess "env" -mca x "a.b@0.0"`, []string{"orted", "-mca", "ess", "env", "-mca", "x", "a.b@0.0"}},
		"Hydra":         {"as MPICH sends it", `"/usr/bin/hydra_pmi_proxy" --control-port l:1`, []string{"/usr/bin/hydra_pmi_proxy", "--control-port", "l:1"}},
		"single":        {"single quotes keep everything", `echo '$a b'`, []string{"echo", "$a b"}},
		"empty word":    {"an empty argument is an argument", `a "" b`, []string{"a", "", "b"}},
		"joined":        {"quotes inside a word", `a"b c"d`, []string{"ab cd"}},
		"list":          {"PRRTE's prefix", `PATH=/x:$PATH; export PATH; orted`, nil},
		"assignment":    {"a variable before a command", `A=1 prog`, nil},
		"variable":      {"also in double quotes", `echo "$HOME"`, nil},
		"escape":        {"a backslash", `echo a\ b`, nil},
		"redirection":   {"a file", `a > b`, nil},
		"unbalanced":    {"an open quote", `a "b`, nil},
		"blank":         {"nothing", `  `, nil},
		"glob":          {"a pattern", `ls *`, nil},
		"second line":   {"two commands", "a\nb", nil},
		"leading tilde": {"a home folder", `~/a`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, simple := splitSimpleWords(c.line)
			if !simple {
				got = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`orted -mca "a b" 'c'`)
	f.Add(`a"b`)
	f.Fuzz(func(t *testing.T, line string) {
		got, simple := splitSimpleWords(line)
		if !simple {
			return
		}
		// Words put in single quotes mean the same again, unless they hold single quotes.
		if strings.Contains(strings.Join(got, ""), "'") {
			return
		}
		again, simple := splitSimpleWords("'" + strings.Join(got, "' '") + "'")
		if diff := cmp.Diff(got, again); !simple || diff != "" {
			t.Errorf("%q: %v, %s", line, simple, diff)
		}
	})
}

func TestCommandLineHasALimit(t *testing.T) {
	if _, _, err := ParseCommandLine(strings.Repeat("x", MaxCommandLine+1)); err == nil {
		t.Error("accepted")
	}
	path, argv, err := ParseCommandLine(strings.Repeat("x", MaxCommandLine))
	if err != nil || path != Shell || len(argv) != 3 {
		t.Errorf("got %s, %d arguments, %v", path, len(argv), err)
	}
	status, _, _, err := shell(t.Context(), ": "+strings.Repeat("x", MaxCommandLine-2), "")
	if err != nil || status.Code() != 0 {
		t.Errorf("the longest line does not run: %v, %v", status, err)
	}
}

func TestNoShellErrorNamesTheCommand(t *testing.T) {
	var err error = &NoShellError{Line: "a; b"}
	var typed *NoShellError
	if !errors.As(err, &typed) || !strings.Contains(err.Error(), "a; b") {
		t.Error(err)
	}
}

// The error goes into the logs of a pod, and launchers put variables into their command lines.
func TestNoShellErrorTellsNoSecretAndIsShort(t *testing.T) {
	line := "export HF_TOKEN=hf_abcdef; export WANDB_API_KEY=" + strings.Repeat("s3cret", 1000) + "; " + strings.Repeat("x", MaxCommandLine/2)
	got := (&NoShellError{Line: line}).Error()
	if strings.Contains(got, "s3cret") || strings.Contains(got, "hf_abcdef") || len(got) > 300 {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
}
