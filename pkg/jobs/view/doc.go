// Package view says what one job is: its phase and since when, what keeps it or ended it, its pods, slots, queue and times. It is a pure
// function of objects (JobOf), for every front end alike.
//
// The words of a cause are those of the controller's conditions, unchanged. Where no mpi-controller looks after a job, a cause is what package
// diagnose finds in its pods, and Cause.Source says so. What cannot be known, because nobody says it or the reader lacks a right, is listed in
// Job.Unknown and never guessed.
package view
