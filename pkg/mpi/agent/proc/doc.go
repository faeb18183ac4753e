// Package proc reads what the kernel tells about processes (proc(5)): who descends from whom, what they have used and
// written, and what they are waiting for.
//
// It takes the folder /proc as a file system, so that all of it can be tested. Processes end while one reads about them:
// what cannot be read is left out, never an error.
package proc
