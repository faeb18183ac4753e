// Package mpi holds everything that is true about an MPI job on Kubernetes, and nothing else: the arithmetic of the
// world, hostfiles and environment in the dialect of each implementation, the shape of a runtime, the objects that a
// job needs, and what the state of those objects means.
//
// The compiler (pkg/compile/lower) and the controller (pkg/mpi/reconciler) both build from this package, so that no
// shape exists twice; the agent (pkg/mpi/agent) shares the records that travel between pods and controller.
//
// The package is pure. It has no client, no clock, no environment and no randomness of its own: what changes from
// call to call is a parameter.
package mpi
