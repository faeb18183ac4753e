// Package job turns a TrainJob and its runtime into objects, and what became of those objects into a status.
//
// The flow is Observed → Decide → Decision → Status. Package reconciler reads everything into Observed, carries out the
// Decision and writes the Status. Nothing here talks to an API server, and time and randomness are parameters, so every
// case is a table test.
//
// Invariants:
//   - An object that this TrainJob does not own is never changed. Objects are created, not applied: server-side apply
//     would take over a Secret that somebody else put under our name.
//   - Whatever the pods need (key, hostfile, network policies, PodGroup) stands before the JobSet, and what they name exists.
//     Quota and limits admit all of them together, or none is made.
//   - A job goes on, after a suspension or a restart, with the runtime that it was made from, which the annotation of its key
//     vouches for. One that was never started is made from the runtime of today.
//   - Nothing of a job is made after its end has been told, and its JobSet goes only after that. Its key goes with every end.
//   - Ages count from when this process saw something first (Memory), never from what other clocks wrote.
//   - A terminal condition is final. All other conditions follow from this pass's observation; of the earlier ones only
//     the transition times are kept, that the job was suspended once, that all its pods were ready, which of them it lost
//     first, and that a launcher which still runs passed its gate, which it may have told to an earlier controller.
//   - Messages hold no times and no counters that move while nothing happens, so that a pass without news writes nothing.
package job
