// Package state is what the agents' processes of one pod leave for each other in files: where those are (Settings), the table of hosts,
// and the names of the pods in /etc/hosts. Each file is whole at every moment, or grows by whole lines.
package state
