package node

import (
	"fmt"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/pki"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
)

// AdmissionPlugins are switched on besides the API server's defaults, which
// include the admission webhooks.
var AdmissionPlugins = []string{
	"NodeRestriction", "ResourceQuota", "LimitRanger", "PodSecurity", "ValidatingAdmissionPolicy", "OwnerReferencesPermissionEnforcement",
}

// etcdURL is inside node 0, which nobody else shares.
const etcdURL = "http://127.0.0.1:2379"

var apiAddress = fmt.Sprintf("%s:%d", network.NodeAddr(0), network.APIPort)

// components of a node, in the order in which they are shown. All start at
// once; each waits for what it cannot do without.
func (n Node) components() []component {
	var list []component
	if n.Index == 0 {
		list = append(list, n.etcd(), n.apiServer(), n.controllerManager(), n.kubeScheduler())
	}
	return append(list,
		n.component("containerd", "--config="+n.path("containerd.toml")),
		n.kubeletComponent(),
		first(after(n.component("kube-proxy", "--config="+n.path("kube-proxy.yaml")), "ready:"+apiAddress)),
		first(after(n.component("kube-router", "--run-router=false", "--run-service-proxy=false", "--run-firewall=true", "--enable-cni=false",
			"--kubeconfig="+n.pki(pki.Router+".conf"), "--hostname-override="+n.Name(), "--health-port=20244",
			"--iptables-sync-period=60s", "--v=1"), "ready:"+apiAddress)),
	)
}

// ComponentNames are the names of all components that a node can have.
func ComponentNames() []string {
	var names []string
	for _, c := range (Node{}).components() {
		names = append(names, c.Name)
	}
	return names
}

type component = supervise.Component

func (n Node) component(name string, args ...string) component {
	return component{Name: name, Args: append([]string{filepath.Join(n.Bin, name)}, args...)}
}

// after makes a component wait for conditions before its first start.
func after(c component, conditions ...string) component {
	c.Wait = conditions
	return c
}

// first lets a component go before the node's other daemons. It is for those
// that write rules for packets: each run of theirs is dozens of short programs
// that wait their turn, and connections of new pods are refused meanwhile. It
// is not for containerd: pods are its descendants and would inherit it.
func first(c component) component {
	c.Nice = -10
	return c
}

// etcd keeps its data on a tmpfs: it lives as long as the node does.
func (n Node) etcd() component {
	return n.component("etcd", "--name=etcd0", "--data-dir=/run/etcd", "--unsafe-no-fsync",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=etcd0=http://127.0.0.1:2380", "--log-level=warn")
}

func (n Node) apiServer() component {
	return after(n.component("kube-apiserver", append(n.auditArgs(),
		"--etcd-servers="+etcdURL,
		"--bind-address="+network.NodeAddr(0).String(), "--advertise-address="+network.NodeAddr(0).String(),
		fmt.Sprintf("--secure-port=%d", network.APIPort),
		"--service-cluster-ip-range="+network.Services.String(),
		"--allow-privileged=true", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins="+strings.Join(AdmissionPlugins, ","),
		"--client-ca-file="+n.pki("ca.crt"),
		"--tls-cert-file="+n.pki(pki.APIServer+".crt"), "--tls-private-key-file="+n.pki(pki.APIServer+".key"),
		"--kubelet-client-certificate="+n.pki(pki.KubeletClient+".crt"), "--kubelet-client-key="+n.pki(pki.KubeletClient+".key"),
		"--kubelet-certificate-authority="+n.pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file="+n.pki("ca.crt"), "--requestheader-allowed-names="+pki.FrontProxy,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file="+n.pki(pki.FrontProxy+".crt"), "--proxy-client-key-file="+n.pki(pki.FrontProxy+".key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+n.pki("sa.pub"), "--service-account-signing-key-file="+n.pki("sa.key"))...),
		"tcp:127.0.0.1:2379")
}

// auditArgs make the API server write down requests before it answers them.
func (n Node) auditArgs() []string {
	if len(n.Audited) == 0 {
		return nil
	}
	return []string{
		"--audit-policy-file=" + n.path(auditPolicyFile), "--audit-log-path=" + filepath.Join(n.Logs, AuditLog+".log"), "--audit-log-mode=blocking",
	}
}

// controllerManager waits until the kinds are defined: it looks for new ones
// only every 30 s, and until then collects no garbage of theirs and lets their
// quotas refuse everything.
func (n Node) controllerManager() component {
	conf := n.pki(pki.Controllers + ".conf")
	return after(n.component("kube-controller-manager",
		"--kubeconfig="+conf, "--authentication-kubeconfig="+conf, "--authorization-kubeconfig="+conf,
		"--bind-address=127.0.0.1", "--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--use-service-account-credentials=true", "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
		"--service-account-private-key-file="+n.pki("sa.key"), "--root-ca-file="+n.pki("ca.crt"),
		"--cluster-signing-cert-file="+n.pki("ca.crt"), "--cluster-signing-key-file="+n.pki("ca.key"),
		"--allocate-node-cidrs=false", "--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins", "--service-cluster-ip-range="+network.Services.String()),
		"ready:"+apiAddress, "file:"+KindsFile(n.Dir))
}

func (n Node) kubeScheduler() component {
	conf := n.pki(pki.Scheduler + ".conf")
	return after(n.component("kube-scheduler", "--config="+n.path("scheduler.yaml"),
		"--authentication-kubeconfig="+conf, "--authorization-kubeconfig="+conf, "--bind-address=127.0.0.1"),
		"ready:"+apiAddress)
}

// kubelet does not wait until the API server is ready: what it needs works as
// soon as that listens, and it takes a while to start itself.
func (n Node) kubeletComponent() component {
	return after(n.component("kubelet", "--config="+n.path("kubelet.yaml"), "--kubeconfig="+n.pki(n.Name()+".conf"),
		"--node-ip="+network.NodeAddr(n.Index).String(), "--hostname-override="+n.Name(), "--v=2"),
		"unix:"+images.Socket, "tcp:"+apiAddress)
}
