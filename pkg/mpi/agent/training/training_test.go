package training

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

func reported(percent, remaining int32, metrics ...mpi.TrainingMetric) mpi.TrainingProgress {
	p := mpi.TrainingProgress{Metrics: metrics}
	if percent >= 0 {
		p.Percent = &percent
	}
	if remaining >= 0 {
		p.RemainingSeconds = &remaining
	}
	return p
}

func TestTheLineOfTheProtocol(t *testing.T) {
	for line, want := range map[string]mpi.TrainingProgress{
		"lockstep: progress 40% remaining=120s loss=0.31 acc/top-1=.9": reported(40, 120,
			mpi.TrainingMetric{Name: "acc/top-1", Value: .9}, mpi.TrainingMetric{Name: "loss", Value: .31}),
		"lockstep: progress 99.9%":                 reported(99, -1),
		"lockstep: progress  remaining=2m30s  0% ": reported(0, 150),
		"lockstep: progress remaining=90 loss=1e-3": reported(-1, 90,
			mpi.TrainingMetric{Name: "loss", Value: .001}),
		"lockstep: progress loss=0.5 and words=so token": reported(-1, -1,
			mpi.TrainingMetric{Name: "loss", Value: .5}),
		"lockstep: progress 5% loss=nan b=inf c=1e999": reported(5, -1),
		"lockstep: progress 101% x=1": reported(-1, -1,
			mpi.TrainingMetric{Name: "x", Value: 1}),
		"lockstep: progress -1% 9x=1 =2 remaining=-3s": {},
		"lockstep: progress password=hunter2":          {},
		"lockstep: progress":                           {},
		"the lockstep: progress 40%":                   {},
		"lockstep: progressive 40%":                    {},
	} {
		got, marked := ParseLine(line)
		if diff := cmp.Diff(want, got); diff != "" || marked != strings.HasPrefix(line+" ", "lockstep: progress ") {
			t.Errorf("%q: marked %v, %s", line, marked, diff)
		}
	}
}

// What frameworks and their examples print, as a pipe gets it.
func TestUsualLines(t *testing.T) {
	number := func(name string, value float64) mpi.TrainingMetric {
		return mpi.TrainingMetric{Name: name, Value: value}
	}
	for name, c := range map[string]struct {
		lines string
		want  mpi.TrainingProgress
	}{
		"Keras 3": {
			"Epoch 2/4\n\x1b[1m 500/1000\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━\x1b[0m " +
				"\x1b[1m3s\x1b[0m 2ms/step - accuracy: 0.9250 - loss: 0.3526",
			reported(37, -1, number("accuracy", .925), number("epoch", 2), number("loss", .3526)),
		},
		"Keras 2, drawn over": {
			"Epoch 1/2\n 1/10 [==>...........] - ETA: 9s - loss: 2.0\r" +
				"10/10 [==============================] - 1s 2ms/step - loss: 1.5 - val_loss: 1.7\n",
			reported(50, -1, number("epoch", 1), number("loss", 1.5), number("val_loss", 1.7)),
		},
		"Keras, its last line, and an evaluation": {
			"Epoch 3/3\n1875/1875 - 3s - loss: 0.25 - 3s/epoch - 2ms/step\n 1/313 ━━━━ 4s 15ms/step - loss: 0.2\n",
			reported(100, -1, number("epoch", 3), number("loss", .2)),
		},
		"Keras, an evaluation alone": {" 1/313 ━━━━ 4s 15ms/step - loss: 0.2\n", reported(-1, -1, number("loss", .2))},
		"Horovod's example of PyTorch": {
			"[1,0]<stdout>:Train Epoch: 3 [12800/60000 (21%)]\tLoss: 0.312000\n",
			reported(-1, -1, number("epoch", 3), number("loss", .312)),
		},
		"Horovod's example of TensorFlow": {"[0]<stdout>:Step #10\tLoss: 0.123456\n", reported(-1, -1,
			number("loss", .123456))},
		"Horovod's example of ImageNet": {
			"Train Epoch     #2:  40%|████      | 4/10 [00:01<00:02,  2.1it/s, loss=2.3, accuracy=10]\r",
			reported(-1, -1, number("accuracy", 10), number("epoch", 2), number("loss", 2.3)),
		},
		"an epoch that begins": {"Epoch 3/10\n", reported(20, -1, number("epoch", 3))},
		"an epoch that is over": {"Epoch 3/10, train loss: 0.31, val loss: 0.4\n", reported(30, -1,
			number("epoch", 3), number("loss", .31), number("val_loss", .4))},
		"epochs from 0": {"Epoch 0/4 loss 2\nEpoch 3/4 loss 1\n", reported(100, -1,
			number("epoch", 3), number("loss", 1))},
		"an epoch and a step": {"Epoch [2/4], Step [50/100], Loss: 0.5\n", reported(37, -1,
			number("epoch", 2), number("loss", .5))},
		"an epoch of unknown many": {"[epoch 3] loss: 0.31\n", reported(-1, -1, number("epoch", 3),
			number("loss", .31))},
		"PyTorch's tutorial": {"[1,  2000] loss: 2.173\n", reported(-1, -1, number("loss", 2.173))},
		"steps": {"step 100/1000\niter 250/1000: loss 2.5, time 20ms\n", reported(25, -1,
			number("loss", 2.5))},
		"transformers": {
			" 40%|████      | 400/1000 [00:40<01:00]\r" +
				"{'loss': 0.31, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.4}\n",
			reported(40, -1, number("epoch", .4), number("grad_norm", 1.5), number("learning_rate", 5e-5),
				number("loss", .31)),
		},
		"a download": {"Downloading: 40%|████   | 4/10 [00:01]\rMap: 10%|█ |\n",
			mpi.TrainingProgress{}},
		"other things": {"reading 3/10 files\npacket loss: 0.1\n3/4 done\nstep aside\ntime 12:30:01\n",
			mpi.TrainingProgress{}},
		"what is told counts alone": {"Epoch 9/10\nlockstep: progress 5%\nEpoch 10/10 loss: 3\n", reported(5,
			-1, number("epoch", 9))},
	} {
		var tracker Tracker
		stream := tracker.NewStream()
		if _, err := io.WriteString(stream, c.lines); err != nil {
			t.Fatal(err)
		}
		stream.EndLine()
		got := ptr.Deref(tracker.Known(), mpi.TrainingProgress{})
		got.Updated = 0
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A program that reports its progress, though without any number yet, is not guessed at.
func TestAnExplicitLineEndsRecognition(t *testing.T) {
	var tracker Tracker
	tracker.NoteLine([]byte("[1,3]<stdout>:lockstep: progress"))
	tracker.NoteLine([]byte("Epoch 3/10"))
	if got := tracker.Known(); got != nil {
		t.Errorf("%+v", got)
	}
	tracker.NoteLine([]byte("[1,3]<stdout>:lockstep: progress 7%"))
	if got := tracker.Known(); got == nil || *got.Percent != 7 {
		t.Errorf("%+v", got)
	}
}

// A program that floods its output costs little, what it reports is read all the same, and so is what stands at its
// end.
func TestAFloodIsPassedOver(t *testing.T) {
	var tracker Tracker
	changes := 0
	tracker.Changed = func(mpi.TrainingProgress) { changes++ }
	var lines []string
	for i := range 20 * recognizedLines {
		lines = append(lines, fmt.Sprintf("step %d/%d", i, 20*recognizedLines))
		tracker.NoteLine([]byte(lines[i]))
	}
	lines = append(lines, "loss: 0.5")
	tracker.NoteLine([]byte("loss: 0.5"))
	if changes > 5*recognizedLines {
		t.Errorf("%d lines were looked at", changes)
	}
	tracker.NoteEnd(lines)
	if got := tracker.Known(); *got.Percent != 99 || len(got.Metrics) != 1 {
		t.Errorf("at its end: %+v", got)
	}
	tracker.NoteLine([]byte("lockstep: progress 42%"))
	if got := tracker.Known(); *got.Percent != 42 {
		t.Errorf("what is told: %+v", got)
	}
}

func TestLinesComeInPieces(t *testing.T) {
	var tracker Tracker
	stream := tracker.NewStream()
	for _, piece := range []string{"lockstep: pro", "gress 4", "2%\n", strings.Repeat("x", 10*longestLine),
		"lockstep: progress 1%\nlockstep: progress loss=2"} {
		if n, err := stream.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	stream.EndLine()
	want := reported(42, -1, mpi.TrainingMetric{Name: "loss", Value: 2})
	got := ptr.Deref(tracker.Known(), mpi.TrainingProgress{})
	if got.Updated = 0; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// FuzzOutput: whatever a program prints, what is known stays in its bounds, and is what the API of TrainJobs
// takes.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("lockstep: progress 40% remaining=120s loss=0.31\n"))
	f.Add([]byte("Epoch 3/10\n 1/10 [==>..] - loss: 1e400\r[1,0]<stdout>:Train Epoch: 3 [1/0 (21%)]\tLoss: -0.0\n"))
	f.Add([]byte("epoch 0/0 step 999999999999/1\n\xff\x00lockstep: progress \x1b[31m9%\n" +
		"lockstep: progress " + strings.Repeat("a=1 b=2 ", 200)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var tracker Tracker
		stream := tracker.NewStream()
		for part := range bytes.SplitSeq(text, []byte("|")) {
			if _, err := stream.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		stream.EndLine()
		expectBounded(t, tracker.Known())
	})
}

// FuzzPost is the same for what a program posts.
func FuzzPost(f *testing.F) {
	f.Add([]byte(`{"trainerStatus":{"progressPercentage":40,"estimatedRemainingSeconds":-1,` +
		`"metrics":[{"name":"loss","value":"0.31"},{"name":"","value":"NaN"}]}}`))
	f.Add([]byte(`{"trainerStatus":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var tracker Tracker
		if p, err := parsePost(body); err == nil {
			if err := tracker.TakePost(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		expectBounded(t, tracker.Known())
	})
}

func expectBounded(t *testing.T, p *mpi.TrainingProgress) {
	t.Helper()
	if p == nil {
		return
	}
	percent, remaining := ptr.Deref(p.Percent, 0), ptr.Deref(p.RemainingSeconds, 0)
	if p.IsEmpty() || percent < 0 || percent > 100 || remaining < 0 || len(p.Metrics) > mpi.MaxTrainingMetrics {
		t.Fatalf("%+v", p)
	}
	for _, m := range p.Metrics {
		if !mpi.IsMetricName(m.Name) || math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			t.Fatalf("%+v", m)
		}
	}
}

// What clients of Trainer's status server do, such as the callback of transformers: a POST over HTTPS, with the
// authority and the token of files.
func TestPostsAreTaken(t *testing.T) {
	folder := t.TempDir()
	var taken []mpi.TrainingProgress
	var refuse error
	variables, err := Serve(t.Context(), nil, folder, log.New(io.Discard, "", 0), func(_ context.Context,
		p mpi.TrainingProgress) error {
		taken = append(taken, p)
		return refuse
	})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	authority, err := os.ReadFile(values[serverCAVariable])
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(values[serverTokenVariable])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	send := func(method, token, body string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, values[serverURLVariable],
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	const body = `{"trainerStatus":{"lastUpdatedTime":"2026-01-01T00:00:00Z","progressPercentage":40,` +
		`"estimatedRemainingSeconds":90,"metrics":[{"name":"loss","value":"0.31"},{"name":"stage","value":"warm"}]}}`
	for _, c := range []struct {
		method, token, body string
		want                int
	}{
		{http.MethodPost, string(token), body, http.StatusOK},
		{http.MethodPost, "another", body, http.StatusForbidden},
		{http.MethodGet, string(token), "", http.StatusMethodNotAllowed},
		{http.MethodPost, string(token), "{", http.StatusUnprocessableEntity},
		{http.MethodPost, string(token), strings.Repeat(" ", maxPost+1), http.StatusRequestEntityTooLarge},
	} {
		if got := send(c.method, c.token, c.body); got != c.want {
			t.Errorf("%s %.20q: %d, want %d", c.method, c.body, got, c.want)
		}
	}
	refuse = errors.New("the launcher is gone")
	if got := send(http.MethodPost, string(token), body); got != http.StatusBadGateway {
		t.Errorf("%d", got)
	}
	if diff := cmp.Diff(reported(40, 90, mpi.TrainingMetric{Name: "loss", Value: .31}), taken[0]); diff != "" {
		t.Error(diff)
	}
}

// Where Kubeflow Trainer serves, programs go to it.
func TestTrainersServerIsLeftAlone(t *testing.T) {
	variables, err := Serve(t.Context(), []string{serverURLVariable + "=https://trainer"}, t.TempDir(),
		log.New(io.Discard, "", 0), nil)
	if err != nil || variables != nil {
		t.Error(variables, err)
	}
}
