package platform

import (
	"context"
	"encoding/json"
	"fmt"
)

// Machine is a node of the local cluster.
type Machine struct {
	Name string `json:"name"`
	// PID is the node's first process, as this machine numbers it.
	PID int `json:"pid"`
}

// LocalMachines lists the nodes of the local cluster. A cluster of KUBECONFIG has none.
func (p *Platform) LocalMachines(ctx context.Context) ([]Machine, error) {
	if p.external {
		return nil, fmt.Errorf("list the machines of the cluster: that of KUBECONFIG is not ours: unset KUBECONFIG to use a local one")
	}
	out, err := p.tools.output(ctx, p.tools.Cluster, "status", "-o", "json")
	if err != nil {
		return nil, err
	}
	var status struct {
		Nodes []Machine `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return nil, fmt.Errorf("read the status of the cluster: %w", err)
	}
	return status.Nodes, nil
}

// KillMachine kills the first process of a machine, and with it everything there. Machine 0 is the control plane and
// cannot be killed.
func (p *Platform) KillMachine(ctx context.Context, number int) error {
	_, err := p.tools.output(ctx, p.tools.Cluster, "node", "kill", fmt.Sprint(number))
	return err
}

// StartMachine starts a killed machine again and returns when it is ready.
func (p *Platform) StartMachine(ctx context.Context, number int) error {
	_, err := p.tools.output(ctx, p.tools.Cluster, "node", "start", fmt.Sprint(number))
	return err
}

// RestartComponent ends a component of machine 0 and returns when it runs again.
func (p *Platform) RestartComponent(ctx context.Context, component string) error {
	_, err := p.tools.output(ctx, p.tools.Cluster, "restart", component)
	return err
}

// AddAddons installs add-ons of the local cluster by name and returns when they are at work.
func (p *Platform) AddAddons(ctx context.Context, names ...string) error {
	_, err := p.tools.output(ctx, p.tools.Cluster, append([]string{"addon", "--wait"}, names...)...)
	return err
}

// RemoveAddons removes add-ons and returns when their pods have ended.
func (p *Platform) RemoveAddons(ctx context.Context, names ...string) error {
	_, err := p.tools.output(ctx, p.tools.Cluster, append([]string{"addon", "--remove"}, names...)...)
	return err
}
