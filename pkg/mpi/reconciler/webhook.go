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
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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
// others pass as they are. What cannot be looked up passes too: this webhook never stops a pod. Before the first pod of a job
// it sees to its network policy, because nobody waits for a pass: Trainer makes the JobSet as soon as the TrainJob is there.
type propagation struct {
	r *Reconciler
	// guards holds the questions about policies, so that the pods of a wide job, which come all at once, ask one together.
	guards singleflight.Group
}

// Handle answers one question.
func (p *propagation) Handle(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode pod: %w", err))
	}
	dryRun := ptr.Deref(request.DryRun, false)
	changed, err := p.changed(ctx, client.ObjectKey{Namespace: request.Namespace, Name: pod.Labels[mpi.JobSetNameLabel]}, &pod, dryRun)
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

func (p *propagation) changed(ctx context.Context, name client.ObjectKey, pod *corev1.Pod, dryRun bool) (*corev1.Pod, error) {
	var trainJob trainer.TrainJob
	if err := p.r.client.Get(ctx, name, &trainJob); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	runtime, err := p.r.runtime(ctx, &trainJob)
	if err != nil || runtime == nil {
		return nil, err
	}
	if !dryRun {
		err = p.guard(ctx, job.PolicyBefore(&trainJob, *runtime, p.r.namespace))
	}
	return job.Propagate(pod, &trainJob, *runtime), err
}

// guard makes a policy that is not there yet, nil for none. One of somebody else's under the name stays; a pass says so.
func (p *propagation) guard(ctx context.Context, policy job.Object) error {
	if policy == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(policy)
	_, err, _ := p.guards.Do(key.String(), func() (any, error) {
		there := &metav1.PartialObjectMetadata{}
		there.SetGroupVersionKind(policy.GetObjectKind().GroupVersionKind())
		if err := p.r.live.Get(ctx, key, there); !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err := p.r.createOne(ctx, policy); !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		return nil, nil
	})
	if err != nil {
		return fmt.Errorf("make the network policy before the pods: %w", err)
	}
	return nil
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
