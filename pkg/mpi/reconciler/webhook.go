package reconciler

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// WebhookPath is where a companion is asked about pods that are about to be made.
const WebhookPath = "/propagate"

// propagation answers for pods of JobSets: those of our TrainJobs get what Kubeflow Trainer gives to the launcher only, all
// others pass as they are. What cannot be looked up passes too: this webhook never stops a pod.
type propagation struct{ r *Reconciler }

// Handle answers one question.
func (p propagation) Handle(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode pod: %w", err))
	}
	changed, err := p.changed(ctx, client.ObjectKey{Namespace: request.Namespace, Name: pod.Labels[mpi.JobSetNameLabel]}, &pod)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "look up the TrainJob of a pod")
	}
	if changed == nil {
		return admission.Allowed("")
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode pod: %w", err))
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, text)
}

func (p propagation) changed(ctx context.Context, name client.ObjectKey, pod *corev1.Pod) (*corev1.Pod, error) {
	var trainJob trainer.TrainJob
	if err := p.r.client.Get(ctx, name, &trainJob); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	runtime, err := p.r.runtime(ctx, &trainJob)
	if err != nil || runtime == nil {
		return nil, err
	}
	return job.Propagate(pod, &trainJob, *runtime), nil
}

// webhookServer listens on the address of a companion, with a certificate that identity makes. Nil without an address.
func webhookServer(options Options, own *certificate) (webhook.Server, error) {
	if !options.propagates() {
		return nil, nil
	}
	host, text, err := net.SplitHostPort(options.WebhookAddress)
	if err != nil {
		return nil, fmt.Errorf("webhook address `%s`: %w", options.WebhookAddress, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("webhook address `%s`: `%s` is not a port", options.WebhookAddress, text)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.GetCertificate = own.get },
	}}), nil
}
