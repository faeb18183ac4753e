// Package jobs is the home of what every front end shares: the command line, a dashboard, and as test vectors the Python package. Each
// package below it answers one question, and none of them knows who asks: no cobra, no cli-runtime, no terminal.
//
//	view       what one job is: phase and since when, cause, pods, queue, times
//	fetch      the objects that the others judge, read with the rights of whoever asks
//	apierror   why the API server did not do what it was asked for
//	logs       the output of all pods in one order by time; logs/podlogs asks kubelet
//	submit     what a user asks for becomes a TrainJob, or one like another
//	validate   what is wrong with TrainJobs in a file, and where
//	preflight  whether a job would fit, wait or never run, before it exists
//	compare    what differed between two runs
//	bundle     an archive for somebody who helps, without secrets
//	convert    MPIJobs of mpi-operator as TrainJobs, and what became of each value
//
// All but fetch and podlogs are pure (logs has goroutines and a clock): objects go in, and time is a parameter. The words of a cause are
// those of the controller's conditions, taken as they stand; nothing here explains a failure a second time.
package jobs
