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

// askTraffic asks all nodes, side by side and once.
func (j *runningJob) askTraffic(ctx context.Context) []traffic.Pod {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	nodes := j.otherHosts()
	pods, pairs := make([]traffic.Pod, len(nodes), len(nodes)+1), mpi.MaxTrafficPairs/(len(nodes)+1)
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			pods[i].Host = hosts.FirstLabel(node.Name)
			if address, err := j.agentAddressOf(node); err == nil {
				pods[i].NodeTraffic, _ = client.AskTraffic(ctx, j.Dial, j.Key, address, mpi.TrafficRequest{Pairs: pairs}) // without an answer it is empty
			}
		})
	}
	group.Wait()
	return append(pods, traffic.Pod{Host: hosts.FirstLabel(j.Hostname), NodeTraffic: traffic.ReadPod(j.Settings.StateDir, pairs, time.Now())})
}
