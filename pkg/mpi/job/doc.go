// Package job is one TrainJob with its runtime resolved, and the vocabulary of the packages under it. One value flows through them, and
// nobody asks an earlier room again:
//
//	observe   what the API server and the agents said
//	phase     what follows from that, computed once: the phase of the job, what ends it, what it waits for
//	decide    what to do about it
//	desired   the objects that a job needs, one per file; decide has them made
//	status    what is told of it; text is made here
//	kueue     what Kueue says of a job that waits in a queue
//
// Package reconciler reads everything into observe.Observed, carries out the decide.Decision and writes the status. Nothing here talks to an
// API server, and time and randomness are parameters, so every case is a table test. The tests of what only several rooms do together,
// most of them, stand here.
//
// Invariants:
//   - An object that this TrainJob does not own is never changed. Objects are created, not applied: server-side apply
//     would take over a Secret that somebody else put under our name.
//   - Whatever the pods need (key, hostfile, network policies, PodGroup) stands before the JobSet, and what they name exists.
//     Quota and limits admit all of them together, or none is made.
//   - A job goes on, after a suspension or a restart, with the runtime that it was made from, which the annotation of its key
//     vouches for. One that was never started is made from the runtime of today.
//   - Nothing of a job is made after its end has been told, and its JobSet goes only after that. Its key goes with every end.
//   - Ages count from when this process saw something first (observe.History), never from what other clocks wrote.
//   - A terminal condition is final. All other conditions follow from this pass's observation; of the earlier ones only
//     the transition times are kept, that the job was suspended once, that all its pods were ready, which of them it lost
//     first, and that a launcher which still runs passed its gate, which it may have told to an earlier controller.
//   - Messages hold no times and no counters that move while nothing happens, so that a pass without news writes nothing.
package job
