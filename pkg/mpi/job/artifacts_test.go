package job_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

func keeps(text string) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		trainJob.Annotations = map[string]string{mpi.ArtifactsAnnotation: text}
	}
}

func TestArtifacts(t *testing.T) {
	made, err := job.Resolve(trainJobOf(keeps("to: s3://models/runs/\nsecret: bucket\n")), *runtimeOf(false))
	if err != nil {
		t.Fatal(err)
	}
	name := job.ArtifactsName(made.Name, made.UID)
	if name == made.Name || !strings.HasPrefix(name, made.Name+"-") {
		t.Errorf("another job of this name would write to the same place: %s", name)
	}
	for _, set := range desired.PodSets(desired.JobSet(made)) {
		main := job.MainContainer(&set.Spec)
		i := slices.IndexFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == mpi.ArtifactsDir })
		if i < 0 || main.VolumeMounts[i].SubPath != "artifacts/"+name || main.VolumeMounts[i].ReadOnly {
			t.Errorf("pods of %s cannot write to the folder of the job: %v", set.Name, main.VolumeMounts)
		}
		if !slices.ContainsFunc(main.Env, func(v corev1.EnvVar) bool { return v.Name == mpi.ArtifactsVariable }) {
			t.Errorf("pods of %s do not know the folder", set.Name)
		}
		if len(main.EnvFrom) > 0 {
			t.Errorf("pods of %s get the key", set.Name)
		}
	}
	copying := desired.ArtifactsJob(made, "{}").Spec.Template.Spec
	container := copying.Containers[0]
	uri := container.Env[slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == mpi.StorageURI })]
	if uri.Value != "s3://models/runs/"+name || container.EnvFrom[0].SecretRef.Name != "bucket" {
		t.Errorf("it is copied to %s with %v", uri.Value, container.EnvFrom)
	}
	named := desired.ArtifactsJob(made, "echo $(SECRET_ACCESS_KEY) $$").Spec.Template.Spec.Containers[0].Env
	if run := named[slices.IndexFunc(named, func(v corev1.EnvVar) bool { return v.Name == mpi.RunVariable })]; run.Value !=
		"echo $$(SECRET_ACCESS_KEY) $$$$" {
		t.Errorf("a command that names a variable would bring the key into the bucket: %s", run.Value)
	}
	if m := container.VolumeMounts[0]; !m.ReadOnly || m.SubPath != "artifacts/"+name {
		t.Errorf("the pod that copies has more than the folder of the job: %v", m)
	}
	if found := desired.References(made); !slices.Contains(found, job.ObjectReference{Kind: "Secret", Name: "bucket"}) ||
		!slices.Contains(found, job.ObjectReference{Kind: "PersistentVolumeClaim", Name: mpi.DataClaim}) {
		t.Errorf("a job that lacks key or claim would find out at its end: %v", found)
	}
}

func TestArtifactsAreRefused(t *testing.T) {
	for text, part := range map[string]string{
		"to: gs://bucket":                    "s3://BUCKET",
		"to: s3://key:secret@bucket":         "s3://BUCKET",
		"to: s3:///prefix":                   "s3://BUCKET",
		"to: s3://bucket/../other":           "s3://BUCKET",
		"to: s3://bucket/a/./b":              "s3://BUCKET",
		"to: s3://bucket//":                  "s3://BUCKET",
		"to: s3://bucket/my runs":            "without spaces",
		"secret: bucket":                     "`to` is missing",
		"{to: s3://b, when: Sometimes}":      "Complete or Always",
		"{to: s3://b, secret: No Name}":      "name of a Secret",
		"folder: ../other":                   "lower-case",
		"folder: a/b":                        "lower-case",
		"claim: /etc":                        "PersistentVolumeClaim",
		"too: s3://b":                        "allowed are",
		"to: [s3://b]":                       "allowed are",
		"s3://b":                             "allowed are",
		"{folder: a, folder: b}":             "allowed are",
		strings.Repeat("[", 1000):            "allowed are",
		"a: &a [x,x]\nb: [*a,*a,*a]\nto: x:": "allowed are",
	} {
		_, err := job.Resolve(trainJobOf(keeps(text)), *runtimeOf(false))
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), mpi.ArtifactsAnnotation) {
			t.Errorf("%.40q: %v, want %s", text, err, part)
		}
	}
	for _, text := range []string{
		"", "folder: run-7", "to: s3://b", "to: s3://b/p/q/", "{to: s3://b/p, when: Always, claim: mine}",
	} {
		if _, err := job.Resolve(trainJobOf(keeps(text)), *runtimeOf(false)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	before := trainJobOf(keeps(""))
	before.UID = ""
	if _, err := job.Resolve(before, *runtimeOf(false)); err != nil {
		t.Errorf("a job that does not exist yet: %v", err)
	}
}
