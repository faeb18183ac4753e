package identity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Key is the key of a job. The zero value is not usable.
type Key struct {
	signer ssh.Signer
}

// ErrOtherKey is the error of a connection whose other side does not hold the key of the job.
var ErrOtherKey = errors.New("the other side does not hold the key of this job")

// ParseKey reads a private key in PEM: ECDSA on P-256, which our controller makes, or on P-521, which upstream's does
// (kubeflow/trainer pkg/runtime/framework/plugins/mpi). Every other kind is an error.
func ParseKey(pem []byte) (Key, error) {
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return Key{}, fmt.Errorf("parse the key of the job: %w", err)
	}
	switch kind := signer.PublicKey().Type(); kind {
	case ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA521:
		return Key{signer: signer}, nil
	default:
		return Key{}, fmt.Errorf("parse the key of the job: found kind `%s`, allowed are %s and %s",
			kind, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA521)
	}
}

// LoadKey reads the private key from a directory where the Secret of the job is mounted.
func LoadKey(dir string) (Key, error) {
	path := filepath.Join(dir, mpi.PrivateKeyFile)
	pem, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrPermission):
		return Key{}, fmt.Errorf("read the key of the job: %w (user %d, group %d; the pod needs an fsGroup or group 0)",
			err, os.Getuid(), os.Getgid())
	case err != nil:
		return Key{}, fmt.Errorf("read the key of the job: %w", err)
	}
	return ParseKey(pem)
}

// hasPublicHalf reports whether a public key is the public half of the key.
func (k Key) hasPublicHalf(public ssh.PublicKey) bool {
	return bytes.Equal(public.Marshal(), k.signer.PublicKey().Marshal())
}
