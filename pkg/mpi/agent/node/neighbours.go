package node

import (
	"context"
	"sync"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

// meshLimit is the number of pods up to which every node tries every other pod.
const meshLimit = 16

// requiredNeighbours returns the pods that a node must reach before ranks may start: all others in a small job; in a large one
// the launcher and the next pod, so that the effort grows with the job and not with its square.
func requiredNeighbours(table mpi.HostTable, hostname string) []mpi.HostAddress {
	var others []mpi.HostAddress
	next := 0
	for _, host := range table.Hosts {
		if hosts.FirstLabel(host.Name) == hosts.FirstLabel(hostname) {
			next = len(others)
			continue
		}
		others = append(others, host)
	}
	if len(table.Hosts) <= meshLimit || len(others) == 0 {
		return others
	}
	launcher, after := others[0], others[next%len(others)]
	if after == launcher {
		return []mpi.HostAddress{launcher}
	}
	return []mpi.HostAddress{launcher, after}
}

// knockLimit bounds one try of a neighbour: the launcher waits for the answer, and must hear which neighbour it is.
const knockLimit = client.Attempt * 3 / 4

// unreachableNeighbours tries the neighbours, side by side, and returns those that do not answer with the key of the job.
func (n Node) unreachableNeighbours(ctx context.Context, table mpi.HostTable) []mpi.NodeFailure {
	ctx, cancel := context.WithTimeout(ctx, knockLimit)
	defer cancel()
	tried := requiredNeighbours(table, n.Hostname)
	errs := make([]error, len(tried))
	var group sync.WaitGroup
	for i, host := range tried {
		group.Go(func() { errs[i] = n.tryConnect(ctx, host) })
	}
	group.Wait()
	var failures []mpi.NodeFailure
	for i, err := range errs {
		if err != nil {
			failures = append(failures, mpi.NodeFailure{Name: tried[i].Name, Address: tried[i].Address, Error: client.DescribeError(err)})
		}
	}
	return failures
}

func (n Node) tryConnect(ctx context.Context, host mpi.HostAddress) error {
	address, err := client.AgentAddress(host, n.Settings.Port)
	if err != nil {
		return err
	}
	conn, err := client.Connect(ctx, n.Dial, n.Key, address)
	if err != nil {
		return err
	}
	return conn.Close()
}
