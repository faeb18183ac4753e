// Package phase says what an observation means: in which Phase a job is, how it ends, what went wrong first, what it waits for, and when
// something may have to be said although nothing happens. Each fact is computed at most once per pass, by DeriveFacts, from an observe.Observed
// and nothing else. Causes travel as values; what users read is made of them in package status.
//
// Phase is public: it is the one answer to "what is this job doing" for command lines, libraries and dashboards.
package phase
