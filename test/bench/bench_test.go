package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type jobs struct {
	Tally
	verdict error
}

func (j jobs) Print(out io.Writer) { _, _ = fmt.Fprintln(out, "TABLE") }
func (j jobs) Verdict() error      { return j.verdict }

// TestPublish: what was measured is printed and written, whether the run was cut off or not, and only a complete one is judged.
func TestPublish(t *testing.T) {
	leak := errors.New("a leak")
	cases := map[string]struct {
		reason string
		cut    error
		begins string
		err    error
	}{
		"Complete": {"the numbers are judged", nil, "{\n  \"jobs\": 1000,", leak},
		"Cut off":  {"the error comes first; what is missing is no leak", errors.New(`no end within "40m"`), "{\n  \"error\": \"no end within \\\"40m\\\"\",\n  \"jobs\": 1000,", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out.json")
			var stdout bytes.Buffer
			report := jobs{Tally{Jobs: 1000, Created: 1000, Complete: 440}, leak}
			if err := publish(&stdout, file, report, tc.cut); !errors.Is(err, tc.err) {
				t.Errorf("%s: publish = %v, want %v", tc.reason, err, tc.err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got Tally
			if err := json.Unmarshal(text, &got); err != nil || got.Complete != 440 || !strings.HasPrefix(string(text), tc.begins) {
				t.Errorf("%s: %v\n%s", tc.reason, err, text)
			}
			if out := stdout.String(); !strings.HasPrefix(out, "TABLE") || strings.Contains(out, "NOT COMPLETE") != (tc.cut != nil) {
				t.Errorf("%s: printed %q", tc.reason, out)
			}
		})
	}
}

// TestFinallyOutlivesTheMeasurement: after Ctrl-C there is time to remove things, but not forever.
func TestFinallyOutlivesTheMeasurement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := context.Cause(ctx)
	left := errors.New("something is left")
	Finally(ctx, &err, func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); ctx.Err() != nil || !limited {
			t.Errorf("the context is %v, limited %t", ctx.Err(), limited)
		}
		return left
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, left) {
		t.Errorf("an error is lost: %v", err)
	}
}

func TestTally(t *testing.T) {
	tally := Tally{Jobs: 30, Created: 28}
	tally.RecordEnd(nil)
	for i := range 25 {
		tally.RecordEnd(&Failure{Job: fmt.Sprintf("job-%d", i), Reason: "WorkerLost", Message: "lost"})
	}
	if got, want := tally.Progress(), "28 created, 2 running, 1 complete, 25 failed of 30 jobs"; got != want {
		t.Errorf("Progress = %q, want %q", got, want)
	}
	if tally.Done() || len(tally.Failures) != 20 {
		t.Errorf("through %t with %d failures listed, want false and 20", tally.Done(), len(tally.Failures))
	}
	if err := tally.Err(); err == nil || err.Error() != "25 of 30 jobs failed, the first: job-0 (WorkerLost): lost" {
		t.Errorf("Err = %v", err)
	}
	if (&Tally{Jobs: 1, Complete: 1}).Err() != nil || !(&Tally{Jobs: 1, Complete: 1}).Done() {
		t.Error("a round in which all is well is not through, or has an error")
	}
}
