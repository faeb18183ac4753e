package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

var _ = Describe("A program that reports its progress", func() {
	It("shows it in the status of its job, within seconds and to the last", expectLiveProgress)
})

// telling is a program whose first rank prints its progress, and whose last rank, on another node, posts it as Kubeflow's
// callbacks do. All nodes of the cluster have the clock of this machine.
const telling = `
import json, os, ssl, time, urllib.request
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])
if rank == 0:
    print(f"lockstep: progress 25% remaining=30s loss=0.5 at={time.time():.3f} key=secret", flush=True)
if rank == 3:
    time.sleep(7)
    metrics = [{"name": "loss", "value": "0.25"}, {"name": "at", "value": f"{time.time():.3f}"}]
    metrics += [{"name": "stage", "value": "warm"}]
    status = {"progressPercentage": 60, "metrics": metrics, "lastUpdatedTime": "2026-01-01T00:00:00Z"}
    token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()
    context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
    body, headers = json.dumps({"trainerStatus": status}).encode(), {"Authorization": "Bearer " + token}
    request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], body, headers)
    urllib.request.urlopen(request, context=context)
time.sleep(16 - 7 * (rank == 3))
if rank == 0:
    print(f"lockstep: progress 100% loss=0.125 at={time.time():.3f}", flush=True)
`

// soon is the most seconds from a report to the status, seen by looks a tenth of a second apart.
const soon = 10

func expectLiveProgress(ctx SpecContext) {
	j := job("tells", "openmpi5-cpu", "mpirun", "-n", "4", "python3", "-c", telling)
	removeAfterwards(ctx, j)
	object := j.TrainJob()
	Expect(editor.Client.Create(ctx, object)).To(Succeed())
	seen, late := []int32{}, []float64{}
	Eventually(func(g Gomega) {
		g.Expect(editor.Client.Get(ctx, keyOf(object), object)).To(Succeed())
		told := object.Status.TrainerStatus
		g.Expect(told).NotTo(BeNil())
		if percent := *told.ProgressPercentage; !slices.Contains(seen, percent) {
			at, err := strconv.ParseFloat(told.Metrics[0].Value, 64)
			g.Expect(err).NotTo(HaveOccurred())
			seen, late = append(seen, percent), append(late, float64(time.Now().UnixMilli())/1000-at)
		}
		g.Expect(seen).To(ContainElement(int32(100)))
	}).WithTimeout(jobTimeout).WithPolling(100 * time.Millisecond).Should(Succeed())
	fmt.Fprintln(lines, "percents that were seen:", seen, "seconds after they were told:", late)
	Expect(seen).To(Equal([]int32{25, 60, 100}))
	Expect(late).To(HaveEach(BeNumerically("<=", soon)))
	Eventually(completes(ctx, editor, object)).Should(BeTrue())
	Expect(object.Status.TrainerStatus.Metrics).To(Equal([]trainer.Metric{
		{Name: "at", Value: object.Status.TrainerStatus.Metrics[0].Value}, {Name: "loss", Value: "0.125"},
	}), "numbers only")
}

// toldProgress is what a program has told, as a client saw it.
type toldProgress struct {
	Phase string
	Seen  []struct {
		Progress *int
		Metrics  map[string]string
	}
	Progress *int
	Metrics  map[string]string
	Log      []string
}

func tellProgress(ctx context.Context) (told toldProgress) {
	GinkgoHelper()
	Expect(json.Unmarshal([]byte(packaged(ctx)(filepath.Join("kubeflow", "progress.py"), "openmpi5-cpu")), &told)).To(Succeed())
	Expect(told.Phase).To(Equal("Complete"))
	return told
}

// serveStatus switches on Kubeflow Trainer's alpha feature, by which programs write into the status of their TrainJob.
// The compiled network policies open the way to it.
func serveStatus(ctx SpecContext) {
	GinkgoHelper()
	const namespace, manager = "kubeflow-system", "kubeflow-trainer-controller-manager"
	hooks := &admissionv1.ValidatingWebhookConfigurationList{}
	Expect(admin.Client.List(ctx, hooks)).To(Succeed())
	var authority []byte
	for _, hook := range hooks.Items {
		for _, webhook := range hook.Webhooks {
			if service := webhook.ClientConfig.Service; service != nil && service.Name == manager {
				authority = webhook.ClientConfig.CABundle
			}
		}
	}
	Expect(authority).NotTo(BeEmpty())
	secret := &corev1.Secret{}
	Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kubeflow-trainer-webhook-cert"}, secret)).To(Succeed())
	secret.Data["ca.crt"] = authority
	Expect(admin.Client.Update(ctx, secret)).To(Succeed())
	config := &corev1.ConfigMap{}
	Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kubeflow-trainer-config"}, config)).To(Succeed())
	config.Data["controller_manager_config.yaml"] += "\nfeatureGates:\n  TrainJobStatus: true\n"
	Expect(admin.Client.Update(ctx, config)).To(Succeed())
	for _, step := range []string{"restart", "status"} {
		out, err := exec.CommandContext(ctx, cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "--namespace", namespace, "rollout", step, "deployment/"+manager).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	}
}

// expectProgress expects that what a program told stood in the status while it ran, and at the end.
func expectProgress(told toldProgress) {
	GinkgoHelper()
	percents := map[int]bool{}
	for _, seen := range told.Seen {
		if seen.Progress != nil {
			percents[*seen.Progress] = true
		}
	}
	fmt.Fprintln(lines, "percents that were seen:", percents, "metrics at the end:", told.Metrics)
	Expect(len(percents)).To(BeNumerically(">=", 3), "%v", told.Log)
	Expect(told.Progress).To(HaveValue(Equal(100)))
	Expect(told.Metrics).To(HaveKeyWithValue("loss", HavePrefix("0.08333")))
}
