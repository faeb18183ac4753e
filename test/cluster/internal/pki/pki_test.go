package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/cluster/internal/network"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func verify(t *testing.T, ca, cert, key []byte, name string) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatalf("certificate and key do not fit: %v", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the authority is no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := pair.Leaf.Verify(options); err != nil {
		t.Errorf("not valid for %q: %v", name, err)
	}
	return pair.Leaf
}

func TestAuthorityVerifiesAgainstItself(t *testing.T) {
	ca, err := NewAuthority("some-ca", now)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, ca.Cert, ca.Cert, ca.Key, "some-ca")
}

func TestIssueNamesTheSubject(t *testing.T) {
	ca, err := NewAuthority("some-ca", now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(Subject{
		CommonName: "system:node:node0", Organizations: []string{"system:nodes"},
		DNSNames: []string{"node0"}, Addresses: []netip.Addr{netip.MustParseAddr("10.240.0.2")},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf := verify(t, ca.Cert, pair.Cert, pair.Key, "node0")
	verify(t, ca.Cert, pair.Cert, pair.Key, "10.240.0.2")
	got := []string{leaf.Subject.CommonName, leaf.Subject.Organization[0]}
	if diff := cmp.Diff([]string{"system:node:node0", "system:nodes"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	for range 2 { // a second cluster gets new ones
		if err := Write(dir, 2, now); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, host := range map[string]string{
		APIServer: "kubernetes.default.svc", "node1": network.NodeAddr(1).String(), Admin: "", KubeletClient: "", FrontProxy: "",
	} {
		verify(t, read("ca.crt"), read(name+".crt"), read(name+".key"), host)
	}
	if !strings.Contains(string(read("admin.conf")), network.APIServer()) {
		t.Error("admin.conf does not name the API server")
	}
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ca.key has mode %v, want 0600", info.Mode().Perm())
	}
}
