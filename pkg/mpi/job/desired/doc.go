// Package desired builds the objects that a job needs, one kind per file, from a job.Job and nothing else. It does not know what exists.
package desired
