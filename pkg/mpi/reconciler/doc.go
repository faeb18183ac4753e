// Package reconciler runs TrainJobs: it is the rim around package job, and the only one with a client.
//
//	observe → job.Decide → apply → job.Status → one status patch → rendezvous, events, metrics
//
// Watches bring every change, so nothing is polled on the way from a TrainJob to its first rank. What cannot be watched
// cheaply is read when it matters: Secrets, ConfigMaps and NetworkPolicies before the JobSet exists and after it has
// ended, by name and without their content, and warning events while pods are missing. The manager caches no Secret.
//
// Writes are creations, deletions of a known UID, an update of a suspended or resumed JobSet and a patch of the status,
// the last two bound to the version that was read. Server-side apply is not used on purpose: applied over a Secret of
// somebody else it would take it over, and with it a key that others know.
package reconciler
