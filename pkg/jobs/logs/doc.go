// Package logs reads the output of the pods of a job and puts it into one order by time, so that nothing is lost and nothing is shown
// twice, whatever becomes of connections, containers and pods meanwhile.
//
// A log is read through Cluster, whose implementation for Kubernetes is podlogs. Each container has a sourceReader that begins again where it
// was when its stream ends early (sourceReader, replayWindow), and LineMerge gives out the lines of all readers in order. What this package must not
// know: commands, terminals, and how an API server is asked.
//
// What no reader can bring back: kubelet serves the file that it writes now and no rotated one, one earlier run of a container, and
// nothing of a pod that is gone. Where output is missing for such a reason it is said, by Options.Note.
package logs
