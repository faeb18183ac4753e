// Package reconciler runs TrainJobs, or stands beside Kubeflow Trainer, which runs them (Mode): it does the I/O around package
// job, and the only one with a client.
//
//	observe → phase.DeriveFacts → decide.Decide → applyChanges → status.Compute → one status patch → events, metrics
//	                                                             (Beside)
//
// Watches bring every change, so nothing is polled on the way from a TrainJob to its first rank. What cannot be watched
// cheaply is read when it matters: Secrets, ConfigMaps, NetworkPolicies, PodGroups and what pods name before the JobSet exists
// and after it has ended, by name and without their content, and warning events while pods are missing. A job that waits for a
// quota asks once, and again when there is room (stillWaits). Of jobs that wait in Kueue's queues each queue is asked about, every
// 10 s, and not each job (Watcher). The manager caches no Secret.
//
// Writes are creations, deletions of a known UID, an update of a suspended or resumed JobSet, bound to the version that was
// read, and a patch of the status, bound to the spec and the conditions that were read. Server-side apply is not used on purpose: applied over a Secret of
// somebody else it would take it over, and with it a key that others know. Nothing is decided from a TrainJob that is older
// than our own last write of its status (jobCache). News that is not urgent waits for more (status.DebounceDelay), so that a job costs the
// API server eight writes from its creation to its end; events are not counted. Changes of pods are a pass when something
// happens to one, or when all have come a step further (watch_handlers.go, gang_counts.go), so that a wide job costs no more passes than a
// small one.
//
// A companion writes its own network policies, its own conditions and the end of a key, completes pods when they are made
// (podWebhook), and nothing else. A policy is made by the first pass, or when the first pod is about to be made, whichever is sooner. An executor waits while Kubeflow Trainer runs (TrainerWatch).
//
// Run waits in its process for what may pass by itself, alive and not ready (Checks, Probes), and ends only with its lease.
package reconciler
