package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/selfsigned"
)

const (
	// webhookName is the name of the Service, of the Secret with the certificate, and of the MutatingWebhookConfiguration.
	webhookName = "mpi-controller-webhook"
	// certificateLife is how long a certificate holds; it is renewed when renewBefore is left. So a path that somebody has
	// read in the configuration, or in a dump of it, opens nothing after two months.
	certificateLife = 90 * 24 * time.Hour
	renewBefore     = 30 * 24 * time.Hour
	// certificateEvery is how often a companion looks after its certificate, and whether the API server still trusts it.
	certificateEvery = 10 * time.Minute
)

// Certificate is what the webhook shows to the API server: made by the first replica, kept in a Secret of the
// controller's own namespace, trusted because the MutatingWebhookConfiguration holds it. So no other operator is
// needed.
type Certificate struct {
	Live   client.Reader
	Client client.Client
	Keys   *Keyring
	Now    func() time.Time
	// Namespace holds the Secret and the Service of the webhook. Address is what the webhook binds.
	Namespace, Address string
}

// Start keeps the certificate and the trust in it.
func (c *Certificate) Start(ctx context.Context) error {
	const soon = time.Second
	for {
		wait := certificateEvery
		if err := c.renewCertificate(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "prepare the certificate of the webhook")
			wait = soon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// NeedLeaderElection makes standbys answer too.
func (c *Certificate) NeedLeaderElection() bool { return false }

func (c *Certificate) renewCertificate(ctx context.Context) error {
	secret, err := c.certificateSecret(ctx)
	if err != nil {
		return err
	}
	own, err := parseCredentials(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("read Secret %s: delete it to get a new certificate: %w", webhookName, err)
	}
	c.Keys.adoptCredentials(own)
	return c.configureWebhook(ctx)
}

// certificateSecret returns the Secret with a certificate that holds, made by whoever comes first.
func (c *Certificate) certificateSecret(ctx context.Context) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: webhookName}, &secret)
	switch {
	case err == nil && c.isValidCertificate(secret.Data[corev1.TLSCertKey]):
		return &secret, nil
	case err == nil:
		err = c.Client.Delete(ctx, &secret, client.Preconditions{UID: &secret.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("look for the certificate of the webhook: %w", err)
	}
	made, err := c.newSecret()
	if err != nil {
		return nil, err
	}
	switch err := c.Client.Create(ctx, made, client.FieldOwner(mpi.ControllerName)); {
	case apierrors.IsAlreadyExists(err):
		return nil, errors.New("another replica makes the certificate at this moment")
	case err != nil:
		return nil, fmt.Errorf("keep the certificate of the webhook: %w", err)
	}
	return made, nil
}

func (c *Certificate) isValidCertificate(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.Now().Add(renewBefore).Before(parsed.NotAfter) && parsed.VerifyHostname(c.hostNames()[0]) == nil
}

// hostNames are what the API server calls the webhook: a Service, or the address itself in tests and outside a cluster.
func (c *Certificate) hostNames() []string {
	if host, _, err := net.SplitHostPort(c.Address); err == nil && net.ParseIP(host) != nil {
		return []string{host}
	}
	return []string{webhookName + "." + c.Namespace + ".svc"}
}

func (c *Certificate) newSecret() (*corev1.Secret, error) {
	certificate, key, err := selfsigned.New(c.hostNames()[0], c.Now(), certificateLife)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: webhookName},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}, nil
}

// configureWebhook puts certificate and path into the configuration that the chart installs, where they are not there
// yet.
func (c *Certificate) configureWebhook(ctx context.Context) error {
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.Live.Get(ctx, client.ObjectKey{Name: webhookName}, &configuration); err != nil {
		return fmt.Errorf("read the configuration of the webhook: %w", err)
	}
	if len(configuration.Webhooks) == 0 {
		return nil
	}
	changes, err := c.Keys.missingConfiguration(configuration.Webhooks[0].ClientConfig)
	if err != nil || len(changes) == 0 {
		return err
	}
	patch, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("encode certificate: %w", err)
	}
	if err := c.Client.Patch(ctx, &configuration, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(mpi.ControllerName)); err != nil {
		return fmt.Errorf("let the API server trust the webhook: %w", err)
	}
	return nil
}
