// Package fetch does the I/O of pkg/jobs: it reads from an API server what the packages beside it judge, in as few requests as possible, with the
// rights of whoever asks. What somebody may not read is noted (Withheld) and not an error, unless nothing can be said without it.
package fetch
