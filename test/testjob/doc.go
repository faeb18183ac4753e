// Package testjob runs one TrainJob on a cluster as a user would and reports what the user saw: the ranks in the launcher's
// log, the seconds until the first of them, the machines, the restarts, the end.
//
// It reads only what an editor of the namespace may read, and it judges nothing: Result.Check does, on the facts.
package testjob
