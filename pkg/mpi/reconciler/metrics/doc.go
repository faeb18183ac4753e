// Package metrics counts what becomes of jobs, reads their states from the cache, and serves both to monitors that may
// read them.
package metrics
