package launch

import (
	"context"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/waiting"
)

// logWaiting tells how long the ranks were inside of MPI, where the job has that counted. Ranks of nodes that do not answer, as one that was
// lost, are left out.
func (j *runningJob) logWaiting(ctx context.Context) {
	if !waiting.IsAsked(j.command.Environment) {
		return
	}
	newest, _ := j.ranks.NewestLaunch()
	for _, line := range waiting.LaunchOf(j.askWaiting(ctx), time.Since(newest.After).Seconds()).Lines() {
		j.Log.Print("waiting: ", line)
	}
}

// askWaiting asks all pods.
func (j *runningJob) askWaiting(ctx context.Context) []waiting.HostPod {
	nodes := j.otherHosts()
	answers := askNodes(ctx, j, nodes, func(ctx context.Context, address string) (mpi.NodeWaiting, error) {
		return client.AskWaiting(ctx, j.Dial, j.Key, address)
	})
	own := waiting.Pod{StateDir: j.Settings.StateDir, EndOf: j.ranks.EndOf}
	pods := []waiting.HostPod{{Host: hosts.FirstLabel(j.Hostname), NodeWaiting: own.Read()}}
	for i, node := range nodes {
		pods = append(pods, waiting.HostPod{Host: hosts.FirstLabel(node.Name), NodeWaiting: answers[i]})
	}
	return pods
}
