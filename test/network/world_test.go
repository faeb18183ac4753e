package network

import (
	"fmt"
	"maps"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// end is one end of a packet: a pod, or an address outside.
type end struct {
	name string
	// namespace is "" outside.
	namespace string
	labels    map[string]string
	// addresses are one of IPv4 and one of IPv6; one of them may be missing outside.
	addresses [2]netip.Addr
	// ports are the names of ports that the pod has.
	ports map[int]string
}

// port is a port of the receiving end.
type port struct {
	protocol corev1.Protocol
	number   int
}

// numbers are the ports of the agent, DNS and its metrics, the API server, kubelet, etcd, node ports, storage, the status
// server of Kubeflow Trainer and the ports in specs, one beside them, and the first and the last.
var numbers = []int{1, 22, 53, 54, 111, 443, 2049, mpi.AgentPort, 2379, 6443, 8080, 8081, 8181, 9443, 10250,
	9000, mpi.TrainerStatusPort, mpi.TrainerStatusPort + 1, 30000, 32767, 65535}

func packetPorts() []port {
	var all []port
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		for _, number := range numbers {
			all = append(all, port{protocol, number})
		}
	}
	return all
}

// world is all that can send or receive a packet.
type world struct {
	// namespaces have their labels.
	namespaces map[string]map[string]string
	ends       []end
}

// newWorld has pods of all sorts in the namespaces of tenants, those of the platform, and addresses outside.
func newWorld(t *testing.T, objects []object.Object, tenants []string, jobs []job.Job) *world {
	t.Helper()
	w := &world{namespaces: map[string]map[string]string{}}
	for i := range objects {
		if o := &objects[i]; o.ID.Kind == "Namespace" {
			var namespace corev1.Namespace
			typed(t, o, &namespace)
			w.namespace(o.ID.Name, namespace.Labels)
		}
	}
	platform := []string{"kube-system", "monitoring", "gateway", "storage", "lockstep-system", "kubeflow", "elsewhere"}
	for _, name := range platform {
		if w.namespaces[name] == nil {
			w.namespace(name, nil)
		}
	}
	w.platform()
	for _, name := range tenants {
		w.tenant(name)
	}
	for _, j := range jobs {
		w.job(j)
	}
	w.outside()
	return w
}

func (w *world) namespace(name string, labels map[string]string) {
	w.namespaces[name] = map[string]string{corev1.LabelMetadataName: name}
	maps.Copy(w.namespaces[name], labels)
}

func (w *world) pod(namespace, name string, labels map[string]string) *end {
	i := len(w.ends) + 1
	w.ends = append(w.ends, end{name: namespace + "/" + name, namespace: namespace, labels: labels, addresses: [2]netip.Addr{
		netip.AddrFrom4([4]byte{10, 244, byte(i >> 8), byte(i)}), //nolint:gosec // a world has fewer ends
		netip.MustParseAddr(fmt.Sprintf("fd00:244::%x", i)),
	}})
	return &w.ends[len(w.ends)-1]
}

var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

func (w *world) platform() {
	w.pod("kube-system", "dns", dnsLabels)
	w.pod("kube-system", "other", map[string]string{"k8s-app": "other"})
	w.pod("elsewhere", "dns of nobody", dnsLabels)
	w.pod("monitoring", "prometheus", nil)
	w.pod("monitoring", "scraper", map[string]string{"app": "scraper"})
	w.pod("gateway", "gateway", nil)
	w.pod("gateway", "models", map[string]string{"app": "models"})
	w.pod("storage", "minio", map[string]string{"app": "minio"})
	w.pod("storage", "neighbour", nil)
	w.pod("elsewhere", "minio of nobody", map[string]string{"app": "minio"})
	w.pod("lockstep-system", "neighbour", nil)
	controller := map[string]string{mpi.ControllerLabel: mpi.ControllerName, "app.kubernetes.io/instance": mpi.ControllerName}
	trainer := map[string]string{"app.kubernetes.io/name": "kubeflow-trainer"}
	w.pod("kubeflow", "trainer", trainer)
	w.pod("kubeflow", "neighbour", nil)
	w.pod("elsewhere", "trainer of nobody", trainer)
	w.pod("elsewhere", "controller of nobody", controller)
	// As charts/mpi-controller has them.
	w.pod("lockstep-system", "controller", controller).ports = map[int]string{8080: "metrics", 8081: "health", 9443: "webhook"}
}

// tenant adds pods of no job: as people make them, with the labels that they like, those of the platform among them, and two of a runtime
// that others installed.
func (w *world) tenant(namespace string) {
	w.pod(namespace, "notebook", nil)
	disguise := map[string]string{mpi.ControllerLabel: mpi.ControllerName, mpi.TenantLabel: "language", corev1.LabelMetadataName: "kube-system"}
	maps.Copy(disguise, dnsLabels)
	w.pod(namespace, "in disguise", disguise)
	for _, name := range []string{"node", "other node"} {
		w.pod(namespace, name+" of others", map[string]string{mpi.JobSetNameLabel: "theirs", mpi.ReplicatedJobLabel: "node"})
	}
}

// job adds a launcher and a node, with the labels of the template and those that JobSet adds.
func (w *world) job(j job.Job) {
	for _, part := range desired.JobSet(j).Spec.ReplicatedJobs {
		labels := map[string]string{mpi.JobSetNameLabel: j.Name, mpi.ReplicatedJobLabel: part.Name}
		maps.Copy(labels, part.Template.Spec.Template.Labels)
		w.pod(j.Namespace, j.Name+"-"+part.Name, labels)
	}
}

// outside adds the internet, the metadata address, a machine with kubelet and node ports, the API server, Services, and the first and
// last addresses of the ranges in specs with those beside them.
func (w *world) outside() {
	for _, text := range []string{
		"1.1.1.1", "2606:4700::1111", "169.254.169.254", "fd00:ec2::254", "192.168.1.10", "fd00:1::10", "192.168.1.2", "10.96.0.1", "10.96.0.10", "127.0.0.1", "::1",
		"192.0.1.255", "192.0.2.0", "192.0.2.63", "192.0.2.64", "192.0.2.127", "192.0.2.128", "192.0.2.255", "192.0.3.0", "198.51.100.6", "198.51.100.7", "198.51.100.8",
		"2001:db8::ffff", "2001:db8:1::", "2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:2::", "10.40.0.0", "10.40.255.255", "10.41.0.0",
	} {
		address := netip.MustParseAddr(text)
		e := end{name: text}
		if address.Is4() {
			e.addresses[0] = address
		} else {
			e.addresses[1] = address
		}
		w.ends = append(w.ends, e)
	}
}

// jobsOf are two running jobs in each namespace, with the names that they have in all others.
func jobsOf(t *testing.T, objects []object.Object, namespaces []string) []job.Job {
	t.Helper()
	var jobs []job.Job
	runtime := runtimeOf(t, objects)
	for _, namespace := range namespaces {
		for _, name := range []string{"one", "other"} {
			made, err := job.Resolve(&trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid"}}, runtime)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, made)
		}
	}
	return jobs
}

func runtimeOf(t *testing.T, objects []object.Object) job.Runtime {
	t.Helper()
	for i := range objects {
		if objects[i].ID.Kind == trainer.ClusterTrainingRuntimeKind {
			var runtime trainer.ClusterTrainingRuntime
			typed(t, &objects[i], &runtime)
			return job.Runtime{Labels: runtime.Labels, Annotations: runtime.Annotations, Spec: runtime.Spec}
		}
	}
	t.Fatal("no runtime is compiled")
	return job.Runtime{}
}

// policiesOf are the NetworkPolicies among objects.
func policiesOf(t *testing.T, objects []object.Object) []*networkingv1.NetworkPolicy {
	t.Helper()
	var policies []*networkingv1.NetworkPolicy
	for i := range objects {
		if o := &objects[i]; o.ID.Kind == "NetworkPolicy" {
			policy := &networkingv1.NetworkPolicy{}
			typed(t, o, policy)
			policies = append(policies, policy)
		}
	}
	return policies
}
