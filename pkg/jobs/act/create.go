package act

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/jobs/view"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// StartRefusal is the reason why none of several jobs was made: one of them can never start.
type StartRefusal struct{ cause error }

// Error returns the reason.
func (r *StartRefusal) Error() string { return fmt.Sprintf("nothing was made: %v", r.cause) }

// Unwrap returns the reason without what became of the jobs.
func (r *StartRefusal) Unwrap() error { return r.cause }

// CheckStart returns a StartRefusal if one of the jobs can never start, and warnings of runtimes that retire. A
// runtime that cannot be read refuses nothing.
func CheckStart(ctx context.Context, c client.Reader, jobs ...*trainer.TrainJob) (warnings []string, err error) {
	known := map[string]*mpijob.Runtime{}
	for _, trainJob := range jobs {
		ref := trainJob.Spec.RuntimeRef
		key := trainJob.Namespace + " " + ptr.Deref(ref.Kind, "") + " " + ref.Name
		runtime, read := known[key]
		if !read {
			runtime, _ = fetch.RuntimeOf(ctx, c, trainJob) // nil with an error
			known[key] = runtime
			if runtime != nil && runtime.Deprecation().Deprecated {
				warnings = append(warnings, runtime.Deprecation().Warning(ref.Name))
			}
		}
		if runtime == nil {
			continue
		}
		if err := validate.CanStart(trainJob, *runtime); err != nil {
			return nil, &StartRefusal{err}
		}
	}
	return warnings, nil
}

// Sign writes the name of the user into jobs, for lists by owner. If the API server does not give the name, it is left
// out.
func Sign(ctx context.Context, c client.Writer, jobs ...*trainer.TrainJob) {
	user, err := fetch.UserName(ctx, c)
	if err != nil {
		return
	}
	for _, trainJob := range jobs {
		metav1.SetMetaDataAnnotation(&trainJob.ObjectMeta, view.UserAnnotation, user)
	}
}
