package pki

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/test/cluster/internal/network"
)

// Names of the identities; each has <name>.crt, <name>.key and, if it is a
// client of the API server, <name>.conf in the folder of Write.
const (
	Admin         = "admin"
	APIServer     = "apiserver"
	KubeletClient = "apiserver-kubelet-client"
	FrontProxy    = "front-proxy-client"
	Controllers   = "controller-manager"
	Scheduler     = "scheduler"
	Proxy         = "kube-proxy"
	Router        = "kube-router"
)

// identity is one line of the table of certificates.
type identity struct {
	name    string
	subject Subject
	client  bool
}

func identities(nodes int) []identity {
	list := []identity{
		{Admin, Subject{CommonName: "admin", Organizations: []string{"system:masters"}}, true},
		{APIServer, Subject{CommonName: "kube-apiserver", DNSNames: apiNames, Addresses: apiAddrs()}, false},
		{KubeletClient, Subject{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}}, false},
		{FrontProxy, Subject{CommonName: FrontProxy}, false},
		{Controllers, Subject{CommonName: "system:kube-controller-manager"}, true},
		{Scheduler, Subject{CommonName: "system:kube-scheduler"}, true},
		{Proxy, Subject{CommonName: "system:kube-proxy"}, true},
		{Router, Subject{CommonName: "kube-router", Organizations: []string{"system:masters"}}, true},
	}
	for i := range nodes {
		name := network.NodeName(i)
		list = append(list, identity{name, Subject{
			CommonName: "system:node:" + name, Organizations: []string{"system:nodes"},
			DNSNames: []string{name}, Addresses: []netip.Addr{network.NodeAddr(i)},
		}, true})
	}
	return list
}

var apiNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}

func apiAddrs() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), network.NodeAddr(0), network.APIService}
}

// Write makes everything anew for a number of nodes, in a folder that only its
// owner can read.
func Write(dir string, nodes int, now time.Time) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove old certificates: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for certificates: %w", err)
	}
	ca, err := NewAuthority("kubernetes-ca", now)
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": ca.Cert, "ca.key": ca.Key}
	if files["sa.key"], files["sa.pub"], err = SigningKey(); err != nil {
		return err
	}
	for _, id := range identities(nodes) {
		pair, err := ca.Issue(id.subject, now)
		if err != nil {
			return err
		}
		files[id.name+".crt"], files[id.name+".key"] = pair.Cert, pair.Key
		if id.client {
			files[id.name+".conf"] = kubeconfig(id.name, ca.Cert, pair)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write a certificate: %w", err)
		}
	}
	return nil
}

func kubeconfig(user string, ca []byte, pair Pair) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: lockstep
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: lockstep
  context: {cluster: lockstep, user: %[3]s}
current-context: lockstep
`, network.APIServer(), b64(ca), user, b64(pair.Cert), b64(pair.Key))
}
