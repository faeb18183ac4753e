package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// Need is an object of the namespace that a job names.
type Need struct {
	// Kind is Secret or PersistentVolumeClaim.
	Kind, Name string
	field      string
}

// Needs returns the claims and Secrets that a job names. A missing claim keeps pods pending, and a missing Secret shows
// after hours of training only.
func (d Document) Needs(runtime mpijob.Runtime) []Need {
	made, err := mpijob.Resolve(d.Job, runtime)
	if err != nil {
		return nil
	}
	var needs []Need
	add := func(kind, name, field string) {
		if name != "" && !slices.ContainsFunc(needs, func(n Need) bool { return n.Kind == kind && n.Name == name }) {
			needs = append(needs, Need{kind, name, field})
		}
	}
	for _, data := range made.Data {
		field := "spec.initializer." + strings.TrimSuffix(data.Step, "-initializer")
		add("Secret", data.Secret, field+".secretRef")
		if data.Pod == nil {
			claim := data.Claim
			if data.IsFetched() {
				claim = mpi.DataClaim
			}
			add("PersistentVolumeClaim", claim, field+".storageUri")
		}
	}
	if a := made.Artifacts; a != nil {
		add("Secret", a.Secret, "metadata.annotations")
		add("PersistentVolumeClaim", a.Claim, "metadata.annotations")
	}
	for _, replicated := range made.Template.Spec.ReplicatedJobs {
		for _, v := range replicated.Template.Spec.Template.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, "spec.runtimePatches")
			}
		}
	}
	return needs
}

// Missing warns of a Need that the namespace lacks: it may come with the job, or after it.
func (d Document) Missing(n Need) Finding {
	help := "make it, or correct the name"
	if n.Name == mpi.DataClaim {
		help = "ask the platform admins for it: it is a line of `storage` in the spec of the tenant"
	}
	f := d.warningAt(n.field, fmt.Sprintf("namespace `%s` has no %s `%s`", d.Job.Namespace, n.Kind, n.Name), help)
	return f
}

// jobAnnotations are the annotations of TrainJobs with a meaning here.
var jobAnnotations = []string{
	mpi.ArtifactsAnnotation, mpi.TraceAnnotation, mpi.UserAnnotation, mpi.FingerprintAnnotation, jobv1.Annotation,
}

// unknownAnnotations warns of annotations in our name that nothing reads, as a typo is.
func (d Document) unknownAnnotations() (found []Finding) {
	for _, name := range slices.Sorted(maps.Keys(d.Job.Annotations)) {
		if !strings.HasPrefix(name, "lockstep.dev/") || slices.Contains(jobAnnotations, name) {
			continue
		}
		f := d.warningAt("metadata.annotations", fmt.Sprintf("the annotation `%s` has no meaning on a TrainJob", name), "")
		if near, is := diag.Nearest(name, jobAnnotations); is {
			f.Help = fmt.Sprintf("did you mean `%s`?", near)
		}
		found = append(found, f)
	}
	return found
}
