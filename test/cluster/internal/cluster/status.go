package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/cluster/internal/addons"
	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/node"
	"lockstep.dev/lockstep/test/cluster/internal/state"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
)

// Status is what `status` shows.
type Status struct {
	// State is "stopped", "starting", "running" or "broken".
	State string `json:"state"`
	// Problems says what is wrong; empty when all is well.
	Problems   []string     `json:"problems,omitempty"`
	APIServer  string       `json:"apiServer,omitempty"`
	Kubeconfig string       `json:"kubeconfig,omitempty"`
	Cgroup     int          `json:"cgroupVersion"`
	Addons     bool         `json:"addonsReady"`
	Nodes      []NodeStatus `json:"nodes,omitempty"`
}

// NodeStatus is one node.
type NodeStatus struct {
	Name       string             `json:"name"`
	PID        int                `json:"pid"`
	Alive      bool               `json:"alive"`
	Ready      bool               `json:"ready"`
	Logs       string             `json:"logs"`
	Components []supervise.Status `json:"components"`
}

// Status looks at the cluster.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	s := Status{State: "stopped", Cgroup: c.tree.Version()}
	r, err := c.record()
	if err != nil {
		return s, err
	}
	if r == nil {
		if owner := state.Owner(state.LockFile); owner != "" && owner != c.dirs.State {
			s.Problems = append(s.Problems, "a cluster whose state is in "+owner+" owns this machine")
		}
		return s, nil
	}
	s.State, s.Kubeconfig = string(r.Stage), c.dirs.Kubeconfig()
	for i, n := range r.Nodes {
		s.Nodes = append(s.Nodes, c.nodeStatus(i, n))
	}
	c.askAPI(ctx, &s)
	s.judge()
	return s, nil
}

func (c *Cluster) nodeStatus(i int, n state.Node) NodeStatus {
	status := NodeStatus{Name: n.Name, PID: n.Init.PID, Alive: n.Init.Alive(), Logs: c.dirs.Logs(i)}
	// A missing list is shown as such.
	status.Components, _ = c.components(i)
	return status
}

// components returns what the supervisor of a node says of its components.
func (c *Cluster) components(i int) ([]supervise.Status, error) {
	content, err := os.ReadFile(node.ComponentsFile(c.dirs.Node(i)))
	if err != nil {
		return nil, fmt.Errorf("read the components of node%d: %w", i, err)
	}
	var components []supervise.Status
	if err := json.Unmarshal(content, &components); err != nil {
		return nil, fmt.Errorf("read the components of node%d: %w", i, err)
	}
	return components, nil
}

// askAPI adds what only the API server knows.
func (c *Cluster) askAPI(ctx context.Context, s *Status) {
	client, err := api.Connect(s.Kubeconfig)
	if err == nil {
		err = client.Healthy(ctx)
	}
	if err != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("the API server does not answer: %v", err))
		return
	}
	s.APIServer = "ready"
	nodes, err := client.Nodes(ctx)
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	ready := map[string]bool{}
	for _, n := range nodes {
		ready[n.Name] = n.Ready
	}
	for i := range s.Nodes {
		s.Nodes[i].Ready = ready[s.Nodes[i].Name]
	}
	s.Addons = addons.Answers(ctx, client) == nil
}

// judge turns what was seen into problems and a state.
func (s *Status) judge() {
	for _, n := range s.Nodes {
		switch {
		case !n.Alive:
			s.Problems = append(s.Problems, n.Name+" does not run any more")
		case !n.Ready:
			s.Problems = append(s.Problems, n.Name+" is not ready")
		}
		for _, component := range n.Components {
			if n.Alive && component.PID == 0 {
				s.Problems = append(s.Problems, fmt.Sprintf("%s on %s does not run: it %s", component.Name, n.Name, component.LastExit))
			}
		}
	}
	if s.State == string(state.Running) && len(s.Problems) > 0 {
		s.State = "broken"
	}
}

// LogFile returns the log of a component on a node.
func (c *Cluster) LogFile(component string, index int) (string, error) {
	path := filepath.Join(c.dirs.Logs(index), component+".log")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no log of %s on node%d: %w", component, index, err)
	}
	return path, nil
}

// Env returns what a shell needs: the kubeconfig and the folder of kubectl.
func (c *Cluster) Env() (kubeconfig, bin string, err error) {
	r, err := c.running()
	if err != nil {
		return "", "", err
	}
	return c.dirs.Kubeconfig(), r.Bin, nil
}
