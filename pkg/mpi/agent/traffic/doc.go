// Package traffic reads what the ranks of a job have sent to each other, as Open MPI's monitoring component counts it
// (pml_monitoring_filename), and says it in a few lines. Programs of the user write those files: what is read of them is bounded, and only
// numbers come out.
package traffic
