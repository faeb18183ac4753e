package loop

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
)

// told is a job whose program reports something.
func told(trainJob *trainer.TrainJob, percent int32, loss float64) *phase.Facts {
	progress := &mpi.TrainingProgress{Percent: &percent, Metrics: []mpi.TrainingMetric{{Name: "loss",
		Value: loss}}, Updated: 5_000_000}
	return phase.DeriveFacts(observe.Observed{Now: time.Unix(2000, 0), TrainJob: trainJob,
		Gate: &observe.GateState{Training: progress}})
}

// firstProgress is all that the API server gets of a progress: what else stood there would be ours from then on.
const firstProgress = `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",` +
	`"metadata":{"name":"demo","namespace":"team","uid":"uid"},` +
	`"status":{"trainerStatus":{"lastUpdatedTime":"1970-01-01T00:33:20Z",` +
	`"metrics":[{"name":"loss","value":"0.5"}],"progressPercentage":40}}}`

func TestProgressStandsInTheStatus(t *testing.T) {
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Executor, Companion} {
		trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name,
			UID: "uid"}}
		writes, sent := 0, []byte(nil)
		count := interceptor.Funcs{SubResourceApply: func(ctx context.Context, c client.Client, subResource string,
			object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			writes++
			sent, err = json.Marshal(object)
			return c.SubResource(subResource).Apply(ctx, object, options...)
		}}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(trainJob).WithStatusSubresource(trainJob).
			WithInterceptorFuncs(count).Build()
		r := New(Parts{Client: c, Mode: mode})
		write := func(percent int32, loss float64) *trainer.TrainerStatus {
			t.Helper()
			if err := c.Get(t.Context(), name, trainJob); err != nil {
				t.Fatal(err)
			}
			if err := r.writeTraining(t.Context(), told(trainJob, percent, loss)); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), name, trainJob); err != nil {
				t.Fatal(err)
			}
			return trainJob.Status.TrainerStatus
		}
		got := write(40, .5)
		want := `{"progressPercentage":40,"metrics":[{"name":"loss","value":"0.5"}],` +
			`"lastUpdatedTime":"1970-01-01T00:33:20Z"}`
		if text, err := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("%s: %s, %v: a clock that is ahead is not believed", mode, text, err)
		}
		if string(sent) != firstProgress {
			t.Errorf("%s: want\n%s\ngot\n%s", mode, firstProgress, sent)
		}
		if write(40, .5); writes != 1 {
			t.Errorf("%s: the same is written %d times", mode, writes)
		}
		write(60, .25)
		theirs, err := progressOf(trainJob, trainer.TrainerStatus{ProgressPercentage: ptr.To[int32](70)},
			metav1.NewTime(time.Unix(2100, 0)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(theirs),
			client.FieldOwner("trainer-status"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		writes = 0
		write(80, .125)
		got = write(90, .125)
		switch percent := ptr.Deref(got.ProgressPercentage, -1); {
		case mode == Companion && (percent != 70 || writes != 1):
			t.Errorf("beside Trainer its own server writes: %d after %d writes", percent, writes)
		case mode == Executor && percent != 90:
			t.Errorf("nobody else runs the job: %d", percent)
		}
	}
}

// What a program reported at its end counts, though nobody had asked any more.
func TestTheLastProgressCounts(t *testing.T) {
	for name, c := range map[string]struct {
		gate, verdict int64
		want          int32
	}{"the verdict": {1, 2, 100}, "what was told after it": {3, 2, 40}} {
		f := told(&trainer.TrainJob{}, 40, 1)
		f.Gate.Training.Updated = c.gate
		verdict := mpi.Verdict{Training: &mpi.TrainingProgress{Percent: ptr.To[int32](100), Updated: c.verdict}}
		if got := latestTraining(f.Gate, &verdict); *got.Percent != c.want || len(got.Metrics) != 1 {
			t.Errorf("%s: %+v: metrics that are known stay", name, got)
		}
	}
}
