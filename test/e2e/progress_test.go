package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

// serveStatus switches Kubeflow Trainer's alpha feature on, by which programs write into the status of their TrainJob, and opens the way to it:
// nothing that is compiled does.
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
	way := &networkingv1.NetworkPolicy{ObjectMeta: owned("status-server", tenant), Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{
			To: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "trainer"}},
			}},
			Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(10443))}},
		}},
	}}
	Expect(admin.Client.Create(ctx, way)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, way)).To(Succeed()) })
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
