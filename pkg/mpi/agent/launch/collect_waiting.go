package launch

import (
	"context"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/waiting"
)

// logWaiting tells how long the ranks were inside of MPI, where the job has that counted. Ranks of nodes that do not answer, as one that was
// lost, are left out.
func (j *runningJob) logWaiting(ctx context.Context) {
	if !waiting.IsAsked(j.command.Environment) {
		return
	}
	for _, line := range j.askWaiting(ctx).Lines() {
		j.Log.Print("waiting: ", line)
	}
}

// waitingInterval is the time between two looks at how long ranks wait.
const waitingInterval = time.Minute

// logStragglers names ranks that keep the others waiting, while the command runs and until the context ends, where the job has that counted.
func (j *runningJob) logStragglers(ctx context.Context) {
	if !waiting.IsAsked(j.command.Environment) {
		return
	}
	var watcher waiting.Watcher
	for sleep.For(ctx, waitingInterval) {
		if line := watcher.Observe(j.askWaiting(ctx)); line != "" {
			j.Log.Print("waiting: ", line)
		}
	}
}

// askWaiting asks all pods about the newest launch.
func (j *runningJob) askWaiting(ctx context.Context) waiting.Launch {
	nodes := j.otherHosts()
	request := mpi.WaitingRequest{Ranks: mpi.MaxWaitingRanks / (len(nodes) + 1)}
	answers := askNodes(ctx, j, nodes, func(ctx context.Context, address string) (mpi.NodeWaiting, error) {
		return client.AskWaiting(ctx, j.Dial, j.Key, address, request)
	})
	own := waiting.Pod{StateDir: j.Settings.StateDir, EndOf: j.ranks.EndOf}
	pods := []waiting.HostPod{{Host: hosts.FirstLabel(j.Hostname), NodeWaiting: own.Read(request.Ranks)}}
	for i, node := range nodes {
		pods = append(pods, waiting.HostPod{Host: hosts.FirstLabel(node.Name), NodeWaiting: answers[i]})
	}
	newest, _ := j.ranks.NewestLaunch()
	return waiting.LaunchOf(pods, time.Since(newest.After).Seconds())
}
