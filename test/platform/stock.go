package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

// StockImage is an image with Open MPI 4 and OpenSSH, arranged as upstream's.
const StockImage = "lockstep.test/mpi/openmpi-ssh:4"

// UseStock replaces our controller by Kubeflow Trainer's own, because two TrainJob controllers would fight. Undo puts ours
// back.
func (p *Platform) UseStock(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(ctx context.Context) error {
		if err := p.RemoveAddons(ctx, "trainer"); err != nil {
			return err
		}
		return p.StartController(ctx)
	}
	if err := p.StopController(ctx); err != nil {
		return undo, err
	}
	return undo, p.AddAddons(ctx, "trainer")
}

// TorchRuntime is the name of upstream's runtime of PyTorch.
const TorchRuntime = "torch-distributed"

// AddUpstreamRuntime installs upstream's runtime of DeepSpeed over OpenSSH under a name and after a change. What the
// cluster does not have, its image, is replaced in any case.
func (p *Platform) AddUpstreamRuntime(ctx context.Context, name string, change func(*trainer.TrainingRuntimeSpec)) error {
	return p.addUpstreamRuntime(ctx, "deepspeed_distributed.yaml", name, change)
}

// AddTorchRuntime installs upstream's runtime of PyTorch after a change, its image replaced.
func (p *Platform) AddTorchRuntime(ctx context.Context, change func(*trainer.TrainingRuntimeSpec)) error {
	return p.addUpstreamRuntime(ctx, "torch_distributed.yaml", TorchRuntime, change)
}

func (p *Platform) addUpstreamRuntime(ctx context.Context, file, name string, change func(*trainer.TrainingRuntimeSpec)) error {
	runtime, err := p.stockRuntime(file, name)
	if err != nil {
		return err
	}
	change(&runtime.Spec)
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(admin.Client.Create(ctx, runtime))
}

// UseStockWith is UseStock and installs a runtime of upstream's, that of DeepSpeed over OpenSSH, under a name and after a change.
func (p *Platform) UseStockWith(ctx context.Context, name string, change func(*trainer.TrainingRuntimeSpec)) (undo func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	runtime, err := p.stockRuntime("deepspeed_distributed.yaml", name)
	if err != nil {
		return nothing, err
	}
	change(&runtime.Spec)
	admin, err := p.Admin()
	if err != nil {
		return nothing, err
	}
	if undo, err = p.UseStock(ctx); err != nil {
		return undo, err
	}
	return undo, client.IgnoreAlreadyExists(admin.Client.Create(ctx, runtime))
}

// LauncherApart is a change of a runtime: a launcher beside the nodes.
func LauncherApart(spec *trainer.TrainingRuntimeSpec) {
	spec.MLPolicy.MPI.RunLauncherAsNode = ptr.To(false)
}

// stockRuntime reads a runtime of upstream's from its module and changes nothing but its name and the image, which
// upstream's registry has and this cluster does not.
func (p *Platform) stockRuntime(file, name string) (*trainer.ClusterTrainingRuntime, error) {
	crds, err := pinned.CRDs(pinned.Trainer)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(crds[0], "..", "runtimes", file))
	if err != nil {
		return nil, fmt.Errorf("read a runtime of upstream's: %w", err)
	}
	runtime := &trainer.ClusterTrainingRuntime{}
	if err := yaml.Unmarshal(content, runtime); err != nil {
		return nil, fmt.Errorf("read upstream's %s: %w", file, err)
	}
	runtime.Name = name
	jobs := runtime.Spec.Template.Spec.ReplicatedJobs
	if len(jobs) == 0 {
		return nil, errors.New("upstream's " + file + " has no replicated jobs")
	}
	for i := range jobs {
		containers := jobs[i].Template.Spec.Template.Spec.Containers
		for j := range containers {
			containers[j].Image, containers[j].ImagePullPolicy = StockImage, corev1.PullIfNotPresent
		}
	}
	return runtime, nil
}
