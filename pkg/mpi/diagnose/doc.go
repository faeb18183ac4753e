// Package diagnose says why an MPI job failed or does not start: one reason of a closed list, one sentence with evidence,
// and what to do about it. Condition, event, command line, SDK and dashboard show the same text (Cause.Text).
//
// The flow is observation → rules → Cause. Observations are what the control plane shows of pods (Pod), the words of the
// API server about pods that it refuses, what the launcher's agent says (mpi.GateResult, mpi.Verdict), and what a program
// printed (FindInOutput). A rule looks at one observation and gives a Cause or nothing; FirstCause and StartProblem choose among them.
//
// Invariants:
//   - A reason that is given stands in Entries, which is also what docs/failures is made of.
//   - The first cause in time wins. Kubernetes keeps times to the second: within one, the order of precedence decides.
//   - Messages hold no times and nothing that changes from pass to pass while nothing happens.
//   - Nothing here reads a clock, a file or a network, and no Kubernetes package is imported: the agent, which is copied
//     into every pod, uses this package too.
package diagnose
