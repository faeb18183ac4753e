package attacker

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Oracle says what a TrainJob could do to others, from the pods that it would have beside those of its runtime. It repeats no rule of a
// policy: where that lists what is allowed, this lists what is dangerous, and looks at what comes out of the merge.
type Oracle struct {
	runtime trainer.ClusterTrainingRuntime
	// machines are the labels by which the tenant's own machines are found, others those of all profiles.
	machines map[string]string
	others   []string
	node     corev1.ResourceList
	// byRequest says that a queue counts what nodes request, and not what the runtime has for them.
	byRequest bool
}

// externalRuntime is one that others installed, with the jobs of an MPI runtime, so that every patch that is admitted finds what it
// changes. Its pods have what `restricted` asks for and nothing of the compiler's.
const externalRuntime = `metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: launcher
          template: {spec: {template: {spec: &pod {containers: [{name: node, image: "example.org/torch:1", securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}}}
        - name: node
          template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: *pod}}}
`

// Runtime is the name of the runtime that the oracle knows.
func (o *Oracle) Runtime() string { return o.runtime.Name }

// NewExternalOracle knows that runtime. Of its machines nobody knows a label; what nodes may have is what some machine of the cluster has,
// as much as the LimitRange allows.
func NewExternalOracle(tb testing.TB, c *plan.Cluster) *Oracle {
	tb.Helper()
	o := NewOracle(tb, c, "gpu")
	o.machines, o.byRequest = map[string]string{}, true
	o.node = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("512Gi"), "nvidia.com/gpu": resource.MustParse("1e18")}
	o.runtime = trainer.ClusterTrainingRuntime{}
	if err := yaml.UnmarshalStrict([]byte(externalRuntime), &o.runtime); err != nil {
		tb.Fatal(err)
	}
	return o
}

// NewOracle knows a runtime of a cluster.
func NewOracle(tb testing.TB, c *plan.Cluster, name string) *Oracle {
	tb.Helper()
	o := &Oracle{machines: map[string]string{}}
	for _, compiled := range lower.RuntimeObjects(c, &diag.List{}) {
		if compiled.ID.Name == name {
			o.runtime = *Decoded[trainer.ClusterTrainingRuntime](tb, compiled.Root.Value())
		}
	}
	for _, r := range c.Runtimes {
		for _, label := range r.Profile.NodeLabels() {
			o.others = append(o.others, label.Name)
			if r.Name.V == name {
				o.machines[label.Name] = label.V
			}
		}
	}
	o.node = o.runtime.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Containers[0].Resources.Requests
	if o.runtime.Name != name || len(o.machines) == 0 || len(o.node) == 0 {
		tb.Fatalf("the oracle knows nothing of %s", name)
	}
	return o
}

// report collects dangers, each as `kind: what`.
type report []string

func (r *report) say(kind string, what any) { *r = append(*r, fmt.Sprintf("%s: %v", kind, what)) }

// Dangers are what is dangerous about a TrainJob. One whose patches cannot be merged makes no pods, and what is left of it is not.
func (o *Oracle) Dangers(written *trainer.TrainJob) []string {
	var r report
	if data := written.Spec.Initializer; data != nil {
		o.initializer(&r, data)
	}
	if asked := written.Spec.Trainer; asked != nil {
		o.asked(&r, asked)
	}
	merged, metas, err := o.merged(written)
	if err != nil {
		return r
	}
	for _, meta := range metas {
		metadata(&r, metav1.ObjectMeta{}, meta)
	}
	base := o.runtime.Spec.Template.Spec
	for _, now := range merged.ReplicatedJobs {
		i := slices.IndexFunc(base.ReplicatedJobs, func(was jobset.ReplicatedJob) bool { return was.Name == now.Name })
		if i < 0 {
			r.say("job", now.Name)
			continue
		}
		was := base.ReplicatedJobs[i]
		metadata(&r, was.Template.ObjectMeta, now.Template.ObjectMeta)
		metadata(&r, was.Template.Spec.Template.ObjectMeta, now.Template.Spec.Template.ObjectMeta)
		o.pod(&r, written.Name, was.Template.Spec.Template.Spec, now.Template.Spec.Template.Spec)
	}
	return r
}

func (o *Oracle) initializer(r *report, data *trainer.Initializer) {
	if d := data.Dataset; d != nil {
		variables(r, d.Env)
		key(r, ptr.Deref(d.SecretRef, corev1.LocalObjectReference{}).Name)
	}
	if m := data.Model; m != nil {
		variables(r, m.Env)
		key(r, ptr.Deref(m.SecretRef, corev1.LocalObjectReference{}).Name)
	}
}

func (o *Oracle) asked(r *report, asked *trainer.Trainer) {
	variables(r, asked.Env)
	if asked.ResourcesPerNode == nil {
		return
	}
	if len(asked.ResourcesPerNode.Claims) > 0 {
		r.say("claims", asked.ResourcesPerNode.Claims)
	}
	if limit := asked.ResourcesPerNode.Limits.Memory(); o.byRequest && limit.Cmp(*asked.ResourcesPerNode.Requests.Memory()) > 0 {
		r.say("burst", limit)
	}
	for _, list := range []corev1.ResourceList{asked.ResourcesPerNode.Limits, asked.ResourcesPerNode.Requests} {
		for name, amount := range list {
			if has := o.node[name]; amount.Cmp(has) > 0 {
				r.say("resources", name)
			}
		}
	}
}

// merged is the JobSet of the runtime with all patches, and what they write into the metadata of the JobSet itself.
func (o *Oracle) merged(written *trainer.TrainJob) (spec jobset.JobSetSpec, metas []metav1.ObjectMeta, err error) {
	text, err := json.Marshal(o.runtime.Spec.Template.Spec)
	if err != nil {
		return spec, nil, err
	}
	for _, p := range written.Spec.RuntimePatches {
		if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil {
			continue
		}
		if meta := p.TrainingRuntimeSpec.Template.Metadata; meta != nil {
			metas = append(metas, *meta)
		}
		if p.TrainingRuntimeSpec.Template.Spec == nil {
			continue
		}
		change, err := json.Marshal(p.TrainingRuntimeSpec.Template.Spec)
		if err != nil {
			return spec, nil, err
		}
		if text, err = strategicpatch.StrategicMergePatch(text, change, jobset.JobSetSpec{}); err != nil {
			return spec, nil, err
		}
	}
	return spec, metas, json.Unmarshal(text, &spec)
}

// obeyed are beginnings of labels and annotations that something in a cluster obeys.
var obeyed = []string{
	"alpha.jobset.", "jobset.", "lockstep.dev/", "batch.kubernetes.io/", "k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "cni.projectcalico.org/", "io.kubernetes.",
	"scheduling.", "kueue.x-k8s.io/queue-name", "sidecar.istio.io/", "azure.workload.identity/", "$",
}

func metadata(r *report, was, now metav1.ObjectMeta) {
	if len(now.Finalizers) > 0 || len(now.OwnerReferences) > 0 {
		r.say("metadata", "finalizers or owners")
	}
	for kind, both := range map[string][2]map[string]string{"label": {was.Labels, now.Labels}, "annotation": {was.Annotations, now.Annotations}} {
		for key, value := range both[1] {
			if both[0][key] != value && slices.ContainsFunc(obeyed, func(start string) bool { return strings.HasPrefix(key, start) }) {
				r.say(kind, key)
			}
		}
		for key := range both[0] {
			if _, kept := both[1][key]; !kept {
				r.say(kind, key+" is gone")
			}
		}
	}
}

func (o *Oracle) pod(r *report, job string, was, now corev1.PodSpec) {
	o.placed(r, was, now)
	affinity(r, job, now.Affinity)
	if now.ServiceAccountName != was.ServiceAccountName {
		r.say("account", now.ServiceAccountName)
	}
	if now.TerminationGracePeriodSeconds != nil && *now.TerminationGracePeriodSeconds > 2*60 {
		r.say("grace", *now.TerminationGracePeriodSeconds)
	}
	if !equality.Semantic.DeepEqual(was.InitContainers, now.InitContainers) {
		r.say("init containers", "are the platform's")
	}
	for _, secret := range now.ImagePullSecrets {
		key(r, secret.Name)
	}
	for _, v := range now.Volumes {
		i := slices.IndexFunc(was.Volumes, func(old corev1.Volume) bool { return old.Name == v.Name })
		switch {
		case i < 0 && slices.Contains([]string{"mpi-ssh-auth", "mpi-hostfile"}, v.Name), i >= 0 && !equality.Semantic.DeepEqual(was.Volumes[i], v):
			r.say("volume", "another "+v.Name)
		default:
			volumeOf(r, v)
		}
	}
	if s := now.SecurityContext; s != nil {
		privileges(r, s.SELinuxOptions, s.WindowsOptions, s.SeccompProfile, s.AppArmorProfile)
		if len(s.Sysctls) > 0 {
			r.say("security", "sysctls")
		}
	}
	if len(now.Containers) != len(was.Containers) {
		r.say("container", "there are others")
		return
	}
	container(r, was.Containers[0], now.Containers[0])
}

// placed asks for machines of others: pods must still go where the runtime sends them, and tolerate nothing else.
func (o *Oracle) placed(r *report, was, now corev1.PodSpec) {
	for label, value := range was.NodeSelector {
		if now.NodeSelector[label] != value {
			r.say("machines", "without "+label)
		}
	}
	for label, value := range now.NodeSelector {
		if slices.Contains(o.others, label) && o.machines[label] != value {
			r.say("machines", label)
		}
	}
	for _, t := range now.Tolerations {
		if !slices.ContainsFunc(o.runtime.Spec.Template.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Tolerations, func(own corev1.Toleration) bool {
			return t.Key == own.Key && t.Operator == own.Operator && t.Value == own.Value && t.Effect == own.Effect
		}) {
			r.say("toleration", t.Key)
		}
	}
}

func affinity(r *report, job string, a *corev1.Affinity) {
	if a == nil {
		return
	}
	var all, apart []corev1.PodAffinityTerm
	weighted := func(terms []corev1.WeightedPodAffinityTerm) {
		for _, t := range terms {
			all = append(all, t.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		all = append(all, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		apart = p.RequiredDuringSchedulingIgnoredDuringExecution
		weighted(p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, t := range append(all, apart...) {
		if len(t.Namespaces) > 0 || t.NamespaceSelector != nil {
			r.say("affinity", "to other namespaces")
		}
	}
	for _, t := range apart {
		if t.LabelSelector == nil || t.LabelSelector.MatchLabels["jobset.sigs.k8s.io/jobset-name"] != job {
			r.say("anti-affinity", "to other jobs")
		}
	}
}

func key(r *report, secret string) {
	if strings.HasSuffix(secret, "-mpi-ssh-auth") {
		r.say("key", secret)
	}
}

// volumeOf takes the sources apart that stay in the namespace; what is left reaches past it.
func volumeOf(r *report, v corev1.Volume) {
	if v.Secret != nil {
		key(r, v.Secret.SecretName)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				key(r, s.Secret.Name)
			}
			if s.ServiceAccountToken != nil || s.PodCertificate != nil {
				r.say("volume", "credentials")
			}
		}
	}
	rest := v.VolumeSource
	rest.Secret, rest.ConfigMap, rest.EmptyDir, rest.PersistentVolumeClaim, rest.DownwardAPI, rest.Projected, rest.Image = nil, nil, nil, nil, nil, nil, nil
	if rest != (corev1.VolumeSource{}) {
		r.say("volume", v.Name+" reaches past the namespace")
	}
}

func container(r *report, was, now corev1.Container) {
	added := slices.DeleteFunc(slices.Clone(now.Env), func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(was.Env, func(old corev1.EnvVar) bool { return equality.Semantic.DeepEqual(old, e) })
	})
	variables(r, added)
	for _, m := range now.VolumeMounts {
		if !slices.ContainsFunc(was.VolumeMounts, func(old corev1.VolumeMount) bool { return equality.Semantic.DeepEqual(old, m) }) {
			mounted(r, m)
		}
	}
	for _, old := range was.VolumeMounts {
		if !slices.ContainsFunc(now.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == old.MountPath && m.Name == old.Name }) {
			r.say("mount", "without "+old.MountPath)
		}
	}
	s := now.SecurityContext
	if s == nil {
		r.say("security", "without a context")
		return
	}
	privileges(r, s.SELinuxOptions, s.WindowsOptions, s.SeccompProfile, s.AppArmorProfile)
	yes := func(flag *bool) bool { return flag != nil && *flag }
	if yes(s.Privileged) || yes(s.AllowPrivilegeEscalation) || s.ProcMount != nil || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") ||
		!slices.Equal(s.Capabilities.Add, was.SecurityContext.Capabilities.Add) {
		r.say("security", "privileges")
	}
}

// mounted compares paths as the container runtime resolves them.
func mounted(r *report, m corev1.VolumeMount) {
	if slices.Contains([]string{"lockstep-agent", "lockstep-state", "mpi-ssh-auth", "mpi-hostfile"}, m.Name) {
		r.say("mount", "the platform's "+m.Name)
	}
	clean := path.Clean("/" + m.MountPath)
	clean = strings.TrimSuffix(strings.Replace(clean+"/", "/var/run/", "/run/", 1), "/")
	for _, own := range []string{"/opt/lockstep", "/run/secrets/lockstep.dev/mpi-ssh", "/var/run", "/run/lockstep", "/etc/mpi", "/etc/hosts"} {
		if clean == own || strings.HasPrefix(own, clean+"/") || strings.HasPrefix(clean, own+"/") {
			r.say("mount", m.MountPath)
		}
	}
}

func variables(r *report, env []corev1.EnvVar) {
	for _, e := range env {
		if strings.HasSuffix(e.Name, "NVIDIA_VISIBLE_DEVICES") {
			r.say("devices", e.Value)
		}
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			key(r, e.ValueFrom.SecretKeyRef.Name)
		}
	}
}

func privileges(r *report, linux *corev1.SELinuxOptions, windows *corev1.WindowsSecurityContextOptions, calls *corev1.SeccompProfile, armor *corev1.AppArmorProfile) {
	if linux != nil || windows != nil || armor != nil || calls != nil && calls.Type != corev1.SeccompProfileTypeRuntimeDefault {
		r.say("security", "another profile")
	}
}
