// Package waiting tells how long each rank of a job is inside of MPI, and which rank keeps the others waiting there. A library that the ranks get
// by LD_PRELOAD (library/waiting.c) counts it, in a file for each rank, which is read while the rank runs and after its end. Programs of the user
// can write those files: what is read of them is bounded, and only numbers come out.
package waiting
