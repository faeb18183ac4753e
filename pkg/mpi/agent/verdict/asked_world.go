package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// AskedWorld is the world that the command line of an MPI launcher asks for. The launcher's shim leaves it in a file.
type AskedWorld struct {
	// PID is the process of the launcher.
	PID int `json:"pid,omitempty"`
	// Line is the command line for a message, Dialect the one that the launcher speaks, empty if it is unknown.
	Line    string      `json:"line"`
	Dialect mpi.Dialect `json:"dialect,omitempty"`
	// Ranks is the number of ranks, 0 for as many as there are slots.
	Ranks int `json:"ranks,omitempty"`
	// Hosts are the hosts of the job that may be used, by the first labels of their names. At least AtLeast of them have to be.
	Hosts   []string `json:"hosts"`
	AtLeast int      `json:"atLeast"`
	// NotRunnable names a program that the system cannot run, and why, by the files of the launcher's pod.
	NotRunnable string `json:"notRunnable,omitempty"`
}

// notRunnable names a program of the newest launch that the system cannot run, and why, or nothing.
func (e Evidence) notRunnable() string {
	if len(e.Asked) == 0 {
		return ""
	}
	return e.Asked[len(e.Asked)-1].NotRunnable
}

// shortfall is a launch that had less than the world that it asked for.
type shortfall struct {
	AskedWorld
	// had describes the world that it got.
	had string
}

// worldShortfall returns the first launch that had less than its world, nil if none had. Each launch starts one daemon on every
// node that it uses. What a launcher admitted and the command passed over was the command's own decision, as in `mpirun -n 8 …
// || mpirun -n 4 …`: then a node counts that was used at all.
func (e Evidence) worldShortfall() *shortfall {
	wanted := map[string]int{}
	for _, asked := range e.Asked {
		nodes := slices.DeleteFunc(slices.Clone(asked.Hosts), func(host string) bool { return host == hosts.FirstLabel(e.Own.Name) })
		needed := asked.AtLeast - (len(asked.Hosts) - len(nodes))
		if missing := e.unusedNodes(nodes, wanted, needed == len(nodes)); len(nodes)-len(missing) < needed {
			return &shortfall{asked, fmt.Sprintf("for ranks on at least %d nodes, and none ran on %s", asked.AtLeast, hosts.ListNames(missing))}
		}
	}
	if world := e.seenWorld(); e.hasOneLaunch() && world > 0 && world < max(e.Asked[0].Ranks, e.Asked[0].AtLeast) {
		return &shortfall{e.Asked[0], fmt.Sprintf("for %d ranks at least, and their world had %d", max(e.Asked[0].Ranks, e.Asked[0].AtLeast), world)}
	}
	return nil
}

// cause returns why the job failed whose runtime is for a dialect.
func (s shortfall) cause(runtime mpi.Dialect) Cause {
	if s.isOtherMPI(runtime) {
		return Cause{Reason: diagnose.MPIVersionMismatch, short: &s}
	}
	return Cause{Reason: mpi.ReasonWorldIncomplete, short: &s}
}

// isOtherMPI reports whether the launcher is known to be of another MPI than the runtime is for.
func (s shortfall) isOtherMPI(runtime mpi.Dialect) bool {
	return s.Dialect != "" && runtime != "" && s.Dialect != runtime
}

// describe continues a sentence about a command that succeeded.
func (s shortfall) describe(runtime mpi.Dialect) string {
	text := fmt.Sprintf(", but its launch `%s` asked %s", s.Line, s.had)
	if s.isOtherMPI(runtime) {
		text += fmt.Sprintf("; the image has %s, and the runtime is for %s", s.Dialect.Product(), runtime.Product())
	}
	return text
}

// unusedNodes returns the nodes without a launch daemon. If launches needed all nodes, each must have one daemon for each of
// them. With one launch, a node without a rank of its world is unused too: Open MPI starts daemons where it places no rank.
func (e Evidence) unusedNodes(nodes []string, wanted map[string]int, all bool) (unused []string) {
	sawAll := e.hasOneLaunch() && e.sawWholeWorld()
	for _, node := range nodes {
		if all && (e.Admitted.IsZero() || wanted[node] == 0) {
			wanted[node]++
		}
		i := slices.IndexFunc(e.Reports, func(r mpi.NodeReport) bool { return hosts.FirstLabel(r.Name) == node })
		if i >= 0 && e.Reports[i].Error == "" && (e.Reports[i].Daemons < max(1, wanted[node]) || sawAll && e.Reports[i].Seen == 0) {
			unused = append(unused, node)
		}
	}
	return unused
}

// hasOneLaunch reports whether all ranks that were seen are of the one world that was asked for.
func (e Evidence) hasOneLaunch() bool { return len(e.Asked) == 1 && !e.Relaunched }

// seenWorld returns the size of the one world whose ranks were seen, 0 if none was or several were.
func (e Evidence) seenWorld() int {
	world := 0
	for _, r := range e.podReports() {
		if r.World != 0 {
			world = MergeWorldSize(cmp.Or(world, r.World), r.World)
		}
	}
	return max(0, world)
}
