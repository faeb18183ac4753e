package verdict

import (
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// Evidence is all that is known when the user's command has ended.
type Evidence struct {
	// Argv is the user's command.
	Argv   []string
	Status process.Status
	// Stopped is the signal by which the pod was asked to stop, 0 for none.
	Stopped syscall.Signal
	// Own is the report of the launcher's pod, by its host name, Reports are those of the nodes.
	Own     mpi.NodeReport
	Reports []mpi.NodeReport
	// Admitted is when a launcher inside of the command, such as mpiexec, ended for the last time with an error that the
	// command passed over, zero for never.
	Admitted time.Time
	// Unfinished is the command line of a launcher that still ran some time after the command had ended, or empty.
	Unfinished string
	// SaidLost is when a launcher said for the last time that it lost a launch daemon, zero for never.
	SaidLost time.Time
	// Launches are when the newest launch on each node began, by the first label of its name.
	Launches map[string]time.Time
	// Runtime is the dialect that the runtime is for, empty if it is unknown.
	Runtime mpi.Dialect
	// Asked are the worlds that launches inside of the command asked for, in the order of time.
	Asked []AskedWorld
	// Relaunched reports whether the command launched more than once, also if Asked has but one of these worlds left.
	Relaunched bool
	// Launched is the newest launch inside of the command, as the launcher's pod saw it.
	Launched Launch
	// Losses are what the remote shells noticed, in the order of time.
	Losses []Loss
	// Lines are the last lines of the output of the command.
	Lines []string
	// Table has the addresses of all pods.
	Table mpi.HostTable
	// AllowIdle reports whether a node without ranks is fine.
	AllowIdle bool
	// Stuck is the last launch whose launcher the agent ended because all its ranks had ended, nil for none.
	Stuck *StuckLaunch
	// Hang is why the command was ended before its time, Blocked a connection that nobody answered at the end; nil for none.
	Hang    *Hang
	Blocked *BlockedConnection
	// Ended is when the command ended, Now when this is judged.
	Ended, Now time.Time
}

// Launch is a launch on all nodes inside of the command, as far as the looks of the launcher's pod tell.
type Launch struct {
	// After is the last look at which it did not run, zero when there was none, Seen the first at which it did, zero when nothing has been
	// seen.
	After, Seen time.Time
	// Ended is when its launcher was seen to end, zero (long ago) before and when nobody saw it.
	Ended time.Time
	// Program is the name of its launcher, Line that one's command line.
	Program, Line string
}

// podReports are the reports of the launcher's pod and of the nodes.
func (e Evidence) podReports() []mpi.NodeReport { return append([]mpi.NodeReport{e.Own}, e.Reports...) }

// withPods returns the evidence with other reports.
func (e Evidence) withPods(pods []mpi.NodeReport) Evidence {
	e.Own, e.Reports = pods[0], append([]mpi.NodeReport(nil), pods[1:]...)
	return e
}

// Loss is what an rsh noticed: a node that could not be reached or was lost. The processes of rsh leave losses in a file
// of the launcher's pod, in the order of time, and it is read after the command, because MPI's own messages blame other
// things.
type Loss struct {
	Host    string `json:"host"`
	Address string `json:"address,omitempty"`
	// Error is what happened in plain words, empty where only the launch daemon ended: the connection to the node lasted.
	Error string `json:"error,omitempty"`
	// Daemon is the exit code of a launch daemon that did not end by itself, 0 for none.
	Daemon int `json:"daemon,omitempty"`
	// At is when it was noticed, by the clock of the launcher's machine.
	At time.Time `json:"at,omitzero"`
	// Since is when a node stopped answering that was lost in silence, by the clock of the launcher's machine; zero for
	// one that ended its connection.
	Since time.Time `json:"since,omitzero"`
}

func (l Loss) String() string {
	if l.IsDaemonOnly() {
		return hosts.DescribeHost(l.Host, l.Address) + ": " + describeDaemonEnd(l.Daemon)
	}
	return hosts.DescribeHost(l.Host, l.Address) + ": " + l.Error
}

// IsDaemonOnly reports whether only a launch daemon ended.
func (l Loss) IsDaemonOnly() bool { return l.Daemon != 0 }
