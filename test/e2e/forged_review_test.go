package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/platform"
)

// forgedReview is what the API server would ask about a node's pod of a TrainJob, written by somebody else. Nothing in it is secret: who
// knows the name of a job can write it.
func forgedReview(trainJob *trainer.TrainJob) []byte {
	GinkgoHelper()
	pod, err := json.Marshal(corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: trainJob.Name + "-node-0-0-x7x2p", Namespace: trainJob.Namespace,
			Labels: map[string]string{mpi.JobSetNameLabel: trainJob.Name, mpi.ReplicatedJobLabel: mpi.NodeJob},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container, Image: "example.org/any:1"}}},
	})
	Expect(err).NotTo(HaveOccurred())
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "forged", Namespace: trainJob.Namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: pod}, DryRun: ptr.To(true),
	}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	text, err := json.Marshal(review)
	Expect(err).NotTo(HaveOccurred())
	return text
}

// expectSecretPath shows that a forged review learns the environment of a TrainJob only under the path that the API server reads from the
// webhook's configuration, which tenants cannot read.
func expectSecretPath(ctx SpecContext) {
	GinkgoHelper()
	j := job("forged", "openmpi5-cpu", "true")
	j.Env = []corev1.EnvVar{{Name: "WANDB_API_KEY", Value: "nobody-else-may-know"}}
	removeAfterwards(ctx, j)
	trainJob := j.TrainJob()
	trainJob.Spec.Suspend = ptr.To(true)
	Expect(editor.Client.Create(ctx, trainJob)).To(Succeed())
	review := forgedReview(trainJob)

	hooks := &admissionregistrationv1.MutatingWebhookConfiguration{}
	Expect(editor.Client.Get(ctx, client.ObjectKey{Name: platform.Webhook}, hooks)).NotTo(Succeed(), "an editor reads where the API server asks")
	Expect(admin.Client.Get(ctx, client.ObjectKey{Name: platform.Webhook}, hooks)).To(Succeed())
	pods := &corev1.PodList{}
	Expect(admin.Client.List(ctx, pods, client.InNamespace(platform.Namespace), client.MatchingLabels{"app.kubernetes.io/name": mpi.ControllerName})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))

	anybody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a forger believes everybody
	defer anybody.CloseIdleConnections()
	ask := func(path string) (status int, answer string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+net.JoinHostPort(pods.Items[0].Status.PodIP, "9443")+path, bytes.NewReader(review))
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", "application/json")
		response, err := anybody.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		return response.StatusCode, string(text)
	}
	for _, path := range []string{"/", "/propagate", "/propagate/", "/propagate/00000000000000000000000000000000", "/metrics", "/debug/pprof/"} {
		status, answer := ask(path)
		Expect(status).To(Equal(http.StatusNotFound), path)
		Expect(answer).NotTo(ContainSubstring("forged"), path)
	}

	// The same review under the right path: it was a good one.
	_, answer := ask(*hooks.Webhooks[0].ClientConfig.Service.Path)
	var said admissionv1.AdmissionReview
	Expect(json.Unmarshal([]byte(answer), &said)).To(Succeed(), answer)
	Expect(said.Response).NotTo(BeNil(), answer)
	Expect(string(said.Response.Patch)).To(ContainSubstring("nobody-else-may-know"))
}
