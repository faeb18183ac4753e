// Command faults injects faults into real jobs on the real local cluster, and looks at what a user is told.
//
// Duty: for each fault of the catalog and each run, one row: the reason that was reported, whether it was right, the
// seconds from the fault to the condition, how the job ended, and what was left behind. It writes the rows as JSON and, with
// -markdown, as the table of docs/faults.md. What breaks in the launch itself has a row for each MPI implementation.
//
// Flow of a run: prepare the cluster → create the job → wait until its ranks run, if the fault comes then → inject →
// watch the conditions until the wanted one or a final one is there → watch until the job has ended, unless it is to wait →
// count what stays → undo → delete the job and count again.
//
// A row is right when the reason is one of the fault's, the message names whom the fault hit (worker, rank, machine), and the
// job then ended for such a reason too, or waits, or completed, as the catalog says.
//
// Invariants: nothing is simulated: processes are killed on their machines, packets dropped by the kernel, pods evicted
// by the API server. A fault that is not named rightly gives a row that says so, never an error; an error means that the
// run could not be made. The cluster is as before after each run.
package main
