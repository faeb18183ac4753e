package main

import (
	"bytes"
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/cli"
)

// TestWorkers: a number of workers that no machine has threads for is a mistake on the command line.
func TestWorkers(t *testing.T) {
	for _, number := range []string{"100000", "1025", "-1"} {
		var stdout, stderr bytes.Buffer
		code := run([]string{"check", "--root", "../..", "--workers", number}, &stdout, &stderr)
		if want := "--workers is " + number + ": 0 means one per processor, 1 to 1024 a number of your own"; code != cli.ExitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", number, code, stderr.String())
		}
	}
}

// TestFormatted: the specs of this repository are as fmt writes them.
func TestFormatted(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"fmt", "--check", "--root", "../.."}, &stdout, &stderr); code != cli.ExitFine {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}
