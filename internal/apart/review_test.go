package apart

import (
	"os"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// TestReviewMissing: where the program is not installed, the message says who needs it, and where it must be.
func TestReviewMissing(t *testing.T) {
	t.Setenv(builtFrom, "")
	if err := Review("diff"); err == nil || !strings.Contains(err.Error(), "`diff` needs the program runtime-compiler-review, which is not in /") {
		t.Errorf("got %v", err)
	}
}

// TestReviewNotExecutable: a program that may not be executed is named, with what to do.
func TestReviewNotExecutable(t *testing.T) {
	t.Setenv(builtFrom, "")
	program, err := Beside(ReviewProgram)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(program) }()
	want := "`drift` needs the program runtime-compiler-review, which may not be executed: run `chmod +x " + program + "`"
	if err := Review("drift"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestForReview: the program works for its own build, and for itself where nobody replaced another program by it, and tells no child.
func TestForReview(t *testing.T) {
	for name, c := range map[string]struct{ reason, of, want string }{
		"same":    {"a release is one build", chart.Build(), ""},
		"another": {"its output could be another one", "version v0.0.1", "runtime-compiler is version v0.0.1: install all programs of one release"},
		"empty":   {"nobody has built that", "", "install all programs of one release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(builtFrom, c.of)
			if err := ForReview(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
			if _, found := os.LookupEnv(builtFrom); found {
				t.Error("children would learn of it")
			}
			if err := ForReview(); err != nil {
				t.Errorf("started by hand: %v", err)
			}
		})
	}
}
