// Package template builds the portable runtime: a ClusterTrainingRuntime whose JobSet template carries the whole MPI
// wiring, so that it runs under stock Kubeflow Trainer as well as under our controller.
//
// It uses only what upstream's API has. What differs per job (key, hostfile, number of nodes, the user's image and
// command) is not in it; package job adds that in executor mode, Kubeflow Trainer does otherwise. The package is pure.
package template

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Runtime is everything that a portable runtime is made of.
type Runtime struct {
	Name string
	// Labels and Annotations are added to those that the runtime needs itself.
	Labels      map[string]string
	Annotations map[string]string
	// PodLabels are added to those that all pods need themselves.
	PodLabels map[string]string
	// Framework is the value of upstream's framework label, for example `mpi` or `horovod`.
	Framework      string
	Implementation mpi.Implementation
	Version        string
	// Image is used by launcher and nodes until a TrainJob names another.
	Image string
	// World is what a TrainJob gets that asks for nothing.
	World mpi.World
	// NodeResources is what one node gets: requested in full, and limited to it except for CPU.
	NodeResources corev1.ResourceList
	// CPULimit is the most CPU that launcher or node may use. It should be more than ranks can use: a limit that they reach throttles
	// those that wait for each other. Zero sets none, which Kubeflow's SDK refuses to read where a pod has no accelerator.
	CPULimit resource.Quantity
	// LauncherResources are those of a launcher without ranks. One that runs ranks gets NodeResources.
	LauncherResources corev1.ResourceList
	// Network is how ranks reach each other.
	Network mpi.Network
	// Env is added after the environment of the implementation, and wins over it.
	Env []mpi.Variable
	// Agent says how the agent reaches the pods.
	Agent Agent
	// UnderTrainer says that stock Kubeflow Trainer makes the JobSets. It replaces our command by that of a TrainJob, so that an init
	// container of the launcher waits for the nodes, which costs up to a second; where our command runs all the same it does not wait again.
	UnderTrainer bool
	// OneLauncher keeps numNodes at 1, whatever the default job has: Kubeflow Trainer makes that many launchers, which would each run the job,
	// and Kueue counts that many.
	OneLauncher bool
	// User is the identity of all processes; nil where the platform assigns it (OpenShift).
	User *User
	// NodeSelector and Tolerations place the nodes. A launcher without ranks goes anywhere, unless LauncherWithNodes puts it on the
	// same machines: a queue counts machines of a kind, and must know which of them a launcher takes from.
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	LauncherWithNodes bool
	// SharedMemory is the size of /dev/shm; nil leaves the container runtime's 64 MiB.
	SharedMemory *resource.Quantity
	// LockMemory gives pods with ranks the capability IPC_LOCK, which RDMA adapters need to pin memory.
	LockMemory bool
	// Attachments are Multus networks of pods with ranks, as `namespace/name`, in the order of their interfaces.
	Attachments []string
	// Volumes are mounted in the launcher and in all nodes.
	Volumes []Volume
	// Gang asks a scheduler for all pods at once; the zero value asks nobody.
	Gang Gang
	// PriorityClass of all pods; empty means that of the cluster.
	PriorityClass string
	// TopologyLabel is the node label of the level that must hold all nodes of a job, as Kueue's topology-aware scheduling reads
	// it; empty means that placement does not matter.
	TopologyLabel string
	// Deadline ends a job that runs longer; 0 means never.
	Deadline time.Duration
	// ServiceAccount of all pods; empty means the default one of the namespace.
	ServiceAccount string
	// SecretEnv names a Secret whose keys become environment variables; empty means none.
	SecretEnv string
}

// Volume is a folder in pods. Exactly one of Claim and Scratch is set.
type Volume struct {
	Name, MountPath string
	// Claim names a PersistentVolumeClaim.
	Claim    string
	ReadOnly bool
	// Scratch is the size of an empty folder on the machine's disk.
	Scratch *resource.Quantity
}

// Gang is how a gang scheduler is asked. At most one of its fields is set.
type Gang struct {
	// Coscheduling is how long the scheduler plugin holds machines for an incomplete gang.
	Coscheduling time.Duration
	// Volcano asks Volcano.
	Volcano bool
}

// Agent is where the agent comes from.
type Agent struct {
	// Image holds the agent at /bin/mpi-agent, with the links rsh and ssh beside it.
	Image string
	// ImageVolume mounts the image directly. Otherwise an init container copies the agent, which costs up to a second
	// per pod, because kubelet looks for finished init containers once a second.
	ImageVolume bool
}

// User is the identity of the processes of a pod.
type User struct {
	// UID needs no passwd entry. 1000650000 is in the range that OpenShift uses.
	UID int64
	// GID is 0 on OpenShift.
	GID int64
	// FSGroup owns volumes; without it the key of the job is readable for GID 0 only.
	FSGroup int64
}

// Build returns the runtime as upstream's API has it. It fails for an implementation or version without a dialect.
func (r Runtime) Build() (*trainer.ClusterTrainingRuntime, error) {
	dialect, err := mpi.DialectOf(r.Implementation, r.Version)
	if err != nil {
		return nil, fmt.Errorf("runtime %s: %w", r.Name, err)
	}
	return &trainer.ClusterTrainingRuntime{
		TypeMeta: metav1.TypeMeta{
			APIVersion: trainer.GroupVersion.String(),
			Kind:       trainer.ClusterTrainingRuntimeKind,
		},
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: r.labels(), Annotations: r.Annotations},
		Spec:       r.spec(dialect),
	}, nil
}

// BuildNamespaced returns the same runtime as one of a namespace.
func (r Runtime) BuildNamespaced(namespace string) (*trainer.TrainingRuntime, error) {
	whole, err := r.Build()
	if err != nil {
		return nil, err
	}
	runtime := &trainer.TrainingRuntime{TypeMeta: whole.TypeMeta, ObjectMeta: whole.ObjectMeta, Spec: whole.Spec}
	runtime.Kind, runtime.Namespace = trainer.TrainingRuntimeKind, namespace
	return runtime, nil
}

func (r Runtime) spec(dialect mpi.Dialect) trainer.TrainingRuntimeSpec {
	return trainer.TrainingRuntimeSpec{
		MLPolicy:       r.mlPolicy(),
		PodGroupPolicy: r.Gang.podGroupPolicy(),
		Template:       trainer.JobSetTemplateSpec{Spec: r.jobSet(dialect)},
	}
}

func (g Gang) podGroupPolicy() *trainer.PodGroupPolicy {
	switch {
	case g.Coscheduling > 0:
		return &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
			Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To(int32(g.Coscheduling.Seconds()))},
		}}
	case g.Volcano:
		return &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
			Volcano: &trainer.VolcanoPodGroupPolicySource{},
		}}
	}
	return nil
}

func (r Runtime) labels() map[string]string {
	labels := map[string]string{
		mpi.FrameworkLabel:      r.Framework,
		mpi.ImplementationLabel: string(r.Implementation),
		mpi.VersionLabel:        r.Version,
	}
	for name, value := range r.Labels {
		labels[name] = value
	}
	return labels
}

// mlPolicy says how many nodes the default job has, for clients to read, where nobody takes that for launchers; the parallelism of the node
// template is what counts. mpiImplementation is OpenMPI for all, because upstream admits nothing else; what it adds for Open MPI is
// harmless for the others.
func (r Runtime) mlPolicy() *trainer.MLPolicy {
	nodes := r.World.Nodes
	if r.OneLauncher {
		nodes = 1
	}
	return &trainer.MLPolicy{
		NumNodes: ptr.To(nodes),
		MLPolicySource: trainer.MLPolicySource{MPI: &trainer.MPIMLPolicySource{
			NumProcPerNode:    ptr.To(r.World.SlotsPerNode),
			MPIImplementation: ptr.To(trainer.MPIImplementationOpenMPI),
			SSHAuthMountPath:  ptr.To(mpi.SSHAuthMountPath),
			RunLauncherAsNode: ptr.To(r.World.LauncherRunsRanks),
		}},
	}
}

// jobSet creates all pods together and lets the launcher wait: `dependsOn` would deadlock with a gang scheduler that
// counts the launcher. A job that failed is not restarted here; the controller knows which failures are worth it.
func (r Runtime) jobSet(dialect mpi.Dialect) jobset.JobSetSpec {
	return jobset.JobSetSpec{
		Network: &jobset.Network{
			EnableDNSHostnames:       ptr.To(true),
			PublishNotReadyAddresses: ptr.To(true),
		},
		SuccessPolicy: &jobset.SuccessPolicy{
			Operator:             jobset.OperatorAll,
			TargetReplicatedJobs: []string{mpi.LauncherJob},
		},
		FailurePolicy: &jobset.FailurePolicy{MaxRestarts: 0},
		ReplicatedJobs: []jobset.ReplicatedJob{
			r.replicatedJob(mpi.LauncherJob, 1, r.launcherPod(dialect)),
			r.replicatedJob(mpi.NodeJob, r.World.NodePods(), r.nodePod(dialect)),
		},
	}
}

func (r Runtime) replicatedJob(name string, pods int32, pod corev1.PodTemplateSpec) jobset.ReplicatedJob {
	job := jobset.ReplicatedJob{
		Name:     name,
		Replicas: 1,
		Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Parallelism:  ptr.To(pods),
			Completions:  ptr.To(pods),
			BackoffLimit: ptr.To[int32](0),
			Template:     pod,
		}},
	}
	if name == mpi.NodeJob {
		// A node that is told to end exits with 0. Whether the job needs it still, its launcher finds out; without this, a deletion
		// counts as a failure at once, also while the launcher only works on what the ranks have left, and while they save it.
		job.Template.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	if name == mpi.LauncherJob {
		job.Template.Labels = map[string]string{mpi.AncestorLabel: mpi.AncestorTrainer}
		if r.Deadline > 0 {
			// The launcher ends, and with it the job; nodes have no deadline of their own, or a late one would fail for another reason.
			job.Template.Spec.ActiveDeadlineSeconds = ptr.To(int64(r.Deadline.Seconds()))
		}
	}
	return job
}
