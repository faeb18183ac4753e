package desired

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
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

// openSSHEnvironment returns what upstream's plugin tells Open MPI in the launcher.
func openSSHEnvironment(j job.Job) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OMPI_MCA_orte_default_hostfile", Value: mpi.HostfilePath},
		{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
		{Name: "OMPI_MCA_orte_set_default_slots", Value: strconv.Itoa(int(j.World.SlotsPerNode))},
		{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"},
	}
}

// keepLastLines makes kubelet keep the last lines of each container that fails: without an agent nothing else says why.
func keepLastLines(pod *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if containers[i].TerminationMessagePolicy == "" {
				containers[i].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			}
		}
	}
}

// setOpenSSHModes sets the modes of the files of the key.
func setOpenSSHModes(source *corev1.SecretVolumeSource) {
	source.DefaultMode = ptr.To(openSSHDefaultMode)
	for i := range source.Items {
		mode := openSSHPublicMode
		if source.Items[i].Path == mpi.PrivateKeyFile {
			mode = openSSHPrivateMode
		}
		source.Items[i].Mode = ptr.To(mode)
	}
}
