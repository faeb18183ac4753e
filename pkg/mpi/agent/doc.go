// Package agent is what runs inside the pods of an MPI job: it replaces sshd, the ssh client and the shell scripts that
// wait for workers. Its entries are packages of their own:
//
//	agent/launch  main process of the launcher: gate, the user's command, verdict
//	agent/node    main process of a node: runs launch daemons, counts them, reports
//	agent/rsh     what mpirun calls: starts a daemon on a node and stays with it
//	agent/probe   measures the network, under mpirun
//
// The protocol is SSH with the key of the job on both sides (package identity). Its two halves are the packages server
// and client; processes are the business of the package process. Who runs, hangs and is gone is seen by package watch, and judged by
// package verdict.
//
// Log lines are written once, for a user, to standard error.
package agent
