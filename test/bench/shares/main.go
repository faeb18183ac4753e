// Command shares puts random load on the queues of two cohorts, on the local cluster with the real Kueue, and judges every second whether each
// tenant has what `runtime-compiler plan` says: never more than its most, never more in a cohort than its machines, and what is guaranteed to it
// within a minute, whoever has borrowed it. Jobs are real: pods, ranks, preemption. A real Prometheus has the rules of the mixin meanwhile, and no
// alert may fire: the jobs are honest.
//
// A machine of the bundle is a slice of a machine of the local cluster, so that twelve of them fit.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/prometheus"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	name     = "bench-shares"
	machines = 2
)

//go:embed bundle
var bundle embed.FS

func main() { series.Main(name, run) }

func run(ctx context.Context) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	length := flags.Duration("for", 10*time.Minute, "`time` in which jobs are created")
	seed := flags.Uint64("seed", 1, "`number` that the load follows from")
	programs := flags.String("prometheus", os.Getenv(prometheus.Folder), "`folder` with the program prometheus, for alerts ("+prometheus.Folder+")")
	out := flags.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	report, err := measure(ctx, *programs, *length, *seed)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	if *out != "" {
		if err := testjob.WriteJSON(*out, report); err != nil {
			return err
		}
	}
	return report.Verdict()
}

// measure brings the cluster up with the bundle and takes it down.
func measure(ctx context.Context, programs string, length time.Duration, seed uint64) (report Report, err error) {
	tools, err := platform.DefaultTools(os.Stderr)
	if err != nil {
		return report, err
	}
	p, err := platform.Prepare(ctx, tools, machines, platform.NewProgress(os.Stderr))
	if err != nil {
		return report, err
	}
	defer func() {
		if closed := p.Close(context.WithoutCancel(ctx)); err == nil {
			err = closed
		}
	}()
	if err := p.AddAddons(ctx, "kueue"); err != nil {
		return report, err
	}
	root, err := writeBundle(tools.Root)
	if err != nil {
		return report, err
	}
	defer func() { _ = os.RemoveAll(root) }()
	if err := p.Install(ctx, root); err != nil {
		return report, err
	}
	plan, err := readPlan(ctx, tools.Compiler, root)
	if err != nil {
		return report, err
	}
	admin, err := p.Admin()
	if err != nil {
		return report, err
	}
	alerts, err := watchAlerts(ctx, programs, filepath.Join(tools.Root, "mixin", "alerts", "*.yaml"), p.OurMeter())
	if err != nil {
		return report, err
	}
	defer alerts.close()
	began := time.Now()
	err = p.Progress.Watch("random load", func(now func(string)) (err error) {
		report, err = loadQueues(ctx, admin.Client, plan, length, seed, now)
		return err
	})
	if err != nil {
		return report, err
	}
	report.Alerts, err = alerts.fired(ctx, began)
	return report, err
}

// writeBundle writes the specs into a folder of their own, with the charts of the checkout.
func writeBundle(checkout string) (root string, err error) {
	specs, err := fs.Sub(bundle, "bundle")
	if err != nil {
		return "", fmt.Errorf("read the bundle: %w", err)
	}
	if root, err = os.MkdirTemp("", name); err != nil {
		return "", fmt.Errorf("make a folder for the bundle: %w", err)
	}
	if err := os.CopyFS(root, specs); err != nil {
		return root, fmt.Errorf("write the bundle: %w", err)
	}
	if err := os.CopyFS(filepath.Join(root, "charts"), os.DirFS(filepath.Join(checkout, "charts"))); err != nil {
		return root, fmt.Errorf("copy the charts: %w", err)
	}
	return root, nil
}
