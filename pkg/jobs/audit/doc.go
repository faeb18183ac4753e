// Package audit reads from the audit log of an API server what became of TrainJobs: who made, changed, suspended and deleted each, how far it
// came and how it ended. The log needs the rules of docs/audit-policy.yaml; it is the only record that outlives TrainJobs, and nobody who runs jobs can
// change it.
//
// Flow: ReadEvents yields events → History.Add makes steps of those that are about TrainJobs.
package audit
