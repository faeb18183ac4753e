package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

// Namespace is where the controller runs.
const (
	Namespace  = "lockstep-system"
	controller = "deployment/mpi-controller"
)

const clusterSpec = "local"

// Platform is Lockstep on a running cluster.
type Platform struct {
	// Kubeconfig is the admin's.
	Kubeconfig string
	// Config is the admin's client configuration.
	Config *rest.Config
	// Machines is the number of nodes of the cluster.
	Machines int
	// Kubectl is the path of a kubectl of the cluster's version.
	Kubectl string
	// Progress is where Up reported.
	Progress *Progress

	tools    Tools
	started  bool
	external bool
}

// Up brings everything up. On failure it stops what it started.
func Up(ctx context.Context, tools Tools, nodes int, progress *Progress) (*Platform, error) {
	return begin(ctx, tools, nodes, progress, (*Platform).up)
}

// Prepare brings up a cluster with the images and upstream's kinds, on which Lockstep is not installed yet.
func Prepare(ctx context.Context, tools Tools, nodes int, progress *Progress) (*Platform, error) {
	return begin(ctx, tools, nodes, progress, (*Platform).prepare)
}

func begin(ctx context.Context, tools Tools, nodes int, progress *Progress, bring func(*Platform, context.Context) error) (*Platform, error) {
	p := &Platform{tools: tools, Machines: nodes, Progress: progress, Kubeconfig: os.Getenv("KUBECONFIG")}
	p.external = p.Kubeconfig != ""
	if err := bring(p, ctx); err != nil {
		return nil, fmt.Errorf("%w%s", err, p.failedClose())
	}
	return p, nil
}

func (p *Platform) failedClose() string {
	if err := p.Close(context.Background()); err != nil {
		return fmt.Sprintf("; and cleaning up failed: %v", err)
	}
	return ""
}

// up compiles while the cluster is prepared.
func (p *Platform) up(ctx context.Context) error {
	dist := filepath.Join(p.tools.Root, "build", "dist")
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return p.Progress.Step("compile the bundle", func() (string, error) { return p.compile(groupCtx, p.tools.Root, dist) })
	})
	group.Go(func() error { return p.prepare(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := p.Progress.Step("apply the compiled tree", func() (string, error) { return p.apply(ctx, filepath.Join(dist, clusterSpec)) }); err != nil {
		return err
	}
	if err := p.Progress.Step("controller ready", func() (string, error) { return p.startController(ctx) }); err != nil {
		return err
	}
	return p.Progress.Step("kinds are known", func() (string, error) { return "", p.waitForKinds(ctx) })
}

// Install compiles the bundle in a folder, applies it to a cluster that is prepared, and returns when the controller is at work.
func (p *Platform) Install(ctx context.Context, root string) error {
	dist := filepath.Join(root, "dist")
	return p.Progress.Step("install the bundle", func() (string, error) {
		if out, err := p.compile(ctx, root, dist); err != nil {
			return out, err
		}
		if out, err := p.apply(ctx, filepath.Join(dist, clusterSpec)); err != nil {
			return out, err
		}
		return p.startController(ctx)
	})
}

// prepare does side by side what does not wait for each other: the cluster starts while images are made.
func (p *Platform) prepare(ctx context.Context) error {
	var archives []string
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return p.Progress.Step("make images", func() (detail string, err error) {
			archives, err = p.images(groupCtx)
			return fmt.Sprintf("%d images", len(archives)), err
		})
	})
	group.Go(func() error { return p.Progress.Step("cluster", func() (string, error) { return p.cluster(groupCtx) }) })
	if err := group.Wait(); err != nil {
		return err
	}
	group, groupCtx = errgroup.WithContext(ctx)
	group.Go(func() error {
		return p.Progress.Step("load images", func() (string, error) { return p.load(groupCtx, archives) })
	})
	group.Go(func() error {
		return p.Progress.Step("install CRDs", func() (string, error) { return p.installCRDs(groupCtx) })
	})
	return group.Wait()
}

// Close stops the cluster if Up started it.
func (p *Platform) Close(ctx context.Context) error {
	if !p.started {
		return nil
	}
	_, err := p.tools.output(ctx, p.tools.Cluster, "down")
	return err
}

// Started reports whether Up started the cluster, so that Close will stop it.
func (p *Platform) Started() bool { return p.started }

func (p *Platform) compile(ctx context.Context, root, dist string) (string, error) {
	out, err := p.tools.output(ctx, p.tools.Compiler, "build", "--root", root, "--cluster", clusterSpec, "--out", dist)
	return lastLine(out), err
}

// images returns the paths of the image archives.
func (p *Platform) images(ctx context.Context) ([]string, error) {
	if p.external {
		return nil, nil
	}
	out, err := p.tools.output(ctx, p.tools.Images, append([]string{"build"}, p.tools.Needs...)...)
	if err != nil {
		return nil, err
	}
	var archives []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 3 {
			archives = append(archives, fields[2])
		}
	}
	return archives, nil
}

func (p *Platform) cluster(ctx context.Context) (string, error) {
	if err := p.startCluster(ctx); err != nil {
		return "", err
	}
	if err := p.connect(); err != nil {
		return "", err
	}
	return p.Config.Host, nil
}

func (p *Platform) startCluster(ctx context.Context) error {
	if err := p.buildPrograms(ctx); err != nil || p.external {
		return err
	}
	// Without output: that there is no cluster yet is not news.
	p.started = p.tools.command(ctx, p.tools.Cluster, "status").Run() != nil
	crds, err := pinned.CRDs(pinned.Trainer)
	if err != nil {
		return err
	}
	up := []string{"up", "--nodes", fmt.Sprint(p.Machines), "--wait", "--crds", crds[0]}
	if p.tools.Audit {
		up = append(up, "--audit", controllerUser)
	}
	if _, err := p.tools.output(ctx, p.tools.Cluster, up...); err != nil {
		return err
	}
	out, err := p.tools.output(ctx, p.tools.Cluster, "kubeconfig")
	p.Kubeconfig = strings.TrimSpace(out)
	return err
}

// buildPrograms builds those of the cluster that the cache lacks, all at once: of somebody else's cluster only kubectl is needed.
func (p *Platform) buildPrograms(ctx context.Context) error {
	build := []string{"build"}
	if p.external {
		build = append(build, "kubectl")
	}
	out, err := p.tools.output(ctx, p.tools.Cluster, build...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if name, path, found := strings.Cut(strings.TrimSpace(line), " "); found && name == "kubectl" {
			p.Kubectl = path
		}
	}
	return nil
}

func (p *Platform) load(ctx context.Context, archives []string) (string, error) {
	if p.external {
		return "left to the cluster of KUBECONFIG", nil
	}
	_, err := p.tools.output(ctx, p.tools.Cluster, append([]string{"load"}, archives...)...)
	return "", err
}

// installCRDs is for a cluster that somebody else started; a local one gets them before its controllers start.
func (p *Platform) installCRDs(ctx context.Context) (string, error) {
	if !p.external {
		return "with the cluster", nil
	}
	crds, err := pinned.CRDs(pinned.Trainer)
	if err != nil {
		return "", err
	}
	return p.apply(ctx, crds[0])
}

// apply applies a folder that has a kustomization.yaml, as a GitOps engine would: again after a failure on a slow machine, where the API
// server may need longer than the half minute that kubectl waits for its schemas.
func (p *Platform) apply(ctx context.Context, dir string) (out string, err error) {
	attempts := 1
	if ScaleTimeout(1) > 1 {
		attempts = 5
	}
	for range attempts {
		out, err = p.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", dir)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return fmt.Sprintf("%d objects", strings.Count(out, "\n")), err
}

// startController returns when the controller of this checkout is at work. On a cluster that was up already an older one
// may run under the same image name.
func (p *Platform) startController(ctx context.Context) (string, error) {
	if !p.started && !p.external {
		if _, err := p.kubectl(ctx, "-n", Namespace, "rollout", "restart", controller); err != nil {
			return "", err
		}
	}
	out, err := p.kubectl(ctx, "-n", Namespace, "rollout", "status", controller, "--timeout=180s")
	return lastLine(out), err
}

func (p *Platform) kubectl(ctx context.Context, args ...string) (string, error) {
	return p.tools.output(ctx, p.Kubectl, append([]string{"--kubeconfig", p.Kubeconfig}, args...)...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
