package desired

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// scalarBytes is the size of a private key of P-256.
const scalarBytes = 32

// SSHAuthSecret returns the key pair of the job, shaped as upstream's: an immutable Secret of type
// kubernetes.io/ssh-auth with a PEM key and an authorized_keys line. The curve is P-256, which FIPS approves and whose
// handshake costs a fifth of upstream's P-521. Errors come from random only. It also vouches for the runtime that the hostfile's
// ConfigMap keeps.
func SSHAuthSecret(j job.Job, random io.Reader) (*corev1.Secret, error) {
	key, err := generateKey(random)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	public, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	meta := objectMeta(j, mpi.SSHAuthSecretName(j.Name))
	meta.Annotations = map[string]string{job.DigestAnnotation: job.Digest(j.Runtime.Snapshot())}
	return &corev1.Secret{
		TypeMeta:   job.KindOfSecret(),
		ObjectMeta: meta,
		Type:       corev1.SecretTypeSSHAuth,
		Immutable:  ptr.To(true),
		Data: map[string][]byte{
			mpi.PrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
			mpi.PublicKeyKey:  ssh.MarshalAuthorizedKey(public),
		},
	}, nil
}

// generateKey draws a scalar by rejection: one in 2³² draws is out of range. ecdsa.GenerateKey cannot be used, because it
// ignores the reader.
func generateKey(random io.Reader) (*ecdsa.PrivateKey, error) {
	scalar := make([]byte, scalarBytes)
	for {
		if _, err := io.ReadFull(random, scalar); err != nil {
			return nil, fmt.Errorf("draw key: %w", err)
		}
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar); err == nil {
			return key, nil
		}
	}
}
