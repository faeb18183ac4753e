package job

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Job is a TrainJob resolved against its runtime: all that its objects are built from.
type Job struct {
	Name      string
	Namespace string
	UID       types.UID
	World     mpi.World
	Suspended bool
	// Template is the runtime's, with the runtimePatches of the TrainJob merged in.
	Template trainer.JobSetTemplateSpec
	// SSHAuthMountPath is where the runtime wants the key.
	SSHAuthMountPath string
	// Trainer is what the user asks for. It is zero when the TrainJob leaves everything to the runtime.
	Trainer trainer.Trainer
	// Gang is how a gang scheduler is asked, nil for none.
	Gang *trainer.PodGroupPolicy
	// Attempt is how often the job was started before.
	Attempt int
	// Requested is when the job was created or resumed, zero while it is suspended.
	Requested time.Time
	// Runtime is what the job is made from.
	Runtime Runtime
	// Data is what has to be there before the job starts, in the order of spec.initializer.
	Data []Data
	// Artifacts are the folder that outlives the pods, nil for none.
	Artifacts *Artifacts
	// Queue holds the labels by which the job is in a queue of Kueue.
	Queue map[string]string
	// Trace holds the variables that make all pods record the run. TraceRefused reports why the trace that the user asks for is
	// impossible; if it is not nil, nothing is recorded, and preflight refuses the job.
	Trace        []corev1.EnvVar
	TraceRefused *Refusal
}

// defaultSSHAuthMountPath is upstream's default of mlPolicy.mpi.sshAuthMountPath.
const defaultSSHAuthMountPath = "/root/.ssh"

// Resolve returns the job that a TrainJob asks for. An error is always a *Refusal; a runtime that is not Ours is one, too, because front ends for
// people meet those of all frameworks.
func Resolve(trainJob *trainer.TrainJob, runtime Runtime) (Job, error) {
	if !runtime.IsMPI() {
		return Job{}, newRefusal(diagnose.InvalidRuntime, "the runtime has no mlPolicy.mpi: its jobs are not MPI jobs")
	}
	template, err := patchedTemplate(runtime.Spec.Template, trainJob.Spec.RuntimePatches)
	if err != nil {
		return Job{}, err
	}
	data, err := takeData(trainJob.Spec.Initializer, runtime, &template.Spec)
	if err != nil {
		return Job{}, err
	}
	artifacts, err := artifactsFor(trainJob, runtime)
	if err != nil {
		return Job{}, err
	}
	job := Job{
		Name:             trainJob.Name,
		Namespace:        trainJob.Namespace,
		UID:              trainJob.UID,
		Suspended:        ptr.Deref(trainJob.Spec.Suspend, false),
		Template:         template,
		SSHAuthMountPath: ptr.Deref(runtime.Spec.MLPolicy.MPI.SSHAuthMountPath, defaultSSHAuthMountPath),
		Trainer:          ptr.Deref(trainJob.Spec.Trainer, trainer.Trainer{}),
		Gang:             runtime.Spec.PodGroupPolicy,
		Runtime:          runtime,
		Data:             data,
		Artifacts:        artifacts,
		Queue:            queueLabels(trainJob.Labels),
	}
	if err := checkTemplate(template.Spec); err != nil {
		return Job{}, err
	}
	job.World = worldOf(job.Trainer, *runtime.Spec.MLPolicy, template.Spec)
	if !runtime.IsCompiled() && job.World.SlotsPerNode == 1 && job.Trainer.NumProcPerNode == nil {
		job.World.SlotsPerNode = slotsByGPU(job.Trainer, template.Spec)
	}
	if err := checkWorld(job.Name, job.World); err != nil {
		return Job{}, err
	}
	if err := checkDataNames(job.Name, data); err != nil {
		return Job{}, err
	}
	if err := runtime.checkNodes(job.World.Nodes); err != nil {
		return Job{}, err
	}
	if err := checkEnvironment(trainJob); err != nil {
		return Job{}, err
	}
	if err := CheckArguments(trainJob); err != nil {
		return Job{}, err
	}
	job.Trace, job.TraceRefused = traceVariables(trainJob, job)
	return job, nil
}

// worldOf takes the number of nodes from the TrainJob, otherwise from the runtime's node template. Upstream gives the runtime's
// mlPolicy.numNodes to the replicated job with the label of the trainer step: it counts nodes only where these carry the label,
// and launchers, of which there is one, where the launcher does.
func worldOf(asked trainer.Trainer, policy trainer.MLPolicy, template jobset.JobSetSpec) mpi.World {
	world := mpi.World{
		SlotsPerNode:      ptr.Deref(policy.MPI.NumProcPerNode, 1),
		LauncherRunsRanks: ptr.Deref(policy.MPI.RunLauncherAsNode, false),
	}
	if asked.NumProcPerNode != nil {
		world.SlotsPerNode = *asked.NumProcPerNode
	}
	if asked.NumNodes != nil {
		world.Nodes = *asked.NumNodes
		return world
	}
	node := ReplicatedJob(template, mpi.NodeJob).Template
	world.Nodes = ptr.Deref(node.Spec.Parallelism, 1)
	if node.Labels[mpi.AncestorLabel] == mpi.AncestorTrainer {
		world.Nodes = ptr.Deref(policy.NumNodes, 1)
	}
	if world.LauncherRunsRanks {
		world.Nodes++
	}
	return world
}

func checkTemplate(template jobset.JobSetSpec) error {
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		rj := ReplicatedJob(template, name)
		if rj == nil {
			return newRefusal(diagnose.InvalidRuntime, "the runtime has no replicated job `%s`: an MPI runtime needs `%s` and `%s`",
				name, mpi.LauncherJob, mpi.NodeJob)
		}
		if MainContainer(&rj.Template.Spec.Template.Spec) == nil {
			return newRefusal(diagnose.InvalidRuntime, "the replicated job `%s` of the runtime has no container `%s`", name, mpi.Container)
		}
	}
	return nil
}

// podNameSuffix is what JobSet's webhook adds to the host name before it checks the length: a dash and the five
// characters that the Job controller appends to a pod's name (sigs.k8s.io/jobset pkg/webhooks).
const (
	podNameSuffix = 6
	dnsLabelMax   = 63
)

func checkWorld(name string, world mpi.World) error {
	if err := world.Validate(); err != nil {
		return newRefusal(diagnose.InvalidWorld, "%s", err)
	}
	return CheckJobName(name)
}

// MaxNameLength is how many characters the name of a job may have. A world within its limits has no longer host name than that of the launcher:
// `node-0-4999` is shorter.
var MaxNameLength = dnsLabelMax - podNameSuffix - len(mpi.PodHostname("", mpi.LauncherJob, 0))

// CheckJobName returns a *Refusal of a name that is too long for the pods of an MPI job.
func CheckJobName(name string) error {
	if len(name) > MaxNameLength {
		return newRefusal(diagnose.NameTooLong, "the name `%s` has %d characters, at most %d are allowed: pods would be named `%s-xxxxx`, and a pod name that serves as host name has at most %d",
			name, len(name), MaxNameLength, mpi.PodHostname(name, mpi.LauncherJob, 0), dnsLabelMax)
	}
	return nil
}

func checkEnvironment(trainJob *trainer.TrainJob) error {
	for _, v := range assignedVariables(trainJob) {
		if mpi.IsReservedVariable(v.Name) {
			return newRefusal(diagnose.ReservedVariable, "the variable `%s` is set by the platform, because the nodes are found through it: remove it from the TrainJob", v.Name)
		}
	}
	return nil
}

// CheckArguments returns a *Refusal if a command, an argument or a variable is longer than Linux hands to a program.
func CheckArguments(trainJob *trainer.TrainJob) error {
	asked, lengths := ptr.Deref(trainJob.Spec.Trainer, trainer.Trainer{}), map[string]int{}
	for i, word := range asked.Command {
		lengths[fmt.Sprintf("spec.trainer.command[%d]", i)] = len(word)
	}
	for i, word := range asked.Args {
		lengths[fmt.Sprintf("spec.trainer.args[%d]", i)] = len(word)
	}
	for _, v := range assignedVariables(trainJob) {
		lengths[fmt.Sprintf("the variable `%s`", v.Name)] = len(v.Name + "=" + v.Value)
	}
	for _, what := range slices.Sorted(maps.Keys(lengths)) {
		if lengths[what] > mpi.MaxArgumentBytes {
			return newRefusal(diagnose.ArgumentTooLong, "%s has %d bytes, and Linux takes at most 128 KiB (%d bytes) in one "+
				"argument or variable: put the text into a file (`kubectl mpi submit --files FOLDER`, a ConfigMap or a volume)",
				what, lengths[what], mpi.MaxArgumentBytes)
		}
	}
	return nil
}

// assignedVariables returns every variable that a TrainJob can bring into the main containers.
func assignedVariables(trainJob *trainer.TrainJob) []corev1.EnvVar {
	var variables []corev1.EnvVar
	if trainJob.Spec.Trainer != nil {
		variables = append(variables, trainJob.Spec.Trainer.Env...)
	}
	for _, spec := range jobSetPatches(trainJob.Spec.RuntimePatches) {
		for _, rj := range spec.ReplicatedJobs {
			variables = append(variables, patchedVariables(rj)...)
		}
	}
	return variables
}

func patchedVariables(rj trainer.ReplicatedJobPatch) []corev1.EnvVar {
	var variables []corev1.EnvVar
	for _, c := range podSpecPatch(rj).Containers {
		variables = append(variables, c.Env...)
	}
	return variables
}
