// Package launch is the agent of the launcher: it waits for the table of hosts (hostTableReceiver), passes the gate, runs the user's command while
// others look after it (package watch), asks the nodes what ran there, and has it judged (package verdict).
package launch
