// Package process starts commands and knows how they ended. It knows nothing of SSH.
//
// The agent is PID 1 of its pod, or behaves like it: orphans become its children and must be reaped. One goroutine, the
// Reaper, owns every wait of the operating system process; everybody else hears from it. Nobody may use os/exec or
// os.Process.Wait beside it: two waiters would steal each other's results.
//
// Every process is the leader of a process group of its own, so that it can be ended together with its children.
package process
