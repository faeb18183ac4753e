package enforced

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// evaluator judges pods by the Pod Security Standards, with the code of the API server.
var evaluator = sync.OnceValue(func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err) // the checks are those of the module
	}
	return e
})

// pinning is the capability that the policy lockstep-pods admits in spite of `restricted`, for runtimes that pin memory.
const pinning corev1.Capability = "IPC_LOCK"

// checkPodsAdmitted reports a runtime whose pods are refused in the namespaces of a tenant that may use it.
func (p *proof) checkPodsAdmitted(o *object.Object) {
	if o.ID.Kind != "ClusterTrainingRuntime" && o.ID.Kind != "TrainingRuntime" {
		return
	}
	level, tenant, pins := p.strictestLevel(o.ID)
	jobs := o.Root.At("spec", "template", "spec", "replicatedJobs")
	for i := 0; jobs != nil && level != "" && i < len(jobs.Children); i++ {
		template := jobs.Children[i].At("template", "spec", "template")
		refused := p.refusalOfTemplate(template, level, pins)
		if refused == "" {
			continue
		}
		name := jobs.Children[i].Scalar("name")
		p.list.Errorf(diag.PodsRefused, patchOrOrigin(o.PatchSpan(template), o), "the namespaces of the tenant `%s` refuse the pods `%s` of the runtime `%s`: %s", tenant.Name.V, name, o.ID.Name, refused).
			Notef("they enforce the Pod Security Standard `%s`", level).Helpf("correct the patch: jobs of the runtime would never start")
		return
	}
}

// refusalOfTemplate says why a level refuses pods of a template, or "".
func (p *proof) refusalOfTemplate(template *object.Node, level api.Level, pins bool) string {
	if template == nil {
		return ""
	}
	pod, ok := podOf(template)
	if !ok {
		return ""
	}
	if pins {
		withoutPinning(pod.Spec.Containers)
		withoutPinning(pod.Spec.InitContainers)
	}
	return refusalOfPod(pod, api.LevelVersion{Level: level, Version: api.MajorMinorVersion(1, p.plan.Minor)})
}

// strictestLevel returns the strictest level among the tenants that may use a runtime, one that has it, and whether pods of the runtime pin
// memory. There is none for a runtime that nobody uses.
func (p *proof) strictestLevel(id object.ID) (level api.Level, of *plan.Tenant, pins bool) {
	for _, t := range p.plan.Tenants {
		r := runtimeOfObject(t, id)
		if r == nil {
			continue
		}
		pins = r.Profile.Fabric.LockMemory.V
		// Where a runtime of the tenant pins memory the policy lockstep-pods holds, which is `restricted`.
		own := api.Level(t.PodSecurity.V)
		if t.PinsMemory() != nil {
			own = api.LevelRestricted
		}
		if of == nil || own == api.LevelRestricted && level != own {
			level, of = own, t
		}
	}
	return level, of, pins
}

// runtimeOfObject returns the runtime of a tenant that became an object, or nil.
func runtimeOfObject(t *plan.Tenant, id object.ID) *plan.Runtime {
	if id.Namespace != "" {
		owns := slices.ContainsFunc(t.Namespaces, func(n plan.Value[string]) bool { return n.V == id.Namespace })
		for _, v := range t.Variants {
			if owns && v.Runtime.Name.V == id.Name {
				return v.Runtime
			}
		}
		return nil
	}
	for _, r := range t.Usable {
		if r.Name.V == id.Name {
			return r
		}
	}
	return nil
}

// refusalOfPod says why a level refuses a pod, or "".
func refusalOfPod(pod *corev1.PodTemplateSpec, level api.LevelVersion) string {
	result := policy.AggregateCheckResults(evaluator().EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
	if result.Allowed {
		return ""
	}
	return strings.ReplaceAll(result.ForbiddenDetail(), `"`, "`")
}

func withoutPinning(containers []corev1.Container) {
	for i := range containers {
		if s := containers[i].SecurityContext; s != nil && s.Capabilities != nil {
			s.Capabilities.Add = slices.DeleteFunc(s.Capabilities.Add, func(c corev1.Capability) bool { return c == pinning })
		}
	}
}
