package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Webhook is the name of what only a companion has: its Service, its MutatingWebhookConfiguration and its Secret.
const Webhook = "mpi-controller-webhook"

// UseCompanion makes Kubeflow Trainer's own manager run the jobs, with our controller beside it, as on a cluster whose
// executor is KubeflowTrainer: the same bundle is compiled for it and applied. It returns when the API server has asked our
// controller about a pod. Undo goes back.
func (p *Platform) UseCompanion(ctx context.Context) (undo func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	dist, err := p.compileForTrainer(ctx)
	if err != nil {
		return nothing, err
	}
	if _, err := p.UseStock(ctx); err != nil {
		return p.useExecutor, err
	}
	if _, err := p.apply(ctx, filepath.Join(dist, clusterSpec)); err != nil {
		return p.useExecutor, err
	}
	return p.useExecutor, p.StartCompanion(ctx)
}

// StartCompanion returns when our controller is at work again, and pods are sent to it.
func (p *Platform) StartCompanion(ctx context.Context) error {
	return errors.Join(p.StartController(ctx), p.waitForWebhook(ctx))
}

// useExecutor removes Kubeflow Trainer, and applies what Up did. What only a companion has is deleted, as a GitOps engine
// would.
func (p *Platform) useExecutor(ctx context.Context) error {
	if err := p.RemoveAddons(ctx, "trainer"); err != nil {
		return err
	}
	if _, err := p.apply(ctx, filepath.Join(p.tools.Root, "build", "dist", clusterSpec)); err != nil {
		return err
	}
	if _, err := p.kubectl(ctx, "-n", Namespace, "delete", "--ignore-not-found", "mutatingwebhookconfiguration/"+Webhook, "service/"+Webhook, "secret/"+Webhook); err != nil {
		return err
	}
	if _, err := p.kubectl(ctx, "delete", "--all-namespaces", "networkpolicies", "--field-selector", "metadata.name=lockstep-external-jobs"); err != nil {
		return err
	}
	return p.StartController(ctx)
}

// ApplyExecutor applies the controller that is compiled for the executor, while Kubeflow Trainer runs the jobs with a companion beside
// it, as somebody would by mistake. The executor's pod does not become ready, so that the companion goes on. Undo applies again
// what UseCompanion did.
func (p *Platform) ApplyExecutor(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(ctx context.Context) error {
		if _, err := p.apply(ctx, filepath.Join(p.companionBundle(), "dist", clusterSpec)); err != nil {
			return err
		}
		return p.StartCompanion(ctx)
	}
	_, err = p.apply(ctx, filepath.Join(p.tools.Root, "build", "dist", clusterSpec, "platform"))
	return undo, err
}

func (p *Platform) companionBundle() string {
	return filepath.Join(p.tools.Root, "build", "test", "companion")
}

// compileForTrainer compiles a copy of the bundle whose cluster has the other executor, and of which one tenant may use a runtime of
// Trainer's own.
func (p *Platform) compileForTrainer(ctx context.Context) (string, error) {
	root := p.companionBundle()
	if err := os.RemoveAll(root); err != nil {
		return "", err
	}
	if err := copyBundle(p.tools.Root, root); err != nil {
		return "", err
	}
	for path, more := range map[string]string{
		filepath.Join("overlays", clusterSpec, "cluster.yaml"): "executor: KubeflowTrainer",
		filepath.Join("tenants", "team-vision.yaml"):           "externalRuntimes: [" + TorchRuntime + "]",
	} {
		if err := addToSpec(filepath.Join(root, path), more); err != nil {
			return "", err
		}
	}
	dist := filepath.Join(root, "dist")
	_, err := p.compile(ctx, root, dist)
	return dist, err
}

// addToSpec adds a line to the spec in a file.
func addToSpec(path, line string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a spec: %w", err)
	}
	content = bytes.Replace(content, []byte("\nspec:\n"), []byte("\nspec:\n  "+line+"\n"), 1)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write a spec: %w", err)
	}
	return nil
}

// waitForWebhook asks for a pod of no JobSet, without making it, until the API server has heard the controller's answer: when the
// controller is ready, the way through its Service may not be.
func (p *Platform) waitForWebhook(ctx context.Context) error {
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "webhook-", Namespace: "default",
			Labels: map[string]string{mpi.JobSetNameLabel: "none", mpi.ReplicatedJobLabel: mpi.NodeJob},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container, Image: StockImage}}},
	}
	before, err := p.answers(ctx)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, ScaleTimeout(time.Minute), true, func(ctx context.Context) (bool, error) {
		if err := admin.Client.Create(ctx, pod.DeepCopy(), client.DryRunAll); err != nil {
			return false, err
		}
		now, err := p.answers(ctx)
		return now > before, err
	})
	if err != nil {
		return fmt.Errorf("wait until the API server asks the companion about pods: %w", err)
	}
	return nil
}

// answers counts those that the API server has had from the webhook.
func (p *Platform) answers(ctx context.Context) (float64, error) {
	metrics, err := p.APIServerMetrics(ctx)
	return metrics.Sum("apiserver_admission_webhook_request_total", "name", "propagate.mpi-controller.lockstep.dev", "code", "200"), err
}
