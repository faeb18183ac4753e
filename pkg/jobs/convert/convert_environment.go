package convert

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Variables by which container runtimes hand out devices past the scheduler (docs/admission.md). Those that only programs read are
// harmless.
var (
	deviceVariable  = regexp.MustCompile(`^NVIDIA_.*|.*_VISIBLE_DEVICES$`)
	harmlessDevices = regexp.MustCompile(`^(NVIDIA_(DISABLE_REQUIRE|DRIVER_CAPABILITIES|REQUIRE_.*|TF32_OVERRIDE)|(CUDA|GPU|HIP|ROCR|TPU)_VISIBLE_DEVICES)$`)
)

// convertEnvironment: all pods of a TrainJob have the same variables.
func (c *converter) convertEnvironment() {
	launcher, at := c.mainContainer(c.launcherSpec(), launcherPath)
	c.convertVariables(launcher.Env, at+".env", "the launcher's: all pods get it")
	c.convertEnvFrom(launcher.EnvFrom, at+".envFrom")
	if c.workerSpec() == nil {
		return
	}
	worker, at := c.mainContainer(c.workerSpec(), workerPath)
	c.convertVariables(worker.Env, at+".env", "the workers': all pods get it")
	c.convertEnvFrom(worker.EnvFrom, at+".envFrom")
}

// convertEnvFrom: all variables of a Secret come with a variant of the runtime, which is the tenant's; of other objects they are named one by one.
func (c *converter) convertEnvFrom(sources []corev1.EnvFromSource, path string) {
	for i, from := range sources {
		at, t := itemPath(path, i), c.need.tenant
		if from.SecretRef == nil || from.Prefix != "" || t == nil || t.Spec.ObjectStore != nil && t.Spec.ObjectStore.Secret != from.SecretRef.Name {
			c.add(NotPossible, at, "", "name the variables one by one (`valueFrom`): a whole object comes only with a variant of the runtime, from the Secret that the tenant's `objectStore` names")
			continue
		}
		runtime := c.choice.runtime.Metadata.Name
		variant, found := variantForNodes(t, runtime, c.need.nodes)
		if !found {
			variant = runtime + "-" + t.Metadata.Name
		}
		if found && t.Spec.ObjectStore != nil {
			c.out.Spec.RuntimeRef = trainer.RuntimeRef{Name: variant, Kind: ptr.To(trainer.TrainingRuntimeKind)}
			c.add(ByRuntime, at, "TrainingRuntime "+variant, "the variant of tenant `%s` brings what its `objectStore.secret` has", t.Metadata.Name)
			continue
		}
		c.add(NotPossible, at, "TrainingRuntime "+variant, "comes with a variant of the runtime: the spec of tenant `%s` needs `objectStore: {secret: %s}` and, in `variants`, `{name: %s, runtime: %s}`",
			t.Metadata.Name, from.SecretRef.Name, variant, runtime)
	}
}

// variantForNodes returns a variant that a tenant has of a runtime, and that admits so many nodes.
func variantForNodes(t *v1alpha1.Tenant, runtime string, nodes int32) (name string, found bool) {
	i := slices.IndexFunc(t.Spec.Variants, func(v v1alpha1.Variant) bool {
		return v.Runtime == runtime && (v.Nodes == nil || v.Nodes.Min <= nodes && (v.Nodes.Max == 0 || nodes <= v.Nodes.Max))
	})
	if i < 0 {
		return "", false
	}
	return t.Spec.Variants[i].Name, true
}

func (c *converter) convertVariables(env []corev1.EnvVar, path, whose string) {
	for i, v := range env {
		at := itemPath(path, i)
		if slices.ContainsFunc(env[i+1:], func(later corev1.EnvVar) bool { return later.Name == v.Name }) {
			c.add(Differs, at, "", "written twice: the last one counts, as it did")
			continue
		}
		if class, note := c.whyRefusedVariable(v); note != "" {
			c.add(class, at, "", "%s", note)
			continue
		}
		before := slices.IndexFunc(c.trainer.Env, func(other corev1.EnvVar) bool { return other.Name == v.Name })
		switch {
		case before < 0:
			c.trainer.Env = append(c.trainer.Env, v)
			c.add(Carried, at, "spec.trainer.env", "%s", whose)
		case reflect.DeepEqual(c.trainer.Env[before], v):
			c.add(Carried, at, "spec.trainer.env", "")
		default:
			c.add(NotPossible, at, "spec.trainer.env", "all pods have the same variables, and the launcher's value was taken: choose one, or let the command set the other for its ranks")
		}
	}
}

// whyRefusedVariable says why a variable is not carried over, and whether somebody must look at it.
func (c *converter) whyRefusedVariable(v corev1.EnvVar) (OutcomeClass, string) {
	switch from := v.ValueFrom; {
	case mpi.IsReservedVariable(v.Name):
		return ByRuntime, "the runtime sets it, because the nodes are found through it"
	case deviceVariable.MatchString(v.Name) && !harmlessDevices.MatchString(v.Name) && from == nil && (v.Value == "" || v.Value == "void" || v.Value == "none"):
		return ByRuntime, "a pod sees the devices that it asks for and no others"
	case deviceVariable.MatchString(v.Name) && !harmlessDevices.MatchString(v.Name):
		return NotPossible, "hands out devices past the scheduler: ask for them, and choose among them with CUDA_VISIBLE_DEVICES"
	case from == nil:
	case from.FileKeyRef != nil:
		return NotPossible, "a variable comes from a ConfigMap, a Secret or a field of the pod"
	case from.FieldRef != nil && strings.Contains(from.FieldRef.FieldPath, "training.kubeflow.org"):
		return NotPossible, "pods of a TrainJob have no label of training.kubeflow.org: their index is `metadata.labels['" + mpi.CompletionIndexLabel + "']`"
	case from.SecretKeyRef != nil && (from.SecretKeyRef.Name == c.job.Name()+"-ssh" || strings.HasSuffix(from.SecretKeyRef.Name, mpi.SSHAuthSecretName(""))):
		return NotPossible, "the key of a job is the agent's: remove it"
	}
	return "", ""
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
