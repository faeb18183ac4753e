package job_test

import (
	"bytes"
	"crypto/elliptic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

func resolved(t *testing.T, runtime *job.Runtime, edits ...func(*trainer.TrainJob)) job.Job {
	t.Helper()
	made, err := job.Resolve(trainJobOf(edits...), *runtime)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestSSHAuthSecret(t *testing.T) {
	job := resolved(t, runtimeOf(false))
	seed := bytes.Repeat([]byte{7}, 32)
	first, err := desired.SSHAuthSecret(job, bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	second, err := desired.SSHAuthSecret(job, bytes.NewReader(append(bytes.Repeat([]byte{0xff}, 32), seed...)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Data[mpi.PrivateKeyKey], second.Data[mpi.PrivateKeyKey]) {
		t.Error("a draw out of range must be drawn again, and the same draw must give the same key")
	}
	signer, err := ssh.ParsePrivateKey(first.Data[mpi.PrivateKeyKey])
	if err != nil {
		t.Fatalf("the private key must be readable: %v", err)
	}
	if got := signer.PublicKey().Type(); got != "ecdsa-sha2-nistp256" {
		t.Errorf("want a key on P-256 (%s), got %s", elliptic.P256().Params().Name, got)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(first.Data[mpi.PublicKeyKey])
	if err != nil {
		t.Fatalf("the public key must be an authorized_keys line: %v", err)
	}
	if !bytes.Equal(public.Marshal(), signer.PublicKey().Marshal()) {
		t.Error("the public key must belong to the private one")
	}
	if first.Name != "demo-mpi-ssh-auth" || first.Type != corev1.SecretTypeSSHAuth || !ptr.Deref(first.Immutable, false) {
		t.Errorf("the Secret must have upstream's name and type and be immutable: %s %s %v", first.Name, first.Type, first.Immutable)
	}
	if _, err := desired.SSHAuthSecret(job, bytes.NewReader(nil)); err == nil {
		t.Error("a key without randomness must be an error")
	}
}

func TestHostfile(t *testing.T) {
	cases := map[string]struct {
		reason  string
		runtime *job.Runtime
		nodes   int32
		want    string
	}{
		"Nodes": {
			"a launcher without ranks is not in the hostfile", runtimeOf(false), 3,
			"demo-node-0-0.demo slots=2\ndemo-node-0-1.demo slots=2\ndemo-node-0-2.demo slots=2\n",
		},
		"Launcher": {
			"a launcher with ranks is the first host", runtimeOf(true), 3,
			"demo-launcher-0-0.demo slots=2\ndemo-node-0-0.demo slots=2\ndemo-node-0-1.demo slots=2\n",
		},
		"LauncherAlone": {
			"one node is the launcher", runtimeOf(true), 1, "demo-launcher-0-0.demo slots=2\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := desired.HostfileConfigMap(resolved(t, tc.runtime, asks(trainer.Trainer{NumNodes: &tc.nodes})))
			if diff := cmp.Diff(tc.want, got.Data["hostfile"]); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNetworkPolicy(t *testing.T) {
	job := resolved(t, runtimeOf(false))
	labelled := func(label, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
	}
	port := func(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: ptr.To(intstr.FromInt32(number))}
	}
	ofJob := metav1.LabelSelector{MatchLabels: map[string]string{"jobset.sigs.k8s.io/jobset-name": "demo"}}
	want := networkingv1.NetworkPolicySpec{
		PodSelector: ofJob,
		PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &ofJob}}}, {
			From: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "lockstep-system"}},
				PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "mpi-controller"}},
			}},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(2222))}},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &ofJob}}}, {
			To:    []networkingv1.NetworkPolicyPeer{{NamespaceSelector: labelled("kubernetes.io/metadata.name", "kube-system"), PodSelector: labelled("k8s-app", "kube-dns")}},
			Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53)},
		}, {
			To:    []networkingv1.NetworkPolicyPeer{{NamespaceSelector: labelled("kubernetes.io/metadata.name", "openshift-dns"), PodSelector: labelled("dns.operator.openshift.io/daemonset-dns", "default")}},
			Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, 5353), port(corev1.ProtocolTCP, 5353)},
		}},
	}
	if diff := cmp.Diff(want, desired.NetworkPolicy(job, "lockstep-system").Spec); diff != "" {
		t.Errorf("pods of the job reach each other and DNS, the controller reaches their agents, and nobody else reaches them: -want, +got:\n%s", diff)
	}
}

func TestOwnership(t *testing.T) {
	made := resolved(t, runtimeOf(false))
	secret, err := desired.SSHAuthSecret(made, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	want := []metav1.OwnerReference{{
		APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "demo", UID: "uid-new",
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	for _, object := range []job.Object{secret, desired.HostfileConfigMap(made), desired.NetworkPolicy(made, "x"), desired.JobSet(made)} {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if diff := cmp.Diff(want, object.GetOwnerReferences()); diff != "" {
			t.Errorf("%s must go with its TrainJob: -want, +got:\n%s", kind, diff)
		}
		if object.GetLabels()[mpi.TrainJobLabel] != "demo" || object.GetNamespace() != "team" || kind == "" {
			t.Errorf("%s %s must be labelled and in the namespace of the TrainJob", kind, object.GetName())
		}
	}
}

func TestJobSetCounts(t *testing.T) {
	cases := map[string]struct {
		reason         string
		runtime        *job.Runtime
		nodes          int32
		launcher, node int32
	}{
		"One":             {"one node and a launcher beside it", runtimeOf(false), 1, 1, 1},
		"Two":             {"", runtimeOf(false), 2, 1, 2},
		"Many":            {"", runtimeOf(false), 64, 1, 64},
		"LauncherAlone":   {"exactly one pod; `node` stays for Kueue, without pods", runtimeOf(true), 1, 1, 0},
		"LauncherAndOne":  {"the launcher is one of two", runtimeOf(true), 2, 1, 1},
		"LauncherAndMany": {"", runtimeOf(true), 64, 1, 63},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			made := resolved(t, tc.runtime, asks(trainer.Trainer{NumNodes: &tc.nodes}))
			got := map[string]int32{}
			for _, rj := range desired.JobSet(made).Spec.ReplicatedJobs {
				if *rj.Template.Spec.Parallelism != *rj.Template.Spec.Completions || rj.Replicas != 1 {
					t.Errorf("%s: %s has replicas %d, parallelism %d, completions %d", tc.reason, rj.Name, rj.Replicas, *rj.Template.Spec.Parallelism, *rj.Template.Spec.Completions)
				}
				got[rj.Name] = *rj.Template.Spec.Parallelism
			}
			if diff := cmp.Diff(map[string]int32{"launcher": tc.launcher, "node": tc.node}, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if total := tc.launcher + tc.node; total != made.World.Pods() {
				t.Errorf("the world has %d pods, the JobSet %d", made.World.Pods(), total)
			}
		})
	}
}

func containerOf(t *testing.T, js *jobset.JobSet, name string) corev1.Container {
	t.Helper()
	return *job.MainContainer(&job.ReplicatedJob(js.Spec, name).Template.Spec.Template.Spec)
}

func TestJobSetCommand(t *testing.T) {
	wrapped := []string{mpi.AgentBin, "run", "--"}
	withFlags := runtimeOf(false)
	job.ReplicatedJob(withFlags.Spec.Template.Spec, "launcher").Template.Spec.Template.Spec.Containers[0].Command =
		[]string{mpi.AgentBin, "run", "--gate-timeout", "1m", "--", "mpirun"}
	withArgs := runtimeOf(false)
	job.ReplicatedJob(withArgs.Spec.Template.Spec, "launcher").Template.Spec.Template.Spec.Containers[0].Args = []string{"old"}
	cases := map[string]struct {
		reason        string
		runtime       *job.Runtime
		asked         trainer.Trainer
		command, args []string
	}{
		"Command":  {"the agent owns the verdict", runtimeOf(false), trainer.Trainer{Command: []string{"mpirun", "a"}}, append(wrapped, "mpirun", "a"), nil},
		"Both":     {"args stay args", runtimeOf(false), trainer.Trainer{Command: []string{"mpirun"}, Args: []string{"a"}}, append(wrapped, "mpirun"), []string{"a"}},
		"Args":     {"args alone run under the runtime's command", runtimeOf(false), trainer.Trainer{Args: []string{"mpirun", "a"}}, wrapped, []string{"mpirun", "a"}},
		"Nothing":  {"the runtime decides", withFlags, trainer.Trainer{}, []string{mpi.AgentBin, "run", "--gate-timeout", "1m", "--", "mpirun"}, nil},
		"Flags":    {"flags of the agent survive a command", withFlags, trainer.Trainer{Command: []string{"hostname"}}, []string{mpi.AgentBin, "run", "--gate-timeout", "1m", "--", "hostname"}, nil},
		"Replaced": {"a command drops the runtime's args, as Kubernetes does it", withArgs, trainer.Trainer{Command: []string{"hostname"}}, append(wrapped, "hostname"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			js := desired.JobSet(resolved(t, tc.runtime, asks(tc.asked)))
			launcher := containerOf(t, js, mpi.LauncherJob)
			if diff := cmp.Diff(tc.command, launcher.Command); diff != "" {
				t.Errorf("%s: command: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.args, launcher.Args); diff != "" {
				t.Errorf("%s: args: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]string{mpi.AgentBin, "serve"}, containerOf(t, js, mpi.NodeJob).Command); diff != "" {
				t.Errorf("nodes always serve: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestJobSetSameImageAndEnvironmentEverywhere(t *testing.T) {
	asked := trainer.Trainer{
		Image: ptr.To("registry.test/user:2"),
		Env:   []corev1.EnvVar{{Name: "SHELL", Value: "/bin/zsh"}, {Name: "EPOCHS", Value: "3"}},
	}
	js := desired.JobSet(resolved(t, runtimeOf(false), asks(asked)))
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		container := containerOf(t, js, name)
		if container.Image != "registry.test/user:2" {
			t.Errorf("%s runs %s", name, container.Image)
		}
		env := map[string]string{}
		for _, v := range container.Env {
			if _, twice := env[v.Name]; twice {
				t.Errorf("%s has %s twice", name, v.Name)
			}
			env[v.Name] = v.Value
		}
		if env["SHELL"] != "/bin/zsh" || env["EPOCHS"] != "3" || env["PRTE_MCA_prte_default_hostfile"] != mpi.HostfilePath {
			t.Errorf("%s: the user's variables win, the others stay: %v", name, env)
		}
	}
}

func TestJobSetResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	of := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	launcher := of(list("100m", ""), list("", ""))
	cases := map[string]struct {
		reason         string
		runtime        *job.Runtime
		asked          *corev1.ResourceRequirements
		launcher, node corev1.ResourceRequirements
	}{
		"Default": {
			"the runtime decides", runtimeOf(false), nil, launcher, of(list("2", "1Gi"), list("", "1Gi")),
		},
		"Limits": {
			"only nodes change, other resources stay, requests follow limits", runtimeOf(false),
			&corev1.ResourceRequirements{Limits: list("4", "")}, launcher, of(list("4", "1Gi"), list("4", "1Gi")),
		},
		"Requests": {
			"limits follow requests, or a larger request would be invalid; CPU stays without", runtimeOf(false),
			&corev1.ResourceRequirements{Requests: list("4", "2Gi")}, launcher, of(list("4", "2Gi"), list("", "2Gi")),
		},
		"LauncherRuns": {
			"a launcher with ranks is a node", runtimeOf(true),
			&corev1.ResourceRequirements{Limits: list("", "2Gi")}, of(list("2", "2Gi"), list("", "2Gi")), of(list("2", "2Gi"), list("", "2Gi")),
		},
		"Both": {
			"what the user says about both is kept", runtimeOf(false),
			&corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("4", "2Gi")}, launcher, of(list("1", "1Gi"), list("4", "2Gi")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			js := desired.JobSet(resolved(t, tc.runtime, asks(trainer.Trainer{ResourcesPerNode: tc.asked})))
			if diff := cmp.Diff(tc.launcher, containerOf(t, js, mpi.LauncherJob).Resources); diff != "" {
				t.Errorf("%s: launcher: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.node, containerOf(t, js, mpi.NodeJob).Resources); diff != "" {
				t.Errorf("%s: node: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJobSetVolumes(t *testing.T) {
	js := desired.JobSet(resolved(t, runtimeOf(false)))
	for name, mounts := range map[string]map[string]string{
		mpi.LauncherJob: {"mpi-ssh-auth": mpi.SSHAuthMountPath, "mpi-hostfile": "/etc/mpi"},
		mpi.NodeJob:     {"mpi-ssh-auth": mpi.SSHAuthMountPath},
	} {
		pod := job.ReplicatedJob(js.Spec, name).Template.Spec.Template.Spec
		got := map[string]string{}
		for _, mount := range pod.Containers[0].VolumeMounts {
			if mount.Name == "mpi-ssh-auth" || mount.Name == "mpi-hostfile" {
				got[mount.Name] = mount.MountPath
			}
		}
		if diff := cmp.Diff(mounts, got); diff != "" {
			t.Errorf("%s: mounts: -want, +got:\n%s", name, diff)
		}
		files := map[string]int32{}
		for _, volume := range pod.Volumes {
			if volume.Name == "mpi-ssh-auth" {
				for _, item := range volume.Secret.Items {
					files[item.Path] = *item.Mode
				}
			}
		}
		if diff := cmp.Diff(map[string]int32{"id_rsa": 0o440, "id_rsa.pub": 0o440, "authorized_keys": 0o440}, files); diff != "" {
			t.Errorf("%s: key files: -want, +got:\n%s", name, diff)
		}
	}
}

func TestJobSetLabels(t *testing.T) {
	runtime := runtimeOf(false)
	runtime.Spec.Template.Labels = map[string]string{"from": "template"}
	js := desired.JobSet(resolved(t, runtime))
	if js.Name != "demo" || js.Labels["from"] != "template" {
		t.Errorf("the JobSet has the TrainJob's name and the template's labels: %s %v", js.Name, js.Labels)
	}
	for _, rj := range js.Spec.ReplicatedJobs {
		if rj.Template.Labels[mpi.TrainJobLabel] != "demo" || rj.Template.Spec.Template.Labels[mpi.TrainJobLabel] != "demo" {
			t.Errorf("Jobs and pods of %s are found by label: %v, %v", rj.Name, rj.Template.Labels, rj.Template.Spec.Template.Labels)
		}
	}
	if got := job.ReplicatedJob(js.Spec, mpi.LauncherJob).Template.Labels[mpi.AncestorLabel]; got != mpi.AncestorTrainer {
		t.Errorf("upstream's label stays: %q", got)
	}
}

func TestRuntimePatches(t *testing.T) {
	kueue := patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{
		NodeSelector: map[string]string{"flavor": "a"},
		Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
	}))
	runtime := runtimeOf(false)
	before := runtime.Spec.DeepCopy()
	js := desired.JobSet(resolved(t, runtime, kueue))
	node := job.ReplicatedJob(js.Spec, mpi.NodeJob).Template.Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{"pool": "cpu", "flavor": "a"}, node.NodeSelector); diff != "" {
		t.Errorf("Kueue's placement joins the runtime's: -want, +got:\n%s", diff)
	}
	if len(node.Tolerations) != 1 || node.Containers[0].Image != "registry.test/mpi:1" || len(node.Containers[0].Command) != 2 {
		t.Errorf("a patch changes only what it names: %+v", node)
	}
	if js.Spec.ReplicatedJobs[0].Name != mpi.LauncherJob {
		t.Errorf("the order of the replicated jobs stays: %s first", js.Spec.ReplicatedJobs[0].Name)
	}
	if diff := cmp.Diff(*before, runtime.Spec); diff != "" {
		t.Errorf("the runtime, which comes from a cache, must not change: -want, +got:\n%s", diff)
	}
}

func TestRescheduled(t *testing.T) {
	placed := func(flavor string) func(*trainer.TrainJob) {
		return patchOf(podPatch(mpi.NodeJob, trainer.PodSpecPatch{NodeSelector: map[string]string{"flavor": flavor}}))
	}
	suspended := desired.JobSet(resolved(t, runtimeOf(false), suspend, placed("a")))
	newer := runtimeOf(false)
	job.ReplicatedJob(newer.Spec.Template.Spec, mpi.NodeJob).Template.Spec.Template.Spec.Containers[0].Image = "registry.test/mpi:2"

	resumed := desired.RescheduledJobSet(resolved(t, newer, placed("b")), suspended)
	node := job.ReplicatedJob(resumed.Spec, mpi.NodeJob).Template.Spec.Template.Spec
	if diff := cmp.Diff(map[string]string{"pool": "cpu", "flavor": "b"}, node.NodeSelector); diff != "" || *resumed.Spec.Suspend {
		t.Errorf("a resumed job goes where it is placed now, and not where it was before: -want, +got:\n%s", diff)
	}
	if node.Containers[0].Image != "registry.test/mpi:1" {
		t.Errorf("JobSet's webhook refuses a new image, even of a suspended JobSet: %s", node.Containers[0].Image)
	}

	running := desired.JobSet(resolved(t, runtimeOf(false), placed("a")))
	held := desired.RescheduledJobSet(resolved(t, runtimeOf(false), suspend, placed("b")), running)
	want := running.DeepCopy()
	want.Spec.Suspend = ptr.To(true)
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("a running JobSet is suspended and not changed otherwise: -want, +got:\n%s", diff)
	}
}
