package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
	"lockstep.dev/lockstep/test/bench/workload"
)

// buildPeers builds the other tools. Helm is that of bench-compile.
func buildPeers(ctx context.Context, folder string, say func(string, ...any)) (map[string]tool.Tool, error) {
	tools, err := tool.Build(ctx, filepath.Join(folder, "compile", "peers"),
		[]tool.Peer{{Name: "helm", Module: "helm.sh/helm/v3", Package: "helm.sh/helm/v3/cmd/helm"}}, say)
	if err != nil {
		return nil, err
	}
	more, err := tool.Build(ctx, filepath.Join(folder, "review", "peers"),
		[]tool.Peer{{Name: "dyff", Module: "github.com/homeport/dyff", Package: "github.com/homeport/dyff/cmd/dyff"}}, say)
	maps.Copy(tools, more)
	return tools, err
}

// helmDyff is how the series of the other tools are called.
const helmDyff = "helm + dyff"

// peerPlans measure what others do for a pull request: render both sides of each cluster and compare the results. They do not know what
// changed, so that each change takes everything.
func (b *bench) peerPlans(s *site) []*plan {
	return []*plan{b.peerPlan(s, opened, b.openedValues), b.peerPlan(s, oneFolders, b.tenantValues)}
}

// sides are the values of the tenants of a cluster before and after.
type sides func(s *site, cluster string) (before, after string)

func (b *bench) peerPlan(s *site, scenario string, values sides) *plan {
	p := &plan{Series: s.series(helmDyff, scenario)}
	var commands []meter.Command
	for _, cluster := range s.Clusters {
		before, after := values(s, cluster)
		compared := b.output("dyff-" + cluster + ".txt")
		commands = append(commands,
			b.helm(s, cluster, before, b.output("before.yaml")), b.helm(s, cluster, after, b.output("after.yaml")),
			meter.Command{Args: []string{b.Peers["dyff"].Path, "between", "--omit-header", b.output("before.yaml"), b.output("after.yaml")}, Stdout: compared, Limit: b.o.limit})
		p.printed = append(p.printed, compared)
	}
	p.Plan = series.Plan{
		Prepare:  func(ctx context.Context, _ int) error { return b.preparePeers(ctx, s) },
		Commands: func(int) []meter.Command { return commands },
	}
	return p
}

func values(state, name string) string {
	return filepath.Join(state, workload.PeersFolder, "helm-values", name)
}

func (b *bench) helm(s *site, cluster, tenants, out string) meter.Command {
	return meter.Command{Stdout: out, Args: []string{
		b.Peers["helm"].Path, "template", "tenants", filepath.Join(s.base, workload.PeersFolder, workload.HelmFolder),
		"--values", values(s.base, "clusters/"+cluster+".yaml"), "--values", tenants,
	}}
}

func (b *bench) tenantValues(s *site, _ string) (before, after string) {
	return values(s.base, "tenants.yaml"), values(s.oneTenant, "tenants.yaml")
}

// openedValues are other ones for the first cluster only.
func (b *bench) openedValues(s *site, cluster string) (before, after string) {
	before = workload.HelmStorageValues(s.base, storage)
	if cluster == s.Clusters[0] {
		return before, workload.HelmStorageValues(s.base, all)
	}
	return before, before
}

// preparePeers writes the inputs of Helm once.
func (b *bench) preparePeers(ctx context.Context, s *site) error {
	if _, err := os.Stat(values(s.oneTenant, "tenants.yaml")); err == nil {
		return nil
	}
	for _, state := range []string{s.base, s.oneTenant} {
		if _, err := workload.Compile(ctx, b.Compiler.Path, state, s.compiled(state)); err != nil {
			return err
		}
		if err := workload.WritePeers(state, s.compiled(state), s.Workload, nil); err != nil {
			return fmt.Errorf("write what Helm reads: %w", err)
		}
	}
	for _, cidr := range []string{storage, all} {
		if err := workload.HelmStorage(s.base, cidr); err != nil {
			return fmt.Errorf("write what Helm reads: %w", err)
		}
	}
	return b.complete(ctx, s)
}

// complete proves that Helm makes as many objects of what is compared as runtime-compiler; that they are equal bench-compile proves.
func (b *bench) complete(ctx context.Context, s *site) error {
	made := 0
	for _, cluster := range s.Clusters {
		out := b.output("before.yaml")
		if _, err := b.Meter.Measure(ctx, b.helm(s, cluster, workload.HelmStorageValues(s.base, storage), out)); err != nil {
			return err
		}
		found, err := workload.Manifests(out)
		if err != nil {
			return err
		}
		made += found
	}
	if made != s.narrowed {
		return fmt.Errorf("helm makes %d objects, runtime-compiler %d", made, s.narrowed)
	}
	return nil
}
