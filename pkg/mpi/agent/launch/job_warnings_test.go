package launch

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/training"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func TestWarningsAreAnsweredOnceTheyDiffer(t *testing.T) {
	board := newWarningBoard()
	stuck := mpi.JobWarnings{Warnings: []mpi.JobWarning{{Reason: mpi.ReasonLaunchStuck, Message: "x"}}}
	ask := func(known mpi.JobWarnings) any {
		request, err := json.Marshal(known)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := board.answerRequest(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	answers := make(chan any)
	go func() { answers <- ask(mpi.JobWarnings{}) }()
	board.post(nil) // nothing new
	board.post(stuck.Warnings)
	if diff := cmp.Diff(any(stuck), <-answers); diff != "" {
		t.Error(diff)
	}
	go func() { answers <- ask(stuck) }()
	board.post(stuck.Warnings)
	board.post(nil)
	if diff := cmp.Diff(any(mpi.JobWarnings{}), <-answers); diff != "" {
		t.Error(diff)
	}
	board.hold = 0
	if diff := cmp.Diff(any(mpi.JobWarnings{}), ask(mpi.JobWarnings{})); diff != "" {
		t.Errorf("held for too long: %s", diff)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	board.hold = time.Hour
	if _, err := board.answerRequest(over, []byte("{}")); err == nil {
		t.Error("the asker is gone")
	}
	if _, err := board.answerRequest(t.Context(), []byte("{")); err == nil {
		t.Error("answered nonsense")
	}
}

// Progress is told when its time has come, to who asks for it, and the last one at once.
func TestProgressIsAnsweredInItsTime(t *testing.T) {
	board := newWarningBoard()
	board.hold = 10 * time.Second
	ask := func(request string) mpi.JobWarnings {
		t.Helper()
		answer, err := board.answerRequest(t.Context(), []byte(request))
		if err != nil {
			t.Fatal(err)
		}
		return answer.(mpi.JobWarnings) //nolint:forcetypeassert // it panics otherwise
	}
	percent := int32(40)
	board.postTraining(mpi.TrainingProgress{Percent: &percent, Updated: 1})
	begun := time.Now()
	got, took := ask(`{"trainingAfter":0.2}`), time.Since(begun)
	if got.Training == nil || *got.Training.Percent != 40 || took < 200*time.Millisecond {
		t.Errorf("%+v after %s", got, took)
	}
	board.post([]mpi.JobWarning{{Reason: mpi.ReasonLaunchStuck, Message: "x"}})
	if got := ask(`{"trainingAfter":3600}`); len(got.Warnings) != 1 || got.Training == nil {
		t.Errorf("a warning is told at once: %+v", got)
	}
	if got := ask(`{}`); got.Training != nil {
		t.Errorf("an earlier controller did not ask: %+v", got)
	}
	const known = `{"trainingAfter":3600,` +
		`"warnings":[{"reason":"LaunchStuck","message":"x"}],"training":{"percent":40,"updated":1}}`
	answers := make(chan mpi.JobWarnings)
	go func() { answers <- ask(known) }()
	percent = 100
	board.postTraining(mpi.TrainingProgress{Percent: &percent, Updated: 2})
	board.postEnd()
	if got := <-answers; *got.Training.Percent != 100 {
		t.Errorf("at the end: %+v", got)
	}
}

// What a command prints is read as it passes, up to a last line without an end.
func TestProgressIsReadOutOfTheOutput(t *testing.T) {
	var tracker training.Tracker
	output, err := newOutputTail([]*os.File{nil, temporary(t), temporary(t)})
	if err != nil {
		t.Fatal(err)
	}
	output.followProgress(&tracker)
	command := exec.Command("sh", "-c", "echo lockstep: progress 10%; echo Epoch 9/10; "+
		"printf 'lockstep: progress 99%% loss=.5' >&2")
	command.Stdout, command.Stderr = output.files[1], output.files[2]
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	output.startCopying()
	_ = command.Wait()
	output.awaitLastLines()
	if got := tracker.Known(); got == nil || len(got.Metrics) != 1 || got.Metrics[0].Value != .5 {
		t.Errorf("%+v", got)
	}
}

// A rank that raised an exception waits in MPI_Finalize for the others, which wait for it. A program that handles one prints on.
func TestAFailureInTheOutputIsAWarningOnceItIsQuiet(t *testing.T) {
	write := func(lines ...string) (*outputTail, time.Time) {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { null.Close() })
		stream := &copiedStream{to: null}
		tail := &outputTail{output: []*copiedStream{stream}}
		for _, line := range lines {
			if _, err := stream.Write([]byte(line + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		return tail, tail.lastWrite()
	}
	traceback := []string{"step 1", "Traceback (most recent call last):", `  File "train.py", line 3, in <module>`, "RuntimeError: DataLoader worker exited unexpectedly"}
	tail, last := write(traceback...)
	if got := tail.outputWarning(last.Add(quietAfter / 2)); got != nil {
		t.Errorf("it may print on: %+v", got)
	}
	got := tail.outputWarning(last.Add(quietAfter))
	if got == nil || got.Reason != diagnose.PythonException || !strings.Contains(got.Message, "`RuntimeError: DataLoader worker exited unexpectedly`") {
		t.Errorf("%+v", got)
	}
	if again := tail.outputWarning(last.Add(time.Hour)); again != got {
		t.Errorf("the words of a condition that holds stay the same: %+v", again)
	}
	for name, lines := range map[string][]string{
		"quiet":   nil,
		"well":    {"step 1", "step 2"},
		"handled": append(traceback, strings.Split(strings.Repeat("step\n", warningLines), "\n")...),
	} {
		tail, last := write(lines...)
		if got := tail.outputWarning(last.Add(time.Hour)); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
