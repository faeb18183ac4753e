package webhook

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

const (
	// usedAfter is when a replica uses a new certificate: the others look for it every certificateEvery, and know it by then.
	usedAfter = 2 * certificateEvery
	// forgottenAfter is when it forgets the one before: by then the others have ceased to use it, too.
	forgottenAfter = 6 * certificateEvery
)

// webhookCredentials are what follows from one certificate: what the API server trusts, what the webhook shows, and the path that both know.
type webhookCredentials struct {
	bundle []byte
	pair   tls.Certificate
	path   string
}

// parseCredentials derives the path from the key, so that all replicas have the same, nobody else can know it, and it changes with the
// certificate.
func parseCredentials(certificate, key []byte) (*webhookCredentials, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	secret, err := hkdf.Key(sha256.New, key, nil, "path of the admission webhook", 16)
	if err != nil {
		return nil, fmt.Errorf("derive the path of the webhook: %w", err)
	}
	return &webhookCredentials{bundle: certificate, pair: pair, path: webhookPath + hex.EncodeToString(secret)}, nil
}

// Keyring is how the API server and the webhook know each other. A new certificate is first known to all replicas, and trusted, then
// used, and then the one before is forgotten: at no moment is a replica asked in a way that it does not understand.
type Keyring struct {
	Now func() time.Time

	mu                sync.RWMutex
	current, previous *webhookCredentials
	// since is when the current ones came after the previous.
	since time.Time
}

// adoptCredentials takes up what is in the Secret.
func (k *Keyring) adoptCredentials(own *webhookCredentials) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.current == nil || k.current.path != own.path:
		k.previous, k.current, k.since = k.current, own, k.Now()
	case k.Now().Sub(k.since) >= forgottenAfter:
		k.previous = nil
	}
}

// usedCredentials are the credentials by which the API server asks, nil before there are any.
func (k *Keyring) usedCredentials() *webhookCredentials {
	if k.previous != nil && k.Now().Sub(k.since) < usedAfter {
		return k.previous
	}
	return k.current
}

// getCertificate is tls.Config.GetCertificate.
func (k *Keyring) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if used := k.usedCredentials(); used != nil {
		return &used.pair, nil
	}
	return nil, errors.New("the certificate is not ready yet")
}

// acceptsPath reports whether who asks under a path has it from the configuration of the webhook.
func (k *Keyring) acceptsPath(path string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, own := range []*webhookCredentials{k.current, k.previous} {
		if own != nil && subtle.ConstantTimeCompare([]byte(path), []byte(own.path)) == 1 {
			return true
		}
	}
	return false
}

// missingConfiguration is what the configuration of the webhook lacks for the API server to ask us. What another replica has written stays, if we
// understand it.
func (k *Keyring) missingConfiguration(asks admissionregistrationv1.WebhookClientConfig) ([]loop.PatchOperation, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var changes []loop.PatchOperation
	if bundle := k.trustedCertificates(); !bytes.Equal(asks.CABundle, bundle) && !bytes.Equal(asks.CABundle, k.current.bundle) {
		changes = append(changes, loop.PatchOperation{Op: "add", Path: "/webhooks/0/clientConfig/caBundle", Value: bundle})
	}
	switch path, err := configuredPath(asks); {
	case err != nil:
		return nil, err
	case path != k.usedCredentials().path && path != k.current.path:
		changes = append(changes, pathOperation(asks, k.usedCredentials().path))
	}
	return changes, nil
}

// trustedCertificates are all certificates that a replica may show.
func (k *Keyring) trustedCertificates() []byte {
	if k.previous == nil {
		return k.current.bundle
	}
	return slices.Concat(k.current.bundle, k.previous.bundle)
}

// configuredPath is where the API server asks: at a Service, or at an address in tests and outside a cluster.
func configuredPath(asks admissionregistrationv1.WebhookClientConfig) (string, error) {
	if asks.Service != nil {
		return ptr.Deref(asks.Service.Path, ""), nil
	}
	address, err := url.Parse(ptr.Deref(asks.URL, ""))
	if err != nil {
		return "", errors.New("read the address of the webhook: it is no URL") // the error of Parse would have the path in it
	}
	return address.Path, nil
}

func pathOperation(asks admissionregistrationv1.WebhookClientConfig, path string) loop.PatchOperation {
	if asks.Service != nil {
		return loop.PatchOperation{Op: "add", Path: "/webhooks/0/clientConfig/service/path", Value: path}
	}
	address, _ := url.Parse(ptr.Deref(asks.URL, "")) // configuredPath has read it
	address.Path = path
	return loop.PatchOperation{Op: "replace", Path: "/webhooks/0/clientConfig/url", Value: address.String()}
}
