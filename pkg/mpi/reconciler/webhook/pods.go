package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/ttl"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

// webhookPath is the public part of the path under which a companion is asked about pods that are about to be made.
const webhookPath = "/propagate/"

// complainAgain is how long nothing more is said about the same trouble with the pods of one job.
const complainAgain = time.Hour

// podWebhook answers for pods of JobSets: those of our TrainJobs get what Kubeflow Trainer gives to the launcher only, all
// others pass as they are. It refuses no pod, whatever goes wrong here: what cannot be looked up passes as it is, with a warning,
// and one whose network policy cannot be made comes all the same, complete. Before the first pod of a job it sees to that policy,
// because nobody waits for a pass: Trainer makes the JobSet as soon as the TrainJob is there.
type podWebhook struct {
	r        *loop.Reconciler
	policies policyEnsurer
	said     ttl.Cache[struct{}]
}

// Serve lets a webhook answer the API server, and nobody else: what a pod gets is the TrainJob's, and a review can be written by
// anybody, about any pod. API servers show no certificate of their own unless somebody has configured it, so what tells them apart is
// that they read the configuration of the webhook, which tenants do not. All others learn that there is nothing.
func Serve(hooks webhook.Server, keys *Keyring, r *loop.Reconciler) {
	answers := newPodWebhook(r)
	// What is registered is a label of metrics, and must not be the secret.
	hooks.Register(webhookPath, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !keys.acceptsPath(request.URL.Path) {
			http.NotFound(w, request)
			return
		}
		answers.ServeHTTP(w, request)
	}))
}

// newPodWebhook answers what the API server asks. A panic is not made an answer, which would refuse the pod: it ends the connection, and
// the failurePolicy lets the pod pass.
func newPodWebhook(r *loop.Reconciler) *webhook.Admission {
	return &webhook.Admission{Handler: &podWebhook{r: r, policies: policyEnsurer{r: r}}, RecoverPanic: ptr.To(false)}
}

// Handle answers one question. What the pod gets does not depend on its policy.
func (p *podWebhook) Handle(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return p.admitUnchanged(ctx, client.ObjectKey{Namespace: request.Namespace}, fmt.Errorf("decode pod: %w", err))
	}
	name := client.ObjectKey{Namespace: request.Namespace, Name: pod.Labels[mpi.JobSetNameLabel]}
	changed, policy, err := p.changePod(ctx, name, &pod)
	if err != nil {
		return p.admitUnchanged(ctx, name, fmt.Errorf("look up the TrainJob of a pod: %w", err))
	}
	answer := p.patchResponse(ctx, name, request, changed)
	if ptr.Deref(request.DryRun, false) {
		return answer
	}
	if err := p.policies.ensurePolicy(ctx, policy); err != nil {
		p.logOnce(ctx, name, err)
	}
	return answer
}

// patchResponse is a patch, or nothing where nothing is to be changed. An admission.Errored would be a refusal, which the failurePolicy does
// not change.
func (p *podWebhook) patchResponse(ctx context.Context, name client.ObjectKey, request admission.Request, changed *corev1.Pod) admission.Response {
	if changed == nil {
		return admission.Allowed("")
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return p.admitUnchanged(ctx, name, fmt.Errorf("encode pod: %w", err))
	}
	answer := admission.PatchResponseFromRaw(request.Object.Raw, text)
	if !answer.Allowed {
		return p.admitUnchanged(ctx, name, fmt.Errorf("patch pod: %s", answer.Result.Message))
	}
	return answer
}

// changePod returns a pod as it is to be, nil where it stays as it is, and the policy that must be there before it, or nil.
func (p *podWebhook) changePod(ctx context.Context, name client.ObjectKey, pod *corev1.Pod) (*corev1.Pod, job.Object, error) {
	trainJob, err := p.findTrainJob(ctx, name)
	if err != nil || trainJob == nil {
		return nil, nil, err
	}
	runtime, err := p.r.FindRuntime(ctx, trainJob)
	if err != nil || runtime == nil {
		return nil, nil, err
	}
	return desired.PropagateToPod(pod, trainJob, *runtime), decide.PolicyBeforePods(trainJob, *runtime, p.r.Namespace), nil
}

// findTrainJob returns nil where there is none. Pods come half a second after their TrainJob, and the cache may hear of it later than that:
// what it does not have is asked for, by a list, because our role reads TrainJobs in no other way.
func (p *podWebhook) findTrainJob(ctx context.Context, name client.ObjectKey) (*trainer.TrainJob, error) {
	trainJob := &trainer.TrainJob{}
	if err := p.r.Client.Get(ctx, name, trainJob); err == nil {
		return trainJob, nil
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	var found trainer.TrainJobList
	if err := p.r.Live.List(ctx, &found, client.InNamespace(name.Namespace), client.MatchingFields{"metadata.name": name.Name}); err != nil || len(found.Items) == 0 {
		return nil, err
	}
	return &found.Items[0], nil
}

// admitUnchanged lets a pod pass, and tells whoever makes it why it gets nothing of us.
func (p *podWebhook) admitUnchanged(ctx context.Context, name client.ObjectKey, err error) admission.Response {
	p.logOnce(ctx, name, err)
	return admission.Allowed("").WithWarnings(mpi.ControllerName + " leaves the pod as it is: " + err.Error())
}

// logOnce logs once per job and reason: a wide job has many pods.
func (p *podWebhook) logOnce(ctx context.Context, name client.ObjectKey, err error) {
	reason := string(apierrors.ReasonForError(err))
	if errors.Is(err, context.DeadlineExceeded) {
		reason = string(metav1.StatusReasonTimeout)
	}
	if p.said.Add(name.String()+"/"+reason, struct{}{}, p.r.Now(), complainAgain) {
		ctrl.LoggerFrom(ctx).Error(err, "a pod of a job comes without all that it should have", "trainJob", name)
	}
}

// NewServer listens on an address, with the certificate that holds at the moment.
func NewServer(address string, keys *Keyring) (webhook.Server, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("webhook address `%s`: %w", address, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("webhook address `%s`: `%s` is not a port", address, text)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.GetCertificate = keys.getCertificate },
	}}), nil
}
