// Package agenttest makes what tests of the agent need: keys, ends of processes, and addresses on the loopback interface at which
// several agents can listen on one port, as in the pods of a job.
package agenttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// NewKeyPEM returns a new private key in the form in which the Secret of a job holds it.
func NewKeyPEM(t testing.TB, curve elliptic.Curve) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// NewKey returns a new key of a job.
func NewKey(t testing.TB) identity.Key {
	t.Helper()
	key, err := identity.ParseKey(NewKeyPEM(t, elliptic.P256()))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var networks atomic.Int32

// FreeAddresses returns n loopback addresses of which the calling test is the only user, and a port that is free on all of
// them. Where a program runs its tests many times the addresses come again, of tests that have long ended.
func FreeAddresses(t testing.TB, n int) (addresses []string, port int) {
	t.Helper()
	network := fmt.Sprintf("127.%d.%d", 64+os.Getpid()%128, networks.Add(1)%256)
	for i := range n {
		addresses = append(addresses, fmt.Sprintf("%s.%d", network, i+1))
	}
	for range 100 {
		if port := freePortOrZero(t, addresses); port != 0 {
			return addresses, port
		}
	}
	t.Fatal("no port is free on all addresses")
	return nil, 0
}

// freePortOrZero returns a port that is free on all addresses, 0 when the one that was tried is not.
func freePortOrZero(t testing.TB, addresses []string) int {
	t.Helper()
	first, err := net.Listen("tcp", net.JoinHostPort(addresses[0], "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	port := first.Addr().(*net.TCPAddr).Port
	for _, address := range addresses[1:] {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return 0
		}
		defer listener.Close()
	}
	return port
}

// StatusOfCode is the end with a code.
func StatusOfCode(code int) process.Status { return process.Status(code << 8) }

// StatusOfSignal is the end by a signal.
func StatusOfSignal(signal syscall.Signal) process.Status { return process.Status(signal) }
