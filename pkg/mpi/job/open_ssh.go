package job

import (
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Runtimes of upstream's own kind have no agent: their nodes run sshd, their launcher ssh. They run unchanged, with what
// Kubeflow Trainer's MPI plugin gives them (kubeflow/trainer v2.3 pkg/runtime/framework/plugins/mpi), and with what it
// leaves out: image, environment and resources on the nodes, as many nodes as were asked for, network policies, the end of
// the key. Without an agent there is no gate, no world-size guard and no verdict.

// The modes of the files of a key that sshd and ssh accept, as upstream sets them (pkg/constants MPISSH…Mode).
const (
	openSSHPrivateMode int32 = 0o640
	openSSHPublicMode  int32 = 0o644
	openSSHDefaultMode int32 = 0o400
)

// Compiled says whether Lockstep compiled the runtime, so that its pods have the agent.
func (r Runtime) Compiled() bool { return r.Ours() && r.Labels[mpi.ImplementationLabel] != "" }

// withAgent says whether the launcher of a JobSet runs under the agent. The JobSet says it: its runtime may be gone.
func withAgent(js *jobset.JobSet) bool {
	rj := replicatedJob(js.Spec, mpi.LauncherJob)
	if rj == nil {
		return false
	}
	container := mainContainer(&rj.Template.Spec.Template.Spec)
	return container != nil && len(container.Command) > 0 && container.Command[0] == mpi.AgentBin
}

// openSSHEnvironment returns what upstream's plugin tells Open MPI in the launcher.
func (j Job) openSSHEnvironment() []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OMPI_MCA_orte_default_hostfile", Value: mpi.HostfilePath},
		{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
		{Name: "OMPI_MCA_orte_set_default_slots", Value: strconv.Itoa(int(j.World.SlotsPerNode))},
		{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"},
	}
}

// openSSHModes sets the modes of the files of the key.
func openSSHModes(source *corev1.SecretVolumeSource) {
	source.DefaultMode = ptr.To(openSSHDefaultMode)
	for i := range source.Items {
		mode := openSSHPublicMode
		if source.Items[i].Path == mpi.PrivateKeyFile {
			mode = openSSHPrivateMode
		}
		source.Items[i].Mode = ptr.To(mode)
	}
}

// slotsByGPU is upstream's rule: a runtime that says 1 means one rank per GPU where there are more.
func slotsByGPU(asked trainer.Trainer, template jobset.JobSetSpec) int32 {
	container := mainContainer(&replicatedJob(template, mpi.NodeJob).Template.Spec.Template.Spec)
	resources := container.Resources
	if asked.ResourcesPerNode != nil {
		resources = *asked.ResourcesPerNode
	}
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		for name, quantity := range list {
			if strings.Contains(strings.ToLower(string(name)), "gpu") && quantity.Value() > 1 {
				return int32(min(quantity.Value(), mpi.MaxSlotsPerNode)) //nolint:gosec // bounded
			}
		}
	}
	return 1
}
