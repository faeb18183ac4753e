// Package v1 holds the record of a run: all that is known of one TrainJob, typed, as mpi-controller writes it and
// every front end reads it. It grows by optional fields; none changes its meaning.
//
// The record informs and decides nothing: users may write annotations.
package v1
