package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"lockstep.dev/lockstep/test/cluster/internal/addons"
	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/node"
	"lockstep.dev/lockstep/test/cluster/internal/pki"
	"lockstep.dev/lockstep/test/cluster/internal/preflight"
	"lockstep.dev/lockstep/test/cluster/internal/programs"
	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// Options of Up.
type Options struct {
	// Nodes is how many nodes to start; the first is the control plane too.
	Nodes int
	// Wait makes Up return only when CoreDNS and JobSet answer.
	Wait bool
	// Definitions are folders with a kustomization.yaml over definitions of
	// kinds (CRDs) that shall be there before any controller looks.
	Definitions []string
	// Audited are users whose requests the API server writes down, without
	// contents. A cluster that runs already stays as it is.
	Audited []string
}

// Up makes sure that a healthy cluster runs.
func (c *Cluster) Up(ctx context.Context, o Options) error {
	if o.Nodes < 1 || o.Nodes > network.MaxNodes {
		return fmt.Errorf("--nodes is %d: between 1 and %d are possible", o.Nodes, network.MaxNodes)
	}
	needs := preflight.ToRun()
	if !c.bridging().There() {
		needs = append(needs, preflight.ToLoad()...)
	}
	if err := preflight.Provide(ctx, needs, c.say); err != nil {
		return err
	}
	made, err := c.make(ctx)
	if err != nil {
		return err
	}
	lock, err := state.Acquire(state.LockFile, c.dirs.State)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	if done, err := c.reuseOrClean(ctx, o); done || err != nil {
		return err
	}
	if err := preflight.Room(c.dirs.State, c.dirs.Cache); err != nil {
		return err
	}
	if err := network.CheckFree(); err != nil {
		return err
	}
	if err := lock.Own(c.dirs.State); err != nil {
		return err
	}
	if err := c.start(ctx, o, made); err != nil {
		return c.abandon(ctx, lock, err)
	}
	return nil
}

// abandon removes what a failed start left, and explains the failure.
func (c *Cluster) abandon(ctx context.Context, lock *state.Lock, failure error) error {
	if cause := context.Cause(ctx); cause != nil {
		failure = fmt.Errorf("interrupted: %w", cause)
	} else {
		failure = fmt.Errorf("%w\nlogs of the components are in %s", failure, filepath.Dir(c.dirs.Logs(0)))
	}
	if err := c.remove(ctx); err != nil {
		return errors.Join(failure, err)
	}
	return errors.Join(failure, lock.Disown())
}

// made is all that a cluster is made of.
type made struct {
	bin        string
	containerd programs.Program
	ctr        programs.Program
	archives   []images.Archive
	// render makes the add-ons. It takes a while and is not needed before the
	// API server is ready, so it runs beside the start.
	render func(ctx context.Context, definitions []string) (*addons.Addons, error)
}

// make builds programs and images as far as they are missing. Nothing of it
// touches the machine.
func (c *Cluster) make(ctx context.Context) (*made, error) {
	builder, err := Builder(ctx, c.dirs, c.say)
	if err != nil {
		return nil, err
	}
	built, err := builder.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	m := &made{containerd: built["containerd"], ctr: built["ctr"]}
	if m.bin, err = programs.Link(c.dirs.Programs(), "bin", built); err != nil {
		return nil, fmt.Errorf("link the programs: %w", err)
	}
	if m.archives, err = images.Builtin(c.dirs.Images(), built); err != nil {
		return nil, err
	}
	m.render = func(ctx context.Context, definitions []string) (*addons.Addons, error) {
		module, err := builder.ModuleDir(ctx, "jobset")
		if err != nil {
			return nil, err
		}
		rendered, err := addons.Render(module, definitions, time.Now())
		if err != nil {
			return nil, err
		}
		return rendered, rendered.AddVolumes(c.dirs.Volumes())
	}
	return m, nil
}

// reuseOrClean handles a machine that is not empty: it says so when a healthy
// cluster runs, and removes anything else.
func (c *Cluster) reuseOrClean(ctx context.Context, o Options) (bool, error) {
	if r, err := c.running(); err == nil {
		if client, err := c.patient(ctx); err == nil {
			return true, c.keep(ctx, r, client, o)
		}
	}
	found, err := c.leftovers()
	if err != nil || !found {
		return false, err
	}
	c.say.Say("found the remains of a cluster")
	return false, c.remove(ctx)
}

// patient connects to a cluster that may be busy: it must not be thrown away
// for one slow answer.
func (c *Cluster) patient(ctx context.Context) (*api.Client, error) {
	client, err := api.Connect(c.dirs.Kubeconfig())
	if err != nil {
		return nil, err
	}
	return client, api.Until(ctx, 15*time.Second, "the API server of the running cluster does not answer", client.Healthy)
}

func (c *Cluster) keep(ctx context.Context, r *state.Record, client *api.Client, o Options) error {
	if len(r.Nodes) != o.Nodes {
		return fmt.Errorf("a cluster with %d nodes is running: `down` it first to get one with %d", len(r.Nodes), o.Nodes)
	}
	c.say.Say("the cluster is already running with %d nodes", len(r.Nodes))
	if err := c.startStopped(ctx, len(r.Nodes)); err != nil {
		return err
	}
	a, err := addons.Definitions(o.Definitions)
	if err != nil {
		return err
	}
	if err := a.Define(ctx, client); err != nil {
		return err
	}
	if o.Wait {
		return addons.Wait(ctx, client)
	}
	return nil
}

// start is the way from an empty machine to a cluster.
func (c *Cluster) start(ctx context.Context, o Options, m *made) error {
	record := state.Record{Stage: state.Starting, Boot: c.boot, Bin: m.bin}
	if err := record.Write(c.dirs.State); err != nil {
		return err
	}
	if err := c.prepareMachine(o.Nodes); err != nil {
		return err
	}
	if err := pki.Write(c.dirs.PKI(), o.Nodes, time.Now()); err != nil {
		return err
	}
	running, err := c.startNodes(o, m, &record)
	if err != nil {
		return err
	}
	client, err := api.Connect(c.dirs.Kubeconfig())
	if err != nil {
		return err
	}
	if err := c.bringUp(ctx, client, running, m, o); err != nil {
		return err
	}
	if o.Wait {
		step := c.say.Begin("wait for CoreDNS and JobSet")
		if err := step.End(addons.Wait(ctx, client)); err != nil {
			return err
		}
	}
	record.Stage = state.Running
	if err := record.Write(c.dirs.State); err != nil {
		return err
	}
	for _, r := range running {
		if err := r.Detach(); err != nil {
			return err
		}
	}
	return nil
}

// prepareMachine changes what belongs to the whole machine: sysctls, a kernel
// module, control groups and the bridge.
func (c *Cluster) prepareMachine(count int) error {
	keeper := c.sysctls()
	if err := keeper.Save(machineSysctls); err != nil {
		return err
	}
	for name, least := range raisedSysctls {
		if err := keeper.Raise(name, least); err != nil {
			return err
		}
	}
	if err := c.bridging().Borrow(); err != nil {
		return err
	}
	if err := c.borrowControllers(); err != nil {
		return err
	}
	for i := range count {
		if err := c.tree.Create(network.NodeName(i)); err != nil {
			return err
		}
	}
	return network.Create()
}

// startNodes starts all nodes and records each at once.
func (c *Cluster) startNodes(o Options, m *made, record *state.Record) ([]*node.Running, error) {
	var running []*node.Running
	for i := range o.Nodes {
		if err := images.Prepare(c.dirs.Store(i), m.containerd.Version, c.boot); err != nil {
			return nil, err
		}
		r, err := node.Start(c.spec(i, o, m.bin))
		if err != nil {
			return nil, err
		}
		running = append(running, r)
		record.Nodes = append(record.Nodes, state.Node{Name: r.Name(), Init: r.Init})
		if err := record.Write(c.dirs.State); err != nil {
			return nil, err
		}
	}
	return running, nil
}

// bringUp waits for the control plane and the nodes, and meanwhile loads the
// images and installs the add-ons. It fails at once when a node ends.
func (c *Cluster) bringUp(ctx context.Context, client *api.Client, running []*node.Running, m *made, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, r := range running {
		go func() {
			select {
			case <-r.Ended:
				cancel(fmt.Errorf("%s ended: %s", r.Name(), node.LastLines(filepath.Join(r.Logs, "init.log"), 5)))
			case <-ctx.Done():
			}
		}()
	}
	loaded := begin(func() (struct{}, error) { return struct{}{}, c.loadBuiltin(ctx, running, m) })
	rendered := begin(func() (*addons.Addons, error) { return m.render(ctx, o.Definitions) })
	if err := c.waitAPI(ctx, client, running); err != nil {
		return err
	}
	a, err := rendered()
	if err != nil {
		return err
	}
	if err := c.define(ctx, client, a); err != nil {
		return err
	}
	installed := begin(func() (struct{}, error) { return struct{}{}, a.Install(ctx, client) })
	if err := c.waitNodes(ctx, client, len(running)); err != nil {
		return err
	}
	c.confinePods(running)
	_, err = installed()
	if _, loadErr := loaded(); err != nil || loadErr != nil {
		return errors.Join(err, loadErr)
	}
	return a.Start(ctx, client)
}

// confinePods comes before the first pods do. A machine where it fails has a cluster that is slower when many ranks spin.
func (c *Cluster) confinePods(running []*node.Running) {
	names := make([]string, len(running))
	for i, r := range running {
		names[i] = r.Name()
	}
	if err := c.tree.Confine(names); err != nil {
		c.say.Say("pods of all nodes share all processors: %v", err)
	}
}

// define makes all kinds known, and then lets the controllers start.
func (c *Cluster) define(ctx context.Context, client *api.Client, a *addons.Addons) error {
	if err := a.Define(ctx, client); err != nil {
		return err
	}
	return state.WriteFile(node.KindsFile(c.dirs.Node(0)), nil, 0o644)
}

// begin starts work and returns how to wait for it.
func begin[T any](work func() (T, error)) (result func() (T, error)) {
	var (
		value T
		err   error
		done  = make(chan struct{})
	)
	go func() { value, err = work(); close(done) }()
	return func() (T, error) { <-done; return value, err }
}

// limit is for machines that are slow, or busy with other things: nothing ends
// sooner because of it, as nodes that die are noticed at once.
const limit = 3 * time.Minute

// waitAPI registers the nodes as soon as the API server takes requests, some
// time before it calls itself ready: kubelets need no more.
func (c *Cluster) waitAPI(ctx context.Context, client *api.Client, running []*node.Running) error {
	step := c.say.Begin("start the control plane")
	for _, r := range running {
		if err := api.Until(ctx, limit, "the API server does not start", func(ctx context.Context) error {
			return client.RegisterNode(ctx, r.Name(), network.PodCIDR(r.Index).String())
		}); err != nil {
			return step.End(err)
		}
	}
	return step.End(api.Until(ctx, limit, "the API server does not get ready", client.Healthy))
}

func (c *Cluster) waitNodes(ctx context.Context, client *api.Client, count int) error {
	step := c.say.Begin("%d nodes get ready", count)
	return step.End(api.Until(ctx, limit, "nodes do not get ready", func(ctx context.Context) error {
		nodes, err := client.Nodes(ctx)
		if err != nil {
			return err
		}
		return open(nodes, count)
	}))
}

// open returns an error that names the nodes which do not take pods yet.
func open(nodes []api.Node, count int) error {
	var waiting []string
	ready := 0
	for _, n := range nodes {
		switch {
		case !n.Ready:
			waiting = append(waiting, n.Name+": "+n.Why)
		case !n.Open:
			waiting = append(waiting, n.Name+" is ready but still tainted")
		default:
			ready++
		}
	}
	if ready < count {
		return fmt.Errorf("%d of %d nodes are ready; %s", ready, count, strings.Join(waiting, "; "))
	}
	return nil
}
