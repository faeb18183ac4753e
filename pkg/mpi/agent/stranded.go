package agent

import (
	"cmp"
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// Where all ranks that a proxy of Hydra started are gone before they came to MPI_Init, and before anybody saw them, the proxy ends
// with 0, and nobody waits on its node. The ranks of the other nodes wait for those for ever. Only all pods together prove that:
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
	// strandedLook is the time between two questions to all nodes, once one has been left.
	strandedLook = 3 * time.Second
	// askedFor is how long a node watches who waits after a question.
	askedFor = 4 * strandedLook
)

// launchKey returns what tells launches of Hydra apart, of the command line of a proxy or its remote shell: the address at which
// mpiexec listens. It returns nothing for other commands, and for proxies of MPI_Comm_spawn.
func launchKey(line string) string {
	words := strings.Fields(line)
	if valueAfter(words, "--pgid") != "0" {
		return ""
	}
	key := valueAfter(words, "--control-port")
	if _, port, err := net.SplitHostPort(key); err != nil || !allDigits(port) {
		return ""
	}
	return key
}

func valueAfter(words []string, flag string) string {
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

func allDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func portOf(key string) string { return key[strings.LastIndex(key, ":")+1:] }

// leave notes that a proxy of Hydra has ended on a node, and that nothing is wrong with that as far as it knows.
func (r Rsh) leave(host target) {
	key := launchKey(r.Options.Command)
	if key == "" || !isHydraProxy(r.Options.Command) || !host.ofJob {
		return
	}
	if err := appendLine(r.Settings.leftPath(portOf(key)), host.Name); err != nil && r.Options.Verbose {
		r.Log.Printf("rsh: nobody will know that %s was left: %v", host.Name, err)
	}
}

// stranded returns the proxies that have all their ranks, all of which have waited for hungAfter. It keeps that being watched.
func (x *proxies) stranded(root fs.FS, now time.Time) []mpi.Stranded {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = now
	var found []mpi.Stranded
	for _, p := range x.byPID {
		key, numbers := launchKey(commandLineOf(root, p.pid)), p.numbers()
		if key != "" && len(numbers) == p.size && !p.idle.IsZero() && p.looked.Sub(p.idle) >= hungAfter {
			found = append(found, mpi.Stranded{Launch: key, World: p.world, Ranks: numbers})
		}
	}
	return found
}

// hydraLaunch is an mpiexec of Hydra that runs in the launcher's pod.
type hydraLaunch struct {
	mpiexec int
	key     string
	// sessions is how many processes mpiexec has: remote shells, and a proxy of its own host. Left are the nodes that it has left.
	sessions int
	left     []string
}

// hydraLaunches returns those that run, by their keys.
func hydraLaunches(root fs.FS, agent int) map[string]hydraLaunch {
	processes, launches := proc.Descendants(root, agent), map[string]hydraLaunch{}
	for _, p := range processes {
		if !isStarter(p.Name) {
			continue
		}
		launch := hydraLaunch{mpiexec: p.PID}
		for _, child := range processes {
			if child.Parent == p.PID && child.State != 'Z' {
				launch.sessions++
				launch.key = cmp.Or(launch.key, launchKey(commandLineOf(root, child.PID)))
			}
		}
		if launch.key != "" {
			launches[launch.key] = launch
		}
	}
	return launches
}

// missing returns the first ranks of the world that are gone where all others wait for them, none where that is not certain.
func (h hydraLaunch) missing(pods map[string]mpi.Progress) []int {
	proxies, world, waits := 0, 0, map[int]bool{}
	for _, pod := range pods {
		for _, p := range pod.Stranded {
			if p.Launch != h.key {
				continue
			}
			proxies++
			world = agreed(world, p.World)
			for _, number := range p.Ranks {
				waits[number] = true
			}
		}
	}
	if proxies != h.sessions {
		return nil
	}
	return absent(waits, world, mostRanks)
}

// ends are those of the ranks that are missing, from when the others have waited for them at the latest. Which was on which node is
// certain where only one was left.
func (h hydraLaunch) ends(missing []int, now time.Time) []rankEnd {
	var ends []rankEnd
	end := func(host string, number *int) {
		ends = append(ends, rankEnd{mpi.RankEnd{Rank: number, Host: host, Hydra: true, Early: true}, now.Add(-hungAfter)})
	}
	if len(h.left) == 1 {
		for i := range missing {
			end(h.left[0], &missing[i])
		}
		return ends
	}
	for _, host := range h.left {
		end(host, nil)
	}
	return ends
}

// endStranded ends each mpiexec whose ranks wait for others that are gone, until the context ends.
func (l Launcher) endStranded(ctx context.Context, table mpi.HostTable, own *ranks, watch *tracker) {
	for sleep(ctx, strandedLook) {
		if launches := l.leftLaunches(own); len(launches) > 0 {
			pods := l.askProgress(ctx, table, watch, l.gate().nodes(), mpi.ProgressRequest{Stranded: true})
			l.endThose(launches, pods, own)
		}
	}
}

// endThose ends the launches whose ranks wait for others that are gone, by what the pods answered.
func (l Launcher) endThose(launches []hydraLaunch, pods map[string]mpi.Progress, own *ranks) {
	for _, launch := range launches {
		missing := launch.missing(pods)
		if len(missing) == 0 {
			continue
		}
		l.Log.Printf("end mpiexec (process %d): all its ranks wait for others that ended on %s, as in MPI_Init", launch.mpiexec, enumerate(launch.left))
		own.goneEarly(launch.ends(missing, own.now()))
		if err := EndParent(launch.mpiexec, 0, neverSpared); err != nil {
			l.Log.Print(err)
		}
	}
}

// leftLaunches returns the launches that run and have left a node, and forgets the notes of others.
func (l Launcher) leftLaunches(own *ranks) []hydraLaunch {
	notes, _ := filepath.Glob(l.Settings.leftPath("*"))
	if len(notes) == 0 {
		return nil
	}
	var left []hydraLaunch
	for _, launch := range hydraLaunches(own.root, own.agent) {
		note := l.Settings.leftPath(portOf(launch.key))
		if text, err := os.ReadFile(note); err == nil {
			launch.left = slices.Compact(slices.Sorted(strings.FieldsSeq(string(text))))
			left = append(left, launch)
		}
		notes = slices.DeleteFunc(notes, func(other string) bool { return other == note })
	}
	for _, note := range notes {
		_ = os.Remove(note) // its launch is over
	}
	return left
}
