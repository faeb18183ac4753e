// Package node runs one node of the cluster.
//
// A node is a process with its own pid, mount, network, uts and ipc namespaces:
// this program, run again as `cluster node-init`. When it ends, the kernel ends
// everything in the node, and mounts and links of the node go with it.
//
// Flow, machine side: Start writes the configuration, starts the process, gives
// it its link and tells it to go on. Node side: Init enters the control groups,
// waits for the link, arranges mounts and network, and supervises components.
//
// Invariant: until Detach the node is on a leash, a pipe that the kernel closes
// when the command that started it dies; a node whose leash breaks ends. So a
// killed `up` leaves no process behind.
package node

import (
	"path/filepath"

	"lockstep.dev/lockstep/test/cluster/internal/network"
)

// Node is all that there is to know about a node before it runs.
type Node struct {
	// Index is the number of this node, Count that of all nodes.
	Index int `json:"index"`
	Count int `json:"count"`
	// Bin holds links to all programs.
	Bin string `json:"bin"`
	// Dir holds the node's configuration and its /var.
	Dir string `json:"dir"`
	// PKI holds the cluster's certificates.
	PKI string `json:"pki"`
	// Logs gets one file per component.
	Logs string `json:"logs"`
	// Store is containerd's root.
	Store string `json:"store"`
	// Keep lists folders that must stay visible in the node, wherever they are.
	Keep []string `json:"keep"`
	// Audited are the users whose requests the API server writes down.
	Audited []string `json:"audited,omitempty"`
}

// Name is the node's name in the cluster.
func (n Node) Name() string { return network.NodeName(n.Index) }

func (n Node) path(name string) string { return filepath.Join(n.Dir, name) }

func (n Node) pki(name string) string { return filepath.Join(n.PKI, name) }

func (n Node) specFile() string { return n.path("node.json") }

// KindsFile is a file in the folder of node 0. Whoever starts the cluster makes
// it when the API server serves all kinds.
func KindsFile(dir string) string { return filepath.Join(dir, "kinds") }

// StopFile is a file in the folder of a node. While it is there its supervisor
// does not start the component. A node that starts anew has none.
func StopFile(dir, component string) string { return filepath.Join(dir, "stopped", component) }

// AuditLog is the name of the audit log among the logs of node 0.
const AuditLog = "audit"

// ComponentsFile holds the status of the components of a node whose folder is
// given.
func ComponentsFile(dir string) string { return filepath.Join(dir, "components.json") }
