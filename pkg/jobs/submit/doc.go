// Package submit makes a TrainJob of what a user asks for: a runtime, a number of nodes, a command, and the files that it needs.
//
// It is pure: files come as an fs.FS, and which runtimes and queues there are is passed in. Whether the job fits is the business of
// preflight, whether it is allowed that of the cluster.
package submit
