package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/test/cluster/internal/addons"
	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/programs"
)

// AddExtras installs extra add-ons into the running cluster. What is there already
// is brought up to date. With wait it returns when they are at work.
func (c *Cluster) AddExtras(ctx context.Context, names []string, wait bool) error {
	return c.eachExtra(ctx, names, func(e addons.Extra, builder *programs.Builder, client *api.Client) error {
		if err := c.loadExtra(ctx, e, builder); err != nil {
			return err
		}
		step := c.say.Begin("install %s", e.Name)
		objects, err := renderExtra(ctx, e, builder)
		if err != nil {
			return step.End(err)
		}
		return step.End(install(ctx, e, objects, client, wait))
	})
}

// install puts the webhooks last, when it waits: objects of others are never refused, then.
func install(ctx context.Context, e addons.Extra, objects *addons.Addons, client *api.Client, wait bool) error {
	if err := objects.Add(ctx, client); err != nil {
		return err
	}
	if !wait {
		return objects.InstallWebhooks(ctx, client)
	}
	if err := e.WaitStarted(ctx, client); err != nil {
		return err
	}
	if err := objects.InstallWebhooks(ctx, client); err != nil {
		return err
	}
	return e.WaitAnswers(ctx, client)
}

// RemoveExtras removes extra add-ons, but for their kinds, and returns when
// they have ended.
func (c *Cluster) RemoveExtras(ctx context.Context, names []string) error {
	return c.eachExtra(ctx, names, func(e addons.Extra, builder *programs.Builder, client *api.Client) error {
		step := c.say.Begin("remove %s", e.Name)
		objects, err := renderExtra(ctx, e, builder)
		if err != nil {
			return step.End(err)
		}
		return step.End(objects.Remove(ctx, client))
	})
}

func (c *Cluster) eachExtra(ctx context.Context, names []string, do func(addons.Extra, *programs.Builder, *api.Client) error) error {
	if _, err := c.running(); err != nil {
		return err
	}
	builder, err := Builder(ctx, c.dirs, c.say)
	if err != nil {
		return err
	}
	client, err := c.patient(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := addons.FindExtra(name)
		if err != nil {
			return err
		}
		if err := do(e, builder, client); err != nil {
			return fmt.Errorf("add-on %s: %w", name, err)
		}
	}
	return nil
}

func (c *Cluster) loadExtra(ctx context.Context, e addons.Extra, builder *programs.Builder) error {
	if e.Program == "" {
		return nil
	}
	built, err := builder.Ensure(ctx, e.Program)
	if err != nil {
		return err
	}
	archives, err := images.Builtin(c.dirs.Images(), built)
	if err != nil {
		return err
	}
	r, err := c.running()
	if err != nil {
		return err
	}
	return c.load(ctx, r.Nodes, filepath.Join(r.Bin, "ctr"), archives)
}

func renderExtra(ctx context.Context, e addons.Extra, builder *programs.Builder) (*addons.Addons, error) {
	module, err := builder.ModuleDir(ctx, e.Module)
	if err != nil {
		return nil, err
	}
	return e.Render(module, time.Now())
}
