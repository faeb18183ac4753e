// Package reconciler is mpi-controller without its command line: Run runs TrainJobs, or stands beside Kubeflow Trainer,
// which runs them (Mode). It waits in its process for what may pass by itself, alive and not ready, and ends only with
// its lease.
//
// Only this package and its rooms have a client. A room knows the loop at most, so every arrow begins or ends there;
// this package puts them together:
//
//	{events, launchers, metrics, queues} ← loop ← {watch, webhook}        lead        retention
package reconciler
