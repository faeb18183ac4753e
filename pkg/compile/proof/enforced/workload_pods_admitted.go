package enforced

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Facts are what the proof of workloads must know of the objects of a unit: who makes pods, and which pods namespaces admit.
type Facts struct {
	makers     []podMaker
	namespaces []namespaceLevel
}

// podMaker is an object that is a pod or makes pods in its namespace.
type podMaker struct {
	id object.ID
	// template is that of the pods; job is its name where an object has several.
	template *object.Node
	job      string
	at       source.Span
}

// namespaceLevel is a namespace that refuses some pods.
type namespaceLevel struct {
	name  string
	level api.LevelVersion
	// pinning says that pods with the account for it may pin memory all the same.
	pinning bool
}

const (
	// securityLabel marks namespaces where an admission policy, lockstep-pods, is what enforces: `restricted`, but the account for it may
	// pin memory. See lower, which makes them.
	securityLabel  = "lockstep.dev/pod-security"
	restrictedRDMA = "restricted-rdma"
	rdmaAccount    = "mpi-rdma"
)

// templates are the paths of the templates of pods, by kind.
var templates = map[string][]string{
	"CronJob":     {"spec", "jobTemplate", "spec", "template"},
	"DaemonSet":   {"spec", "template"},
	"Deployment":  {"spec", "template"},
	"Job":         {"spec", "template"},
	"Pod":         {},
	"ReplicaSet":  {"spec", "template"},
	"StatefulSet": {"spec", "template"},
}

// replicated are the paths of the lists of jobs with a template each, by kind.
var replicated = map[string][]string{
	"JobSet":          {"spec", "replicatedJobs"},
	"TrainingRuntime": {"spec", "template", "spec", "replicatedJobs"},
}

// groupsOfPods are the API groups of these kinds.
var groupsOfPods = map[string]bool{"": true, "apps": true, "batch": true, "jobset.x-k8s.io": true, "trainer.kubeflow.org": true}

// FactsOf returns the facts of the objects of a unit. Runtimes that are lowered from specs, own, are the business of Prove.
func FactsOf(objects []object.Object, own bool) Facts {
	var f Facts
	for i := range objects {
		switch o := &objects[i]; {
		case o.ID.Kind == "Namespace" && o.ID.Group == "":
			if n, refuses := namespaceLevelOf(o); refuses {
				f.namespaces = append(f.namespaces, n)
			}
		case !own && o.ID.Namespace != "" && groupsOfPods[o.ID.Group]:
			f.makers = append(f.makers, podMakersOf(o)...)
		}
	}
	return f
}

// namespaceLevelOf reads what a namespace enforces (https://kubernetes.io/docs/concepts/security/pod-security-admission/). Where Pod Security
// enforces too, it refuses what the policy lockstep-pods makes an exception for.
func namespaceLevelOf(o *object.Object) (namespaceLevel, bool) {
	labels := o.Root.At("metadata", "labels")
	n := namespaceLevel{name: o.ID.Name, level: api.LevelVersion{Level: api.Level(trimmedText(labels, api.EnforceLevelLabel)), Version: api.LatestVersion()}}
	if trimmedText(labels, securityLabel) == restrictedRDMA {
		n.pinning = n.level.Level == "" || n.level.Level == api.LevelPrivileged
		n.level.Level = api.LevelRestricted
	}
	if version, err := api.ParseVersion(trimmedText(labels, api.EnforceVersionLabel)); err == nil {
		n.level.Version = version
	}
	return n, n.level.Level == api.LevelRestricted || n.level.Level == api.LevelBaseline
}

func podMakersOf(o *object.Object) []podMaker {
	if path, is := replicated[o.ID.Kind]; is {
		var makers []podMaker
		jobs := o.Root.At(path...)
		for i := 0; jobs != nil && i < len(jobs.Children); i++ {
			makers = append(makers, podMakerOf(o, jobs.Children[i].At("template", "spec", "template"), trimmedText(&jobs.Children[i], "name"))...)
		}
		return makers
	}
	if path, is := templates[o.ID.Kind]; is {
		return podMakerOf(o, o.Root.At(path...), "")
	}
	return nil
}

func podMakerOf(o *object.Object, template *object.Node, job string) []podMaker {
	if template == nil {
		return nil // the proof of what the API server accepts reports it
	}
	return []podMaker{{id: o.ID, template: template, job: job, at: patchOrOrigin(o.PatchSpan(template), o)}}
}

// Workloads are the facts of a cluster. The zero Workloads is empty and ready.
type Workloads struct{ facts Facts }

// Add adds the facts of a unit.
func (w *Workloads) Add(f Facts) {
	w.facts.makers = append(w.facts.makers, f.makers...)
	w.facts.namespaces = append(w.facts.namespaces, f.namespaces...)
}

// Prove reports objects of charts, resources and patches whose pods the namespace that they go to refuses, if it is compiled.
func (w *Workloads) Prove(c *plan.Cluster, list *diag.List) {
	if len(w.facts.makers) == 0 {
		return
	}
	namespaces := make(map[string]*namespaceLevel, len(w.facts.namespaces))
	for i := range w.facts.namespaces {
		namespaces[w.facts.namespaces[i].name] = &w.facts.namespaces[i]
	}
	for i := range w.facts.makers {
		if m := &w.facts.makers[i]; namespaces[m.id.Namespace] != nil {
			m.prove(c, namespaces[m.id.Namespace], list)
		}
	}
}

func (m *podMaker) prove(c *plan.Cluster, n *namespaceLevel, list *diag.List) {
	pod, ok := podOf(m.template)
	if !ok {
		return
	}
	if c.OpenShift {
		fillInAsOpenShift(&pod.Spec)
	}
	if n.pinning && pod.Spec.ServiceAccountName == rdmaAccount {
		withoutPinning(pod.Spec.Containers)
		withoutPinning(pod.Spec.InitContainers)
	}
	level := n.level
	if level.Latest() {
		level.Version = api.MajorMinorVersion(1, c.Minor)
	}
	refused := refusalOfPod(pod, level)
	if refused == "" {
		return
	}
	what, note := m.id.String(), "the API server accepts the object with a warning, and refuses each of its pods"
	switch {
	case m.id.Kind == "Pod":
		note = "the API server refuses the pod"
	case m.job != "":
		what = "the pods `" + m.job + "` of " + what
	default:
		what = "the pods of " + what
	}
	list.Errorf(diag.PodsRefused, m.at, "the namespace `%s` refuses %s: %s", m.id.Namespace, what, refused).
		Notef("it enforces the Pod Security Standard `%s`: %s", level.Level, note).
		Helpf("change the pods by the values of the chart, or take what they must not have out of the patch")
}

// podOf reads a template; false is for what the proof of what the API server accepts reports.
func podOf(template *object.Node) (*corev1.PodTemplateSpec, bool) {
	var pod corev1.PodTemplateSpec
	data, err := json.Marshal(template.Value())
	if err == nil {
		err = json.Unmarshal(data, &pod)
	}
	return &pod, err == nil
}

// fillInAsOpenShift fills in what the SCC restricted-v2 gives pods that do not say it, before Pod Security judges them
// (https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/authentication_and_authorization/managing-pod-security-policies).
func fillInAsOpenShift(pod *corev1.PodSpec) {
	yes, no := true, false
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	if s := pod.SecurityContext; s.RunAsNonRoot == nil {
		s.RunAsNonRoot = &yes
	}
	if s := pod.SecurityContext; s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	for _, containers := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range containers {
			s := containers[i].SecurityContext
			if s == nil {
				s = &corev1.SecurityContext{}
				containers[i].SecurityContext = s
			}
			if s.AllowPrivilegeEscalation == nil {
				s.AllowPrivilegeEscalation = &no
			}
			if s.Capabilities == nil {
				s.Capabilities = &corev1.Capabilities{}
			}
			s.Capabilities.Drop = append(s.Capabilities.Drop, "ALL")
		}
	}
}

// trimmedText returns the text of an entry, or "" where there is none.
func trimmedText(n *object.Node, key string) string {
	if n == nil {
		return ""
	}
	if entry := n.Get(key); entry != nil {
		return strings.TrimSpace(entry.Text)
	}
	return ""
}
