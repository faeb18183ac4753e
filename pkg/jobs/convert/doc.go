// Package convert turns MPIJobs of kubeflow/mpi-operator into TrainJobs of compiled runtimes, and says of every value of an MPIJob what
// became of it.
//
// The flow is ReadInput (text to jobs with places) → Convert (one job, with a catalog) → WriteText, or the values themselves. A job becomes a
// TrainJob; where the catalog has no runtime that fits, the specs of one that would come with it (SpecFile), and count for the jobs after it.
//
// Nothing is dropped in silence. Whatever converts a value claims its path in a log of outcomes, and what nobody has claimed in the end is reported
// as not possible. Fields that mpi-operator does not know are reported as such, because a mistyped field never had an effect.
//
// What mpi-operator does with a field was read in its v0.8.0 (pkg/apis/kubeflow/v2beta1, pkg/controller), what a TrainJob may ask for is
// that of the platform's admission policy (docs/admission.md).
//
// The package is pure: it reads no file, asks no cluster and has no clock.
package convert
