package submit

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// setArtifacts gives a job a folder that outlives its pods: s3://BUCKET/PREFIX, or the fields of job.Artifacts as
// NAME=VALUE, with commas between them. An empty text takes it away.
func setArtifacts(trainJob *trainer.TrainJob, text string) error {
	if text == "" {
		delete(trainJob.Annotations, mpi.ArtifactsAnnotation)
		return nil
	}
	written, err := artifactsYAML(text)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&trainJob.ObjectMeta, mpi.ArtifactsAnnotation, written)
	_, err = job.ArtifactsOf(trainJob)
	return err
}

// artifactsYAML is the annotation that such a text stands for.
func artifactsYAML(text string) (string, error) {
	fields := map[string]string{}
	for word := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(word, "=")
		if strings.HasPrefix(word, "s3://") {
			name, value, found = "to", word, true
		}
		if _, twice := fields[name]; twice || !found {
			return "", fmt.Errorf("`%s`: want s3://BUCKET/PREFIX, or each of to, secret, when, claim and folder once, as "+
				"NAME=VALUE with commas between them", word)
		}
		fields[name] = value
	}
	written, err := yaml.Marshal(fields)
	return string(written), err
}

// artifactsText is the text that stands for an annotation, which job.ArtifactsOf has read.
func artifactsText(annotation string) string {
	var a job.Artifacts
	if yaml.Unmarshal([]byte(annotation), &a) != nil {
		return ""
	}
	var words []string
	for _, field := range [][2]string{
		{"", a.To}, {"secret=", a.Secret}, {"when=", string(a.When)}, {"claim=", a.Claim}, {"folder=", a.Folder},
	} {
		if field[1] != "" {
			words = append(words, field[0]+field[1])
		}
	}
	return strings.Join(words, ",")
}

// Resume lets a job go on with the artifacts of another one.
func Resume(next, old *trainer.TrainJob) error {
	was, err := job.ArtifactsOf(old)
	switch {
	case err != nil:
		return err
	case was == nil:
		return fmt.Errorf("%s has no artifacts that could be gone on with: submit it with --artifacts", old.Name)
	}
	var kept job.Artifacts
	if err := yaml.Unmarshal([]byte(next.Annotations[mpi.ArtifactsAnnotation]), &kept); err != nil {
		return err
	}
	kept.Folder, kept.Claim = was.Folder, was.Claim
	text, err := yaml.Marshal(kept)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, mpi.ArtifactsAnnotation, string(text))
	return nil
}
