package main

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/mpi"
)

// The history is not the only place that knows a job.
func TestAPurgeNamesTheArtifacts(t *testing.T) {
	s := newAPIServer(t)
	trainJob := jobOf("train", func(trainJob *trainer.TrainJob) {
		ended(trainer.TrainJobComplete, "Completed", "done")(trainJob)
		text, err := json.Marshal(jobv1.Record{
			Version: jobv1.Version, UID: trainJob.UID, Executor: jobv1.Controller, Phase: jobv1.Complete,
			Artifacts: &jobv1.Artifacts{Claim: "c", Folder: "f", To: "s3://models/runs/train-1", State: jobv1.CopyDone},
		})
		if err != nil {
			t.Fatal(err)
		}
		trainJob.Annotations = map[string]string{jobv1.Annotation: string(text)}
	})
	listed := kept.Job{ObjectMeta: metav1.ObjectMeta{Name: "train-uid", Namespace: "team"}, TrainJob: "train"}
	collection := "/apis/" + kept.GroupVersion.String() + strings.TrimSuffix(team, "/") + "/keptjobs"
	s.objects[collection] = kept.JobList{Items: []kept.Job{listed}}
	listed.Objects = &kept.Objects{TrainJob: trainJob}
	s.objects[collection+"/train-uid"] = listed
	code, out, errOut := s.command(t, "history", "delete", "train")
	for _, want := range []string{
		"keptjob/train-uid deleted", "artifacts/f of claim c", "--artifacts folder=f,claim=c",
		"copy at s3://models/runs/train-1",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("ended with %d: no %q in %q; %s", code, want, out, errOut)
		}
	}
}

func TestArtifactsAreShown(t *testing.T) {
	keeps := func(trainJob *trainer.TrainJob) {
		trainJob.Annotations = map[string]string{mpi.ArtifactsAnnotation: "to: s3://models/runs"}
	}
	failed := func(trainJob *trainer.TrainJob) {
		ended(trainer.TrainJobComplete, "Completed", "done")(trainJob)
		text, err := json.Marshal(jobv1.Record{
			Version: jobv1.Version, UID: trainJob.UID, Executor: jobv1.Controller, Phase: jobv1.Complete,
			Artifacts: &jobv1.Artifacts{
				Claim: "c", Folder: "f", To: "s3://models/runs/b-1", State: jobv1.CopyFailed, Message: "HTTP 403",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		trainJob.Annotations[jobv1.Annotation] = string(text)
	}
	objects := []client.Object{jobOf("a", keeps), jobOf("b", keeps, failed)}
	for _, c := range []struct{ command, job, want string }{
		{"artifacts", "a", "copied to s3://models/runs/a"},
		{"artifacts", "b", "not copied to s3://models/runs/b-1: HTTP 403"},
		{"why", "b", "Its artifacts are not copied to s3://models/runs/b-1: HTTP 403"},
	} {
		if got := runWith(t, objects, interceptor.Funcs{}, c.command, c.job); !strings.Contains(got.out, c.want) {
			t.Errorf("%s %s: %s%s", c.command, c.job, got.out, got.errOut)
		}
	}
}
