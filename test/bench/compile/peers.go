package main

import (
	"context"
	"path/filepath"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
	"lockstep.dev/lockstep/test/bench/workload"
)

var peers = []tool.Peer{
	{Name: "helm", Module: "helm.sh/helm/v3", Package: "helm.sh/helm/v3/cmd/helm"},
	{Name: "jsonnet", Module: "github.com/google/go-jsonnet", Package: "github.com/google/go-jsonnet/cmd/jsonnet"},
	{Name: "kustomize", Module: "sigs.k8s.io/kustomize/kustomize/v5", Package: "sigs.k8s.io/kustomize/kustomize/v5"},
}

func (s *site) peer(names ...string) string {
	return filepath.Join(append([]string{s.root, workload.PeersFolder}, names...)...)
}

// wholeCommands makes the objects of all tenants and clusters below the folder out.
func (b *bench) wholeCommands(name string, s *site, out string) []meter.Command {
	switch name {
	case "helm":
		var commands []meter.Command
		for _, cluster := range s.Clusters {
			c := b.helmCommand(s, cluster, s.peer("helm-values", "tenants.yaml"))
			c.Stdout = filepath.Join(out, cluster+".yaml")
			commands = append(commands, c)
		}
		return commands
	case "jsonnet":
		return []meter.Command{b.jsonnetCommand(s, "", "-c", "-m", out)}
	}
	return b.kustomizeCommands(s, out)
}

// kustomizeCommands makes the objects of the sampled tenants, one process per tenant and cluster: one process for all takes
// time that grows with the square of their number.
func (b *bench) kustomizeCommands(s *site, out string) []meter.Command {
	var commands []meter.Command
	for _, cluster := range s.Clusters {
		for _, tenant := range s.sampled {
			c := b.peerTenantCommand("kustomize", s, cluster, tenant)
			c.Stdout = filepath.Join(out, cluster+"-"+tenant+".yaml")
			commands = append(commands, c)
		}
	}
	return commands
}

// peerTenantCommand makes the objects of one tenant on one cluster and prints them.
func (b *bench) peerTenantCommand(name string, s *site, cluster, tenant string) meter.Command {
	switch name {
	case "helm":
		return b.helmCommand(s, cluster, s.peer("helm-values", "one", tenant+".yaml"))
	case "jsonnet":
		expression := "local files = (import 'main.jsonnet')(only='" + tenant + "'); files['" + cluster + "/tenants/" + tenant + "/tenant.yaml']"
		return meter.Command{Args: []string{b.Peers[name].Path, "-S", "-e", expression}, Dir: s.peer(workload.JsonnetFolder)}
	}
	return meter.Command{Args: []string{b.Peers[name].Path, "build", s.peer(workload.KustomizeFolder, workload.Overlay(cluster, tenant))}}
}

func (b *bench) helmCommand(s *site, cluster, values string) meter.Command {
	return meter.Command{Args: []string{
		b.Peers["helm"].Path, "template", "tenants", s.peer(workload.HelmFolder),
		"--values", s.peer("helm-values", "clusters", cluster+".yaml"), "--values", values,
	}}
}

func (b *bench) jsonnetCommand(s *site, only string, flags ...string) meter.Command {
	args := append([]string{b.Peers["jsonnet"].Path, "-S", "--tla-str", "only=" + only}, flags...)
	return meter.Command{Args: append(args, "main.jsonnet"), Dir: s.peer(workload.JsonnetFolder)}
}

// peerPlans measures what the other tools can do. None of them knows what changed: after no change, each makes everything again.
func (b *bench) peerPlans() []*plan {
	var plans []*plan
	for _, p := range peers {
		whole := b.peerPlan(p.Name, fullBuild, b.work, func(out string, _ int) []meter.Command { return b.wholeCommands(p.Name, b.work, out) })
		one := b.peerPlan(p.Name, oneTenant, b.work, func(out string, run int) []meter.Command { return b.oneTenantCommands(p.Name, out, run) })
		ten := b.peerPlan(p.Name, tenTenants, b.ten, func(out string, _ int) []meter.Command { return b.wholeCommands(p.Name, b.ten, out) })
		if p.Name == "kustomize" { // it makes the objects of sampled tenants only
			whole.Factor = float64(b.work.objects) / float64(b.work.sampledObjects)
			ten.Objects = b.ten.sampledObjects
		}
		plans = append(plans, whole, one, ten)
	}
	return plans
}

func (b *bench) peerPlan(name, scenario string, s *site, commands func(out string, run int) []meter.Command) *plan {
	out := filepath.Join(b.Dir, "out")
	return &plan{
		Series: s.series(name, scenario),
		Plan: series.Plan{
			Prepare:  func(context.Context, int) error { return emptyFolder(out) },
			Commands: func(run int) []meter.Command { return commands(out, run) },
		},
	}
}

// oneTenantCommands makes the objects of one tenant on all clusters: what somebody would run who knows what changed.
func (b *bench) oneTenantCommands(name, out string, run int) []meter.Command {
	tenant := b.work.sampled[run%len(b.work.sampled)]
	if name == "jsonnet" {
		return []meter.Command{b.jsonnetCommand(b.work, tenant, "-c", "-m", out)}
	}
	var commands []meter.Command
	for _, cluster := range b.work.Clusters {
		c := b.peerTenantCommand(name, b.work, cluster, tenant)
		c.Stdout = filepath.Join(out, cluster+".yaml")
		commands = append(commands, c)
	}
	return commands
}
