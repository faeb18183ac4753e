package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/jobs/kept"
)

func TestHistoryTable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ended := &metav1.Time{Time: now.Add(-5 * time.Minute)}
	jobs := []kept.Job{
		{TrainJob: "a", User: "jane", State: "Failed", Ended: ended, Log: kept.Log{Bytes: 1536}},
		{TrainJob: "b", Ended: ended},
		{TrainJob: "c", Log: kept.Log{Bytes: 12 << 20}},
	}
	for i := range jobs {
		jobs[i].Name = jobs[i].TrainJob + "-1"
	}
	var out strings.Builder
	if err := writeKept(&out, jobs, now); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	const want = `JOB STATE USER ENDED LOG NAME
a Failed jane 5m ago 1.50 KiB a-1
b Deleted 5m ago 0 B b-1
c Running - 12 MiB c-1`
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
