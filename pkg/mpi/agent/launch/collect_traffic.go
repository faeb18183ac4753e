package launch

import (
	"context"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/traffic"
)

// logTraffic tells what the ranks have sent to each other, where the job has them count it. Nodes that do not answer, as one that was lost, are
// left out: their ranks left no count.
func (j *runningJob) logTraffic(ctx context.Context) {
	if path, _ := proc.VariableValue(j.command.Environment, mpi.TrafficVariable); path != mpi.TrafficPath {
		return
	}
	newest, _ := j.ranks.NewestLaunch()
	matrix := traffic.MatrixOf(j.askTraffic(ctx), time.Since(newest.After).Seconds())
	for _, line := range matrix.Lines() {
		j.Log.Print("traffic: ", line)
	}
}

// askTraffic asks all pods.
func (j *runningJob) askTraffic(ctx context.Context) []traffic.Pod {
	nodes := j.otherHosts()
	pairs := mpi.MaxTrafficPairs / (len(nodes) + 1)
	answers := askNodes(ctx, j, nodes, func(ctx context.Context, address string) (mpi.NodeTraffic, error) {
		return client.AskTraffic(ctx, j.Dial, j.Key, address, mpi.TrafficRequest{Pairs: pairs})
	})
	pods := []traffic.Pod{{Host: hosts.FirstLabel(j.Hostname), NodeTraffic: traffic.ReadPod(j.Settings.StateDir, pairs, time.Now())}}
	for i, node := range nodes {
		pods = append(pods, traffic.Pod{Host: hosts.FirstLabel(node.Name), NodeTraffic: answers[i]})
	}
	return pods
}

// askNodes asks nodes, side by side and once. Of one that does not answer the answer is empty.
func askNodes[Answer any](ctx context.Context, j *runningJob, nodes []mpi.Host, ask func(ctx context.Context, address string) (Answer, error)) []Answer {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	answers := make([]Answer, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			if address, err := j.agentAddressOf(node); err == nil {
				answers[i], _ = ask(ctx, address) // without an answer it is empty
			}
		})
	}
	group.Wait()
	return answers
}
