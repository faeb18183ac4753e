// Package phase judges an observation: in which Phase a job is, how it ends, what went wrong first, what it waits for,
// and when to look again although nothing happens. DeriveFacts takes an observe.Observed and nothing else, and computes
// each answer at most once per pass. Questions that belong together are on one value: Start, Run, Waits, End. Facts adds
// the state that follows from all of them, and what else has to be read. Files begin with the name of their value.
// Causes travel as values; package status makes texts of them.
//
// Phase is public: it is the one answer to "what is this job doing" for command lines, libraries and dashboards.
package phase
