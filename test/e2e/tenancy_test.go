package e2e

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/platform"
)

var _ = Describe("A tenant", func() {
	It("cannot create jobs in the namespace of another", func(ctx SpecContext) {
		err := otherEditor.Client.Create(ctx, job("intruder", "mpich-cpu", "true").TrainJob())
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error: %v", err)
	})

	It("cannot read the keys of jobs, not even of its own", func(ctx SpecContext) {
		for _, namespace := range []string{tenant, otherTenant} {
			err := editor.Client.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error: %v", err)
		}
	})

	It("cannot reach the agents of another tenant's job", func(ctx SpecContext) {
		victim := job("victim", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "120")
		start(ctx, editor, victim)
		pods := &corev1.PodList{}
		Expect(admin.Client.List(ctx, pods, client.InNamespace(tenant), client.MatchingLabels{
			mpi.JobSetNameLabel: victim.Name,
		})).To(Succeed())
		Expect(pods.Items).To(HaveLen(2))

		// The probe first shows that it can reach its own job's agent: a refusal below is not a broken probe. It takes the
		// address from the agent's table, because a name may not be in DNS yet.
		probe := job("probe", "openmpi5-cpu", "bash", "-c", fmt.Sprintf(`
			knock() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/%[1]d" 2>/dev/null; }
			own=$(grep -o '"address":"[^"]*"' %[4]s | sed -n 2p | cut -d'"' -f4)
			knock "$own" || exit 51
			knock %[2]s && exit 52
			knock %[3]s && exit 53
			mpirun -n 4 mpi-hello`, mpi.AgentPort, pods.Items[0].Status.PodIP, pods.Items[1].Status.PodIP, mpi.HostTablePath))
		probe.Namespace = otherTenant
		removeAfterwards(ctx, probe)
		object := probe.TrainJob()
		Expect(otherEditor.Client.Create(ctx, object)).To(Succeed())
		Eventually(func() bool {
			return condition(ctx, otherEditor, object, "Complete")() || condition(ctx, otherEditor, object, "Failed")()
		}).Should(BeTrue())
		Expect(otherEditor.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(condition(ctx, otherEditor, object, "Complete")()).To(BeTrue(), "conditions: %+v", object.Status.Conditions)
	})

	It("is where the controller may read keys, and no other namespace is", func(ctx SpecContext) {
		service, err := cluster.Controller()
		Expect(err).NotTo(HaveOccurred())
		secret := func(namespace string) error {
			return service.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "any"}, &corev1.Secret{})
		}
		Expect(apierrors.IsNotFound(secret(tenant))).To(BeTrue())
		Expect(apierrors.IsForbidden(secret("kube-system"))).To(BeTrue())
	})

	It("cannot take a job over by preparing its key", func(ctx SpecContext) {
		j := job("squatted", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello")
		removeAfterwards(ctx, j) // before something of its name is made
		squat := &corev1.Secret{ObjectMeta: owned(mpi.SSHAuthSecretName(j.Name), tenant), StringData: map[string]string{"ssh-privatekey": "known to me"}}
		Expect(admin.Client.Create(ctx, squat)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, squat))).To(Succeed()) })
		object := j.TrainJob()
		Expect(editor.Client.Create(ctx, object)).To(Succeed())
		Eventually(condition(ctx, editor, object, "Failed")).Should(BeTrue())
		Expect(editor.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(object.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(squat.Name))))
		Expect(admin.Client.Delete(ctx, squat)).To(Succeed())
	})

	It("cannot hurt others by what its editors write into a TrainJob", func(ctx SpecContext) {
		const apart = `{"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", %s}]}}}`
		for pod, words := range map[string]string{
			fmt.Sprintf(apart, `"namespaceSelector": {}`):                                                      "podAffinity or podAntiAffinity",
			fmt.Sprintf(apart, `"labelSelector": {}`):                                                          "podAntiAffinity to pods that are not its own",
			`{"terminationGracePeriodSeconds": 86400}`:                                                         "120 is the most",
			`{"tolerations": [{"operator": "Exists"}]}`:                                                        "adds tolerations",
			`{"nodeSelector": {"$patch": "replace"}}`:                                                          "selects machines by `$patch`",
			`{"serviceAccountName": "other"}`:                                                                  "serviceAccountName `other`",
			`{"imagePullSecrets": [{"name": "other-mpi-ssh-auth"}]}`:                                           "reads the key of a job",
			`{"volumes": [{"name": "v", "secret": {"secretName": "other-mpi-ssh-auth"}}]}`:                     "reads the key of a job",
			`{"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}`:                                          "reaches past the namespace",
			`{"volumes": [{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]}`:      "reaches past the namespace",
			`{"volumes": [{"name": "v", "ephemeral": {}}]}`:                                                    "reaches past the namespace",
			`{"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}`: "reaches past the namespace",
			`{"volumes": [{"name": "lockstep-agent", "emptyDir": {}}]}`:                                        "which is the platform's",
			`{"containers": [{"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/etc"}]}]}`:         "nothing may be mounted there",
			`{"containers": [{"name": "node", "securityContext": {"privileged": true}}]}`:                      "sets `privileged`",
			`{"containers": [{"name": "node", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]}`:  "sets NVIDIA_VISIBLE_DEVICES",
			`null, "metadata": {"finalizers": ["example.com/never"]}`:                                          "sets `finalizers`",
			`{"initContainers": [{"name": "gate", "volumeMounts": [{"name": "v", "mountPath": "/bin"}]}]}`:     "sets `initContainers`",
			`null, "metadata": {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"}}`:       "sets annotation `alpha.jobset.sigs.k8s.io/exclusive-topology`",
		} {
			err := editor.Client.Create(ctx, patched(job("attack", "openmpi4-cpu", "true"), mpi.NodeJob, pod), client.DryRunAll)
			Expect(err).To(MatchError(ContainSubstring(words)), pod)
		}
	})
})

// Two jobs run in the namespace of a tenant, and two in one that denies nothing by itself. What reaches what is tried from
// inside the pods.
var _ = Describe("The pods of a job", Ordered, ContinueOnFailure, func() {
	namespaces := []string{tenant, lifeNamespace}
	jobs := map[string]*trainer.TrainJob{}
	// stranger is a pod of no job, where nothing is denied.
	stranger := idlePod(lifeNamespace, "stranger")

	BeforeAll(func(ctx SpecContext) {
		for _, namespace := range namespaces {
			for _, name := range []string{"one", "other"} {
				j := job(name, "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600")
				j.Namespace = namespace
				jobs[namespace+"/"+name] = submit(ctx, admin, j.TrainJob())
			}
		}
		makePod(ctx, stranger)
		for _, object := range jobs {
			Eventually(ranks(ctx, object)).Should(Equal(4), "mpirun and its daemons listen then: %s", object.Name)
		}
	})

	for _, namespace := range namespaces {
		It("reach each other on the port of the agent and on those of MPI, and nobody else does, in "+namespace, func(ctx SpecContext) {
			pods := podsOf(ctx, jobs[namespace+"/one"])
			doors := doorsOf(ctx, pods)
			Expect(len(doors)).To(BeNumerically(">=", 2*3), "each pod has an agent, and mpirun or one of its daemons: %v", doors)
			Eventually(func() map[string][]door { return opened(ctx, doors, pods...) }).Should(HaveEach(ConsistOf(doors)))
			Expect(opened(ctx, doors, outsiders(ctx, jobs, namespace, *stranger)...)).To(HaveEach(BeEmpty()))
		})
	}

	It("are admitted to nothing outside but DNS", func(ctx SpecContext) {
		dns := &corev1.PodList{}
		Expect(admin.Client.List(ctx, dns, client.InNamespace("kube-system"), client.MatchingLabels{"k8s-app": "kube-dns"})).To(Succeed())
		Expect(dns.Items).NotTo(BeEmpty())
		const readiness = 8181 // of CoreDNS
		names, ready := door{dns.Items[0].Status.PodIP, 53}, door{dns.Items[0].Status.PodIP, readiness}
		doors := []door{names, ready}
		Eventually(func() map[string][]door { return opened(ctx, doors, *stranger) }).Should(HaveEach(ConsistOf(doors)), "a pod of no job, where nothing is denied")
		var pods []corev1.Pod
		for _, object := range jobs {
			pods = append(pods, podsOf(ctx, object)...)
		}
		Expect(pods).To(HaveLen(2 * len(jobs)))
		Eventually(func() map[string][]door { return opened(ctx, []door{names}, pods...) }).Should(HaveEach(ConsistOf(names)))
		Expect(opened(ctx, []door{ready}, pods...)).To(HaveEach(BeEmpty()))
	})

	It("let the controller in, to the agent only, and nobody else of its namespace", func(ctx SpecContext) {
		controller, neighbour, impostor := idlePod(platform.Namespace, "controller"), idlePod(platform.Namespace, "neighbour"), idlePod(lifeNamespace, "impostor")
		for _, pod := range []*corev1.Pod{controller, impostor} {
			pod.Labels = map[string]string{mpi.ControllerLabel: mpi.ControllerName}
		}
		for _, pod := range []*corev1.Pod{controller, neighbour, impostor} {
			makePod(ctx, pod)
		}
		var doors, agents []door
		for _, object := range jobs {
			doors = append(doors, doorsOf(ctx, podsOf(ctx, object))...)
		}
		for _, d := range doors {
			if d.port == mpi.AgentPort {
				agents = append(agents, d)
			}
		}
		Expect(agents).To(HaveLen(2 * len(jobs)))
		Eventually(func() map[string][]door { return opened(ctx, doors, *controller) }).Should(HaveEach(ConsistOf(agents)), "policies learn of a new pod within a second")
		Expect(opened(ctx, doors, *neighbour, *impostor)).To(HaveEach(BeEmpty()))
	})
})

// outsiders are a launcher and a node of the other job of a namespace and of one in the other namespace, and a pod of no job.
func outsiders(ctx context.Context, jobs map[string]*trainer.TrainJob, namespace string, stranger corev1.Pod) []corev1.Pod {
	pods := []corev1.Pod{stranger}
	for name, object := range jobs {
		if name == namespace+"/other" || object.Namespace != namespace && strings.HasSuffix(name, "/one") {
			all := podsOf(ctx, object)
			slices.SortFunc(all, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
			pods = append(pods, all[0], all[1])
		}
	}
	return pods
}

// door is where somebody accepts connections.
type door struct {
	address string
	port    int
}

func doorsOf(ctx context.Context, pods []corev1.Pod) []door {
	GinkgoHelper()
	var doors []door
	for _, pod := range pods {
		for _, port := range listening(ctx, pod) {
			doors = append(doors, door{pod.Status.PodIP, port})
		}
	}
	return doors
}

// opened are the doors to which each of some pods can make a connection, all tried at once. A policy refuses it, or drops it.
func opened(ctx context.Context, doors []door, from ...corev1.Pod) map[string][]door {
	GinkgoHelper()
	var script strings.Builder
	for i, d := range doors {
		fmt.Fprintf(&script, "timeout 2 bash -c 'exec 3<>/dev/tcp/%s/%d' 2>/dev/null && echo %d &\n", d.address, d.port, i)
	}
	answers := make([]string, len(from))
	group, ctx := errgroup.WithContext(ctx)
	for i, pod := range from {
		group.Go(func() (err error) {
			answers[i], err = inside(ctx, pod, script.String()+"wait")
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
	open := map[string][]door{}
	for i, pod := range from {
		name := pod.Namespace + "/" + pod.Name
		open[name] = nil
		for _, number := range strings.Fields(answers[i]) {
			i, err := strconv.Atoi(number)
			Expect(err).NotTo(HaveOccurred())
			open[name] = append(open[name], doors[i])
		}
	}
	return open
}

// listening are the ports on which somebody accepts connections from other pods (proc(5), /proc/net/tcp).
func listening(ctx context.Context, pod corev1.Pod) []int {
	GinkgoHelper()
	const (
		listens, local, state = "0A", 1, 3
		loopback, loopback6   = "0100007F", "00000000000000000000000001000000"
	)
	table, err := inside(ctx, pod, "cat /proc/net/tcp /proc/net/tcp6")
	Expect(err).NotTo(HaveOccurred())
	ports := map[int]bool{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= state || fields[state] != listens {
			continue
		}
		address, hex, _ := strings.Cut(fields[local], ":")
		port, err := strconv.ParseInt(hex, 16, 32)
		Expect(err).NotTo(HaveOccurred())
		ports[int(port)] = ports[int(port)] || address != loopback && address != loopback6
	}
	maps.DeleteFunc(ports, func(_ int, open bool) bool { return !open })
	return slices.Sorted(maps.Keys(ports))
}

// inside runs a script in the first container of a pod and returns what it prints.
func inside(ctx context.Context, pod corev1.Pod, script string) (string, error) {
	out, err := exec.CommandContext(ctx, cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "-n", pod.Namespace, "exec", pod.Name, //nolint:gosec // of this cluster
		"-c", pod.Spec.Containers[0].Name, "--", "bash", "-c", script).Output()
	if err != nil {
		return "", fmt.Errorf("run a script in pod %s: %w", pod.Name, err)
	}
	return string(out), nil
}
