package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/cluster/internal/cgroup"
	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/pki"
)

// writeConfigs renders the files that the components read.
func (n Node) writeConfigs() error {
	files := map[string]string{
		"containerd.toml":          n.containerd(),
		"kubelet.yaml":             n.kubelet(),
		"kube-proxy.yaml":          n.kubeProxy(),
		"cni/10-lockstep.conflist": n.cni(),
		"resolv.conf":              "nameserver 127.0.0.1\n",
		"scheduler.yaml":           n.scheduler(),
		auditPolicyFile:            n.auditPolicy(),
	}
	for name, content := range files {
		path := n.path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write the configuration of %s: %w", n.Name(), err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the configuration of %s: %w", n.Name(), err)
		}
	}
	return nil
}

// containerd's configuration, version 3.
//   - opt and NRI would make folders in the machine's /opt and /etc.
//   - restrict_oom_score_adj: root without CAP_SYS_RESOURCE cannot lower it.
//   - a folder of its own for the image store, which outlives the node.
func (n Node) containerd() string {
	return fmt.Sprintf(`version = 3
root = '%[1]s'
state = '/run/containerd'
disabled_plugins = [
  'io.containerd.snapshotter.v1.btrfs', 'io.containerd.snapshotter.v1.zfs',
  'io.containerd.snapshotter.v1.devmapper', 'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.erofs', 'io.containerd.differ.v1.erofs',
  'io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri',
  'io.containerd.image-verifier.v1.bindir',
  'io.containerd.tracing.processor.v1.otlp', 'io.containerd.internal.v1.tracing',
]

[grpc]
  address = '%[2]s'

[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = '%[3]s'

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['%[4]s']
    conf_dir = '%[5]s'
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = 'runc'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = 'io.containerd.runc.v2'
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        BinaryName = '%[4]s/runc'
        SystemdCgroup = false
`, n.Store, images.Socket, images.Pause, n.Bin, n.path("cni"))
}

// kubelet's configuration.
//   - failCgroupV1 lets it run on cgroup v1 machines.
//   - volumePluginDir is in /usr by default, which the node shares with the
//     machine.
//   - the image thresholds keep it from deleting images that nobody could pull
//     again.
//   - syncFrequency, the period of volume statistics and the update
//     frequencies make tests see changes soon.
func (n Node) kubelet() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: %s
containerRuntimeEndpoint: unix://%s
address: %s
healthzBindAddress: 127.0.0.1
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %s}
authorization: {mode: Webhook}
tlsCertFile: %s
tlsPrivateKeyFile: %s
clusterDNS: [%s]
clusterDomain: cluster.local
resolvConf: %s
volumePluginDir: /var/lib/kubelet/volume-plugins
failSwapOn: false
serializeImagePulls: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 200Mi, nodefs.available: "1%%", imagefs.available: "1%%"}
enforceNodeAllocatable: [pods]
nodeStatusUpdateFrequency: 5s
nodeStatusReportFrequency: 1m
syncFrequency: 10s
volumeStatsAggPeriod: 10s
shutdownGracePeriod: 0s
maxPods: 110
kubeAPIQPS: 200
kubeAPIBurst: 400
`, cgroup.Root(n.Name()), images.Socket, network.NodeAddr(n.Index), n.pki("ca.crt"),
		n.pki(n.Name()+".crt"), n.pki(n.Name()+".key"), network.DNS, n.path("resolv.conf"))
}

// kubeProxy's configuration. Conntrack limits are the machine's: zeros leave
// them alone. The short minSyncPeriod makes a new endpoint usable at once.
func (n Node) kubeProxy() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %s, qps: 100, burst: 200}
mode: iptables
clusterCIDR: %s
bindAddress: %s
hostnameOverride: %s
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {masqueradeAll: false, minSyncPeriod: 50ms, syncPeriod: 30s}
`, n.pki(pki.Proxy+".conf"), network.Pods, network.NodeAddr(n.Index), n.Name())
}

// scheduler's configuration: one scheduler needs no election.
func (n Node) scheduler() string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %s, qps: 200, burst: 400}
`, n.pki(pki.Scheduler+".conf"))
}

const auditPolicyFile = "audit-policy.yaml"

// auditPolicy is of who asked for what when, and never of contents. JSON is YAML too.
func (n Node) auditPolicy() string {
	users, err := json.Marshal(n.Audited)
	if err != nil {
		panic(err) // texts always have a form in JSON
	}
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: %s}
- {level: None}
`, users)
}

// cni is the pod network: a bridge per node, routed by the nodes. The
// addresses in use are kept on a tmpfs and so end with the node. There are no
// host ports: nobody asks for one, and the plugin runs iptables for each pod.
func (n Node) cni() string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "lockstep", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "%s"}]], "routes": [{"dst": "0.0.0.0/0"}]}}
]}
`, network.PodCIDR(n.Index))
}
