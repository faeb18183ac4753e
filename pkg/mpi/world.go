package mpi

import (
	"fmt"
	"strconv"
)

// World is the size and the layout of an MPI job.
type World struct {
	// Nodes is the number of nodes that run ranks, from 1 to MaxNodes.
	Nodes int32
	// SlotsPerNode is the number of ranks that a node may run, from 1 to MaxSlotsPerNode.
	SlotsPerNode int32
	// LauncherRunsRanks says that the launcher is the first of the nodes. Otherwise it is one more pod without ranks.
	LauncherRunsRanks bool
}

// A number that anybody may write into a TrainJob must not decide how much memory the controller takes for a hostfile.
const (
	// MaxNodes is the number of machines that Kubernetes supports in a cluster
	// (https://kubernetes.io/docs/setup/best-practices/cluster-large/). A hostfile of so many names fits a ConfigMap.
	MaxNodes = 5000
	// MaxSlotsPerNode is more than any machine has hardware threads.
	MaxSlotsPerNode = 4096
)

// Ranks returns the number of ranks of the whole world.
func (w World) Ranks() int32 { return w.Nodes * w.SlotsPerNode }

// NodePods returns how many pods the replicated job `node` has. It is 0 when the launcher is the only node; upstream
// creates one too many there (kubeflow/trainer#3954).
func (w World) NodePods() int32 {
	if w.LauncherRunsRanks {
		return w.Nodes - 1
	}
	return w.Nodes
}

// Pods returns the number of all pods, the launcher included.
func (w World) Pods() int32 { return w.NodePods() + 1 }

// HostNames returns the names of the nodes in rank order, as JobSet gives them to pods: `<job>-<replicated job>-0-<index>`
// under the subdomain of the job.
func (w World) HostNames(trainJob string) []string {
	hosts := make([]string, 0, w.Nodes)
	if w.LauncherRunsRanks {
		hosts = append(hosts, HostName(trainJob, LauncherJob, 0))
	}
	for i := range w.NodePods() {
		hosts = append(hosts, HostName(trainJob, NodeJob, i))
	}
	return hosts
}

// HostName returns the name by which pods of a job know each other: the pod's host name and the subdomain, which is the
// name of the job. It does not carry the cluster's domain, which only resolv.conf knows.
func HostName(trainJob, replicatedJob string, index int32) string {
	return PodHostname(trainJob, replicatedJob, index) + "." + trainJob
}

// PodHostname returns the host name that JobSet gives to a pod. It must fit 63 characters, the limit of a DNS label.
func PodHostname(trainJob, replicatedJob string, index int32) string {
	return trainJob + "-" + replicatedJob + "-0-" + strconv.Itoa(int(index))
}

// Validate reports the first rule that the world breaks.
func (w World) Validate() error {
	switch {
	case w.Nodes < 1:
		return fmt.Errorf("numNodes is %d, at least 1 is needed", w.Nodes)
	case w.Nodes > MaxNodes:
		return fmt.Errorf("numNodes is %d, at most %d are possible", w.Nodes, MaxNodes)
	case w.SlotsPerNode < 1:
		return fmt.Errorf("slots per node is %d, at least 1 is needed", w.SlotsPerNode)
	case w.SlotsPerNode > MaxSlotsPerNode:
		return fmt.Errorf("slots per node is %d, at most %d are possible", w.SlotsPerNode, MaxSlotsPerNode)
	}
	return nil
}
