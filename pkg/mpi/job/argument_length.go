package job

import (
	"fmt"
	"maps"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// CheckArguments returns a *Refusal if a command, an argument or a variable of a job is longer than Linux hands to a program.
func CheckArguments(asked *trainer.Trainer, template jobset.JobSetSpec) error {
	own := ptr.Deref(asked, trainer.Trainer{})
	if err := checkWords("spec.trainer.", corev1.Container{Command: own.Command, Args: own.Args, Env: own.Env}); err != nil {
		return err
	}
	for _, rj := range template.ReplicatedJobs {
		pod := rj.Template.Spec.Template.Spec
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			where := fmt.Sprintf("in the runtime with spec.runtimePatches, replicated job `%s`, container `%s`: ", rj.Name, container.Name)
			if err := checkWords(where, container); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWords checks what a container hands to its program.
func checkWords(where string, container corev1.Container) error {
	lengths := map[string]int{}
	for i, word := range container.Command {
		lengths[fmt.Sprintf("command[%d]", i)] = len(word)
	}
	for i, word := range container.Args {
		lengths[fmt.Sprintf("args[%d]", i)] = len(word)
	}
	for _, v := range container.Env {
		lengths[fmt.Sprintf("env `%s`", v.Name)] = len(v.Name + "=" + v.Value)
	}
	for _, field := range slices.Sorted(maps.Keys(lengths)) {
		if lengths[field] > mpi.MaxArgumentBytes {
			return newRefusal(diagnose.ArgumentTooLong, "%s%s has %d bytes, and Linux hands at most %d to a program in one argument or variable: "+
				"put the text into a file (`kubectl mpi submit --files FOLDER`, a ConfigMap or a volume), and create the TrainJob again",
				where, field, lengths[field], mpi.MaxArgumentBytes)
		}
	}
	return nil
}
