package mpi

// DNSPods are the pods that answer DNS in a kind of cluster: their namespace, a label of theirs, and their port.
type DNSPods struct {
	Namespace, Label, Value string
	Port                    int32
}

// KubernetesDNS and OpenShiftDNS are the defaults of a cluster spec. The policies of jobs open both.
var (
	KubernetesDNS = DNSPods{"kube-system", "k8s-app", "kube-dns", 53}
	OpenShiftDNS  = DNSPods{"openshift-dns", "dns.operator.openshift.io/daemonset-dns", "default", 5353}
)
