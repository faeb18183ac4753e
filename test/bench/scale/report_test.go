package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

func job(name, condition string, status metav1.ConditionStatus) trainer.TrainJob {
	var j trainer.TrainJob
	j.Name = name
	j.Status.Conditions = []metav1.Condition{{Type: condition, Status: status, Reason: "Why", Message: "because"}}
	return j
}

func TestCountIsOfOneLook(t *testing.T) {
	s := Side{Tally: bench.Tally{Jobs: 5, Created: 4}}
	all := []trainer.TrainJob{
		job("a", trainer.TrainJobComplete, metav1.ConditionTrue), job("b", trainer.TrainJobFailed, metav1.ConditionTrue),
		job("c", trainer.TrainJobFailed, metav1.ConditionFalse), {},
	}
	s.count(all)
	s.count(all)
	want := bench.Tally{Jobs: 5, Created: 4, Complete: 1, Failed: 1, Failures: []bench.Failure{{Job: "b", Reason: "Why", Message: "because"}}}
	if diff := cmp.Diff(want, s.Tally); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestASideThatWasCutOffIsReported: nothing that is missing keeps the rest from being written, and it says that it is missing.
func TestASideThatWasCutOffIsReported(t *testing.T) {
	s := Side{Tally: bench.Tally{Jobs: 1000, Created: 1000, Complete: 440}, Seconds: 2400, AllJobSetsSeconds: 80}
	s.setError(errors.New("no end within 40m0s"))
	s.settle(platform.Metrics{}, platform.Metrics{}, 2000)
	text, err := json.Marshal(Report{Stock: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"stock":{"error":"no end within 40m0s","jobs":1000,"created":1000,"complete":440,`, `"eventsPerJob":2,`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the JSON lacks %s:\n%s", part, text)
		}
	}
	var out strings.Builder
	Report{Stock: s}.Print(&out)
	for _, part := range []string{"no policy engine", "1000 × 0", "440", "80.0 s", "not in 2400.0 s"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, &out)
		}
	}
}
