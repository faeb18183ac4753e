// Package decide turns the facts of a job into a Decision: which objects to create, delete or change, what to tell the launcher, and when to
// look again. It judges nothing itself, and does not know what users are told.
package decide
