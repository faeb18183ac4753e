// Package agent is what runs inside the pods of an MPI job: it replaces sshd, the ssh client and the shell scripts that
// wait for workers.
//
//	launcher: run   waits for the table of hosts (rendezvous), passes the gate, runs the user's command, collects the
//	                nodes' reports and leaves a verdict
//	node:     serve answers the launcher: runs launch daemons, counts them, reports
//	mpirun:   rsh   starts a daemon on a node and stays with it
//
// The protocol is SSH with the key of the job on both sides (package identity). Its two halves are the packages server
// and client; processes are the business of the package process. This package puts them together and holds the rules of
// a job: the gate, the verdict, what counts as a launch daemon.
//
// Whoever writes a log line writes it once, for a user, to standard error.
package agent
