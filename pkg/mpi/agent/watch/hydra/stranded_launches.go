package hydra

import (
	"cmp"
	"context"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// Where all ranks that a proxy of Hydra started are gone before they came to MPI_Init, and before anybody saw them, the proxy ends
// with 0, and nobody waits on its node. The ranks of the other nodes wait for those forever. Only all pods together prove that:
//
//   - A node has been left: its remote shell ended with 0 while mpiexec runs. It leaves a note of that, so that nobody is asked anything
//     as long as there is none.
//   - Each remote shell of that mpiexec that still runs, and each proxy below it, is for a proxy that has all ranks that it started, and
//     they all have waited in PMI, at every look for hungAfter. So none starts still, none works, and all pods have answered.
//   - Those are not all ranks of the world.
//
// Ranks that work do not wait so long in PMI: MPI uses it in MPI_Init, and MPI_Comm_spawn, which starts proxies of another process
// group, for which the count is never right.

const (
	// waitingPoll is the time between two questions to all nodes, once one has been left.
	waitingPoll = 3 * time.Second
	// askedFor is how long a node watches who waits after a question.
	askedFor = 4 * waitingPoll
	// maxMissing is how many missing ranks are told of: the first ones matter.
	maxMissing = 8
)

// StrandedProxies returns the proxies that have all their ranks, all of which have waited for hungAfter. It keeps that being watched.
func (x *Proxies) StrandedProxies(root fs.FS, now time.Time) []mpi.StrandedProxy {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = now
	var found []mpi.StrandedProxy
	for _, p := range x.byPID {
		key, numbers := launchKey(proc.CommandLineOf(root, p.pid)), p.seenRankNumbers()
		if key != "" && len(numbers) == p.size && !p.idle.IsZero() && p.looked.Sub(p.idle) >= hungAfter {
			found = append(found, mpi.StrandedProxy{Launch: key, World: p.world, Ranks: numbers})
		}
	}
	return found
}

// hydraLaunch is an mpiexec of Hydra that runs in the launcher's pod.
type hydraLaunch struct {
	mpiexec int
	key     string
	// sessions is how many processes mpiexec has: remote shells, and a proxy of its own host. Departed are the nodes that it has left.
	sessions int
	departed []string
}

// runningLaunches returns those that run, by their keys.
func runningLaunches(root fs.FS, agent int) map[string]hydraLaunch {
	processes, launches := proc.Descendants(root, agent), map[string]hydraLaunch{}
	for _, p := range processes {
		if !program.IsMPILauncherName(p.Name) {
			continue
		}
		launch := hydraLaunch{mpiexec: p.PID}
		for _, child := range processes {
			if child.Parent == p.PID && child.State != 'Z' {
				launch.sessions++
				launch.key = cmp.Or(launch.key, launchKey(proc.CommandLineOf(root, child.PID)))
			}
		}
		if launch.key != "" {
			launches[launch.key] = launch
		}
	}
	return launches
}

// missingRanks returns the first ranks of the world that are gone where all others wait for them, none where that is not certain.
func (h hydraLaunch) missingRanks(pods map[string]mpi.Progress) []int {
	proxies, world, waits := 0, 0, map[int]bool{}
	for _, pod := range pods {
		for _, p := range pod.Stranded {
			if p.Launch != h.key {
				continue
			}
			proxies++
			world = verdict.MergeWorldSize(world, p.World)
			for _, number := range p.Ranks {
				waits[number] = true
			}
		}
	}
	if proxies != h.sessions {
		return nil
	}
	return verdict.MissingRanks(waits, world, maxMissing)
}

// endsOfMissingRanks are those of the ranks that are missing, from when the others have waited for them at the latest. Which was on which node is
// certain where only one was left.
func (h hydraLaunch) endsOfMissingRanks(missing []int, now time.Time) []MissingRank {
	var ends []MissingRank
	end := func(host string, number *int) {
		ends = append(ends, MissingRank{mpi.RankEnd{Rank: number, Host: host, Hydra: true, Early: true}, now.Add(-hungAfter)})
	}
	if len(h.departed) == 1 {
		for i := range missing {
			end(h.departed[0], &missing[i])
		}
		return ends
	}
	for _, host := range h.departed {
		end(host, nil)
	}
	return ends
}

// StrandedLaunchEnder ends each mpiexec of this pod whose ranks wait for others that are gone.
type StrandedLaunchEnder struct {
	StateDir string
	// Ask asks all pods who waits, gone takes the ranks that are gone.
	Ask  func(context.Context) map[string]mpi.Progress
	Gone func([]MissingRank)
	Log  *log.Logger
	// root is /proc, agent the process above all launches.
	root  fs.FS
	agent int
}

// EndUntilDone ends launches until the context ends. It asks nobody as long as no node was left.
func (w StrandedLaunchEnder) EndUntilDone(ctx context.Context) {
	w.root, w.agent = os.DirFS("/proc"), os.Getpid()
	for sleep.For(ctx, waitingPoll) {
		if launches := w.launchesWithDepartures(); len(launches) > 0 {
			w.endStrandedLaunches(launches, w.Ask(ctx))
		}
	}
}

// endStrandedLaunches ends the launches whose ranks wait for others that are gone, by what the pods answered.
func (w StrandedLaunchEnder) endStrandedLaunches(launches []hydraLaunch, pods map[string]mpi.Progress) {
	for _, launch := range launches {
		missing := launch.missingRanks(pods)
		if len(missing) == 0 {
			continue
		}
		w.Log.Printf("end mpiexec (process %d): all its ranks wait for others that ended on %s, as in MPI_Init", launch.mpiexec, hosts.ListNames(launch.departed))
		w.Gone(launch.endsOfMissingRanks(missing, time.Now()))
		if err := EndLauncher(launch.mpiexec, 0, nil); err != nil {
			w.Log.Print(err)
		}
	}
}

// launchesWithDepartures returns the launches that run and have left a node, and forgets the notes of others.
func (w StrandedLaunchEnder) launchesWithDepartures() []hydraLaunch {
	notes, _ := filepath.Glob(departedNodesPath(w.StateDir, "*"))
	if len(notes) == 0 {
		return nil
	}
	var found []hydraLaunch
	for _, launch := range runningLaunches(w.root, w.agent) {
		note := departedNodesPath(w.StateDir, portOfKey(launch.key))
		if text, err := os.ReadFile(note); err == nil {
			launch.departed = slices.Compact(slices.Sorted(strings.FieldsSeq(string(text))))
			found = append(found, launch)
		}
		notes = slices.DeleteFunc(notes, func(other string) bool { return other == note })
	}
	for _, note := range notes {
		_ = os.Remove(note) // its launch is over
	}
	return found
}
