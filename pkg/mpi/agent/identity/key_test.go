package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

func TestParse(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		pem    []byte
		err    string
	}{
		"P-256":  {reason: "our controller makes these", pem: agenttest.NewKeyPEM(t, elliptic.P256())},
		"P-521":  {reason: "upstream's controller makes these", pem: agenttest.NewKeyPEM(t, elliptic.P521())},
		"PKCS#8": {reason: "the other usual form", pem: pkcs8(t, p521)},
		"P-384":  {reason: "nobody makes these", pem: agenttest.NewKeyPEM(t, elliptic.P384()), err: "found kind"},
		"RSA":    {reason: "slow, and nobody makes these", pem: pkcs8(t, rsaKey), err: "found kind `ssh-rsa`"},
		"Ed25519": {
			reason: "not everywhere approved by FIPS", pem: pkcs8(t, edKey), err: "allowed are ecdsa-sha2-nistp256 and ecdsa-sha2-nistp521",
		},
		"garbage": {reason: "a truncated Secret", pem: []byte("-----BEGIN EC"), err: "parse the key of the job"},
		"empty":   {reason: "an empty Secret", err: "parse the key of the job"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := identity.ParseKey(c.pem)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got error %v, want %q", c.reason, err, c.err)
			}
		})
	}
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.LoadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "id_rsa"), agenttest.NewKeyPEM(t, elliptic.P521()), 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.LoadKey(dir); err != nil {
		t.Errorf("with upstream's file: %v", err)
	}
}

// meet lets a client and a server shake hands on the loopback interface.
func meet(t *testing.T, client *ssh.ClientConfig, server *ssh.ServerConfig) (clientErr, serverErr error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	result := make(chan error, 1)
	go func() {
		far, err := listener.Accept()
		if err == nil {
			defer far.Close()
			_, _, _, err = ssh.NewServerConn(far, server)
		}
		result <- err
	}()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = ssh.NewClientConn(near, "pod", client)
	near.Close()
	return err, <-result
}

func TestBothSidesProveTheKey(t *testing.T) {
	key, other := agenttest.NewKey(t), agenttest.NewKey(t)
	if clientErr, serverErr := meet(t, key.ClientConfig(), key.ServerConfig()); clientErr != nil || serverErr != nil {
		t.Errorf("the same key: %v, %v", clientErr, serverErr)
	}
	if clientErr, _ := meet(t, key.ClientConfig(), other.ServerConfig()); !errors.Is(clientErr, identity.ErrOtherKey) {
		t.Errorf("a server with another key: the client said %v", clientErr)
	}
	trusting := other.ClientConfig()
	trusting.HostKeyCallback = ssh.InsecureIgnoreHostKey() //nolint:gosec // the client of an intruder
	if clientErr, serverErr := meet(t, trusting, key.ServerConfig()); clientErr == nil || serverErr == nil {
		t.Errorf("a client with another key got in: %v, %v", clientErr, serverErr)
	}
}

func TestServerAdmitsNoOtherMethod(t *testing.T) {
	key := agenttest.NewKey(t)
	methods := map[string][]ssh.AuthMethod{
		"none":     nil,
		"password": {ssh.Password("")},
		"keyboard": {ssh.KeyboardInteractive(func(_, _ string, q []string, _ []bool) ([]string, error) { return q, nil })},
	}
	for name, method := range methods {
		t.Run(name, func(t *testing.T) {
			config := key.ClientConfig()
			config.Auth = method
			if clientErr, serverErr := meet(t, config, key.ServerConfig()); clientErr == nil || serverErr == nil {
				t.Errorf("got in: %v, %v", clientErr, serverErr)
			}
		})
	}
}

func TestServerOffersApprovedAlgorithmsOnly(t *testing.T) {
	key := agenttest.NewKey(t)
	old := map[string]func(*ssh.ClientConfig){
		"key exchange":   func(c *ssh.ClientConfig) { c.KeyExchanges = []string{ssh.KeyExchangeCurve25519} },
		"post-quantum":   func(c *ssh.ClientConfig) { c.KeyExchanges = []string{ssh.KeyExchangeMLKEM768X25519} },
		"Diffie-Hellman": func(c *ssh.ClientConfig) { c.KeyExchanges = []string{ssh.InsecureKeyExchangeDH14SHA1} },
		"host key":       func(c *ssh.ClientConfig) { c.HostKeyAlgorithms = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA256} },
		"cipher": func(c *ssh.ClientConfig) {
			c.Ciphers = []string{ssh.CipherChaCha20Poly1305, ssh.CipherAES128CTR}
		},
	}
	for name, change := range old {
		t.Run(name, func(t *testing.T) {
			config := key.ClientConfig()
			change(config)
			clientErr, _ := meet(t, config, key.ServerConfig())
			var negotiation *ssh.AlgorithmNegotiationError
			if !errors.As(clientErr, &negotiation) {
				t.Errorf("got %v, want no common algorithm", clientErr)
			}
		})
	}
}

func TestServerTakesTheOtherApprovedAlgorithms(t *testing.T) {
	key := agenttest.NewKey(t)
	config := key.ClientConfig()
	config.KeyExchanges, config.Ciphers = []string{ssh.KeyExchangeECDHP384}, []string{ssh.CipherAES256GCM}
	if clientErr, serverErr := meet(t, config, key.ServerConfig()); clientErr != nil || serverErr != nil {
		t.Errorf("%v, %v", clientErr, serverErr)
	}
}
