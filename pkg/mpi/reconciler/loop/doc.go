// Package loop brings TrainJobs a step further, one pass at a time: it does the I/O around package job.
//
//	observe → phase.DeriveFacts → decide.Decide → applyChanges → status.Compute → one status patch → events, metrics
//	                                                             (Beside)
//
// What cannot be watched cheaply is read when it matters: Secrets, ConfigMaps, NetworkPolicies, PodGroups and what pods
// name before the JobSet exists and after it has ended, by name and without their content, and warning events while
// pods are missing. A job that waits for a quota asks once, and again when there is room (stillWaits).
//
// Writes are creations, deletions of a known UID, an update of a suspended or resumed JobSet, bound to the version that
// was read, and a patch of the status, bound to the spec and the conditions that were read. Server-side apply is not
// used on purpose: applied over another owner's Secret it would take it over, and with it a key that others know.
// Nothing is decided from a TrainJob that is older than our own last write of its status (jobCache). News that is not
// urgent waits for more (status.DebounceDelay), so that a job costs the API server eight writes from its creation to
// its end; events are not counted.
//
// A companion writes its own network policies, its own conditions and the end of a key, and nothing else.
package loop
