// Package program knows the programs of MPI launches, and of launchers without MPI, by command lines and by names of processes: what starts
// ranks, what is a daemon, what a code of one means, which files are
// no programs. It looks at no process.
package program
