// Package overview shows a cluster by its jobs: what each holds and since when, which jobs wait and in which order, why
// jobs failed, and what a month cost.
//
// Flow: fetch.ReadOverview reads an Input with the rights of a user → Of judges it. Each number comes from the function
// that a command prints it from: jobs from view (`kubectl mpi list`), requests from desired (`kubectl mpi preflight`),
// costs from pkg/cost (`runtime-compiler cost`). The package is pure.
package overview
