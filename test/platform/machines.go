package platform

import (
	"context"
	"encoding/json"
	"errors"
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

// WithoutComponent stops a component on all machines of the local cluster. Undo starts it again, also where only some could be
// stopped. A machine that is started anew runs it in any case.
func (p *Platform) WithoutComponent(ctx context.Context, component string) (undo func(context.Context) error, err error) {
	machines, err := p.LocalMachines(ctx)
	onAll := func(ctx context.Context, verb string) error {
		var errs []error
		for i := range machines {
			_, err := p.tools.output(ctx, p.tools.Cluster, verb, component, "--node", fmt.Sprint(i))
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	undo = func(ctx context.Context) error { return onAll(ctx, "start") }
	if err != nil {
		return undo, err
	}
	return undo, onAll(ctx, "stop")
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
