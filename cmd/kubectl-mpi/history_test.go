package main

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/mpi"
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

// JobSet deletes the pods of nodes when a job is over: what they printed comes from the history, in one order.
func TestMergedLogsOfAnEndedJob(t *testing.T) {
	s := newAPIServer(t)
	s.addJob(t, metav1.Condition{Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue})
	s.addPod("train-launcher-0-0-x", mpi.LauncherJob, "2026-03-01T12:00:00Z live\n")
	pod := func(role string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: role, Labels: map[string]string{mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: "0"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container}}},
		}
	}
	job := kept.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train-uid", Namespace: "team", UID: "uid"}, TrainJob: "train",
		Log:     kept.Log{Bytes: 9, Whole: true},
		Objects: &kept.Objects{Pods: []corev1.Pod{pod(mpi.LauncherJob), pod(mpi.NodeJob)}},
	}
	collection := "/apis/" + kept.GroupVersion.String() + strings.TrimSuffix(team, "/") + "/keptjobs"
	s.objects[collection+"/train-uid/log"] = "2026-03-01T12:00:00.000000000Z launcher/node begins\n" +
		"2026-03-01T12:00:01.000000000Z node/node serves\n"
	const all = "launcher| begins\nnode-0| serves\n"
	for _, c := range []struct {
		flags string
		whole bool
		uid   types.UID
		want  string
	}{
		{"--merge", true, "uid", all},
		{"--role all", true, "uid", all},
		{"--role node", true, "uid", "node-0| serves\n"},
		{"--role launcher", true, "uid", "live\n"},
		{"--merge", false, "uid", "launcher| live\n"},
		{"--merge", true, "another", "launcher| live\n"},
	} {
		job.Log.Whole, job.UID = c.whole, c.uid
		s.objects[collection], s.objects[collection+"/train-uid"] = kept.JobList{Items: []kept.Job{job}}, job
		code, out, errOut := s.command(t, append([]string{"logs", "train"}, strings.Fields(c.flags)...)...)
		if code != 0 || out != c.want {
			t.Errorf("%+v: ended with %d: %q, want %q; %s", c, code, out, c.want, errOut)
		}
	}
}
