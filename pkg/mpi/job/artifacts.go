package job

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Artifacts are a folder of a job that outlives its pods: for checkpoints, models and whatever else the job makes. The
// annotation mpi.ArtifactsAnnotation holds it in YAML.
type Artifacts struct {
	// To is the prefix below which the folder is copied after the end of the job, s3://BUCKET/PREFIX; empty for no
	// copy.
	To string `json:"to,omitempty"`
	// Secret has the credentials for it, under the names that spec.initializer knows. Only the pod that copies has
	// them.
	Secret string `json:"secret,omitempty"`
	// When is the end after which it is copied.
	When ArtifactsWhen `json:"when,omitempty"`
	// Claim is a PersistentVolumeClaim of the namespace; by default mpi.DataClaim.
	Claim string `json:"claim,omitempty"`
	// Folder is the name of the folder; by default no other job has it. Jobs that name the same go on with it.
	Folder string `json:"folder,omitempty"`
}

// ArtifactsWhen names ends of jobs.
type ArtifactsWhen string

// The ends after which artifacts is copied.
const (
	// CopiedIfComplete: if the job is Complete; the default.
	CopiedIfComplete ArtifactsWhen = "Complete"
	// CopiedAlways: also if it has failed.
	CopiedAlways ArtifactsWhen = "Always"
)

// ArtifactsOf returns the artifacts that a TrainJob asks for, or nil. An error is a *Refusal.
func ArtifactsOf(trainJob *trainer.TrainJob) (*Artifacts, error) {
	text, asked := trainJob.Annotations[mpi.ArtifactsAnnotation]
	if !asked {
		return nil, nil //nolint:nilnil // most jobs have none
	}
	var a Artifacts
	if err := yaml.UnmarshalStrict([]byte(text), &a); err != nil {
		return nil, artifactsRefusal("%s: allowed are `to`, `secret`, `when`, `claim` and `folder`, as YAML",
			strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: "))
	}
	a.When = cmp.Or(a.When, CopiedIfComplete)
	a.Claim = cmp.Or(a.Claim, mpi.DataClaim)
	a.Folder = cmp.Or(a.Folder, ArtifactsName(trainJob.Name, trainJob.UID))
	return &a, a.check()
}

// ArtifactsName names what one job makes; no other job has it.
func ArtifactsName(trainJob string, uid types.UID) string {
	const enough = 8
	// Before its creation a job has no UID, and perhaps no name.
	return strings.TrimSuffix(cmp.Or(trainJob, "job")+"-"+string(uid[:min(enough, len(uid))]), "-")
}

func (a Artifacts) check() error {
	wrong := func(errors []string) bool { return len(errors) > 0 }
	switch {
	case a.To != "" && !isPrefix(a.To):
		return artifactsRefusal("`to` is `%s`: want s3://BUCKET or s3://BUCKET/PREFIX, without spaces, other letters than "+
			"ASCII, `%%`, and empty or dotted folders", a.To)
	case a.To == "" && a.Secret != "":
		return artifactsRefusal("`secret` is `%s`, and `to` is missing: want s3://BUCKET/PREFIX", a.Secret)
	case a.When != CopiedIfComplete && a.When != CopiedAlways:
		return artifactsRefusal("`when` is `%s`: want %s or %s", a.When, CopiedIfComplete, CopiedAlways)
	case a.Secret != "" && wrong(validation.IsDNS1123Subdomain(a.Secret)):
		return artifactsRefusal("`secret` is `%s`: want the name of a Secret", a.Secret)
	case wrong(validation.IsDNS1123Subdomain(a.Claim)):
		return artifactsRefusal("`claim` is `%s`: want the name of a PersistentVolumeClaim", a.Claim)
	case wrong(validation.IsDNS1123Subdomain(a.Folder)):
		return artifactsRefusal("`folder` is `%s`: want lower-case letters, digits, dashes and dots", a.Folder)
	}
	return nil
}

// isPrefix reports whether a text is a bucket of S3 or a prefix, written as objects below it are named.
func isPrefix(text string) bool {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || *at != (url.URL{Scheme: "s3", Host: at.Host, Path: at.Path}) {
		return false
	}
	return strings.TrimSuffix(at.Path, "/") == strings.TrimSuffix(path.Clean("/"+at.Path), "/")
}

// IsCopied reports whether a job with this end has its artifacts copied.
func (a Artifacts) IsCopied(complete bool) bool {
	return a.To != "" && (complete || a.When == CopiedAlways)
}

// Destination is the prefix that the artifacts of one job are copied to.
func (a Artifacts) Destination(trainJob string, uid types.UID) string {
	return strings.TrimSuffix(a.To, "/") + "/" + ArtifactsName(trainJob, uid)
}

func artifactsRefusal(format string, args ...any) *Refusal {
	return newRefusal(diagnose.InvalidArtifacts, "the annotation "+mpi.ArtifactsAnnotation+": "+format, args...)
}

// artifactsFor returns the artifacts of a TrainJob, refused if the runtime is not one of ours.
func artifactsFor(trainJob *trainer.TrainJob, runtime Runtime) (*Artifacts, error) {
	a, err := ArtifactsOf(trainJob)
	if err == nil && a != nil && !runtime.IsCompiled() {
		err = artifactsRefusal("the runtime was not compiled by Lockstep: mount a claim into its pods instead")
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}
