package convert

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// podPatch is what spec.runtimePatches changes of the pods of one job of the runtime.
type podPatch struct {
	labels, annotations map[string]string
	spec                trainer.PodSpecPatch
	container           trainer.ContainerPatch
	// home asks for the image's own folder at mpi.UserHome.
	home bool
}

// convertPods looks at the pod templates of both roles.
func (c *converter) convertPods() {
	c.convertLauncherResources()
	c.noteLeftOut()
	c.convertPod(c.launcherSpec(), launcherPath, mpi.LauncherJob)
	if worker := c.workerSpec(); worker != nil {
		c.convertPod(worker, workerPath, mpi.NodeJob)
	}
}

func (c *converter) convertPod(role *replicaSpec, path, name string) {
	spec, patch, to := &role.Template.Spec, c.pods[name], "spec.runtimePatches "+name
	path += ".template"
	c.convertPodMetadata(path+".metadata", to, map[string]map[string]string{"labels": role.Template.Labels, "annotations": role.Template.Annotations}, patch)
	path += ".spec"
	container, at := c.mainContainer(role, strings.TrimSuffix(path, ".template.spec"))
	c.convertContainer(container, at, to, patch)
	c.convertVolumes(spec, container, path, at, to, patch)
	c.convertPlacement(spec, path, to, patch)
	c.convertPodSecurity(spec.SecurityContext, path+".securityContext", to, patch)
	c.noteImageUser(patch, at+".securityContext")
	for _, field := range podFields {
		if field.when == nil || field.when(spec) {
			c.add(field.class, path+"."+field.name, "", "%s", field.note)
		}
	}
	for i := range spec.Containers {
		if other := itemPath(path+".containers", i); other != at {
			c.add(NotPossible, other, "", "a pod of a TrainJob has one container: what a sidecar does belongs into the image or outside the job")
		}
	}
	if len(spec.ImagePullSecrets) > 0 {
		patch.spec.ImagePullSecrets = spec.ImagePullSecrets
		c.add(Carried, path+".imagePullSecrets", to+" imagePullSecrets", "")
	}
	if len(spec.SchedulingGates) > 0 {
		patch.spec.SchedulingGates = spec.SchedulingGates
		c.add(Carried, path+".schedulingGates", to+" schedulingGates", "")
	}
	c.convertGracePeriod(spec.TerminationGracePeriodSeconds, path+".terminationGracePeriodSeconds", to, patch)
}

// maxGrace is how long pods of a job may take to end (docs/admission.md).
const maxGrace = 120

func (c *converter) convertGracePeriod(seconds *int64, path, to string, patch *podPatch) {
	if seconds == nil {
		return
	}
	patch.spec.TerminationGracePeriodSeconds = ptr.To(min(*seconds, maxGrace))
	if *seconds > maxGrace {
		c.add(Differs, path, to+" terminationGracePeriodSeconds", "at most %d s, because others wait for the machines: save checkpoints as the job runs", maxGrace)
		return
	}
	c.add(Carried, path, to+" terminationGracePeriodSeconds", "")
}

// podField is a field of a pod of which only what it says matters.
type podField struct {
	name  string
	class OutcomeClass
	when  func(*corev1.PodSpec) bool
	note  string
}

func isFalse(b *bool) bool { return b != nil && !*b }

var podFields = []podField{
	{"restartPolicy", ByRuntime, nil, "mpi-operator did not read it either"},
	{"hostname", ByRuntime, nil, "mpi-operator replaced it, JobSet does too"},
	{"subdomain", ByRuntime, nil, "mpi-operator replaced it, JobSet does too"},
	{"setHostnameAsFQDN", ByRuntime, func(s *corev1.PodSpec) bool { return isFalse(s.SetHostnameAsFQDN) }, ""},
	{"dnsPolicy", ByRuntime, func(s *corev1.PodSpec) bool { return strings.HasPrefix(string(s.DNSPolicy), "ClusterFirst") }, "the default of pods"},
	{"automountServiceAccountToken", ByRuntime, func(s *corev1.PodSpec) bool { return isFalse(s.AutomountServiceAccountToken) }, "no pod of a job has a token"},
	{"automountServiceAccountToken", NotPossible, func(s *corev1.PodSpec) bool { return ptr.Deref(s.AutomountServiceAccountToken, false) }, "no pod of a job has a token of the cluster"},
	{"enableServiceLinks", ByRuntime, func(s *corev1.PodSpec) bool { return isFalse(s.EnableServiceLinks) }, ""},
	{"enableServiceLinks", Differs, func(s *corev1.PodSpec) bool { return ptr.Deref(s.EnableServiceLinks, false) }, "pods have no variables of Services: use their DNS names"},
	{"serviceAccountName", ByRuntime, func(s *corev1.PodSpec) bool { return s.ServiceAccountName == "default" }, ""},
	{"serviceAccountName", NotPossible, func(s *corev1.PodSpec) bool { return s.ServiceAccountName != "default" }, accountNote},
	{"serviceAccount", ByRuntime, func(s *corev1.PodSpec) bool { return s.DeprecatedServiceAccount == "default" }, ""},
	{"serviceAccount", NotPossible, func(s *corev1.PodSpec) bool { return s.DeprecatedServiceAccount != "default" }, accountNote},
	{"hostNetwork", ByRuntime, func(s *corev1.PodSpec) bool { return !s.HostNetwork }, ""},
	{"hostNetwork", NotPossible, func(s *corev1.PodSpec) bool { return s.HostNetwork }, "pods stay in the network of the cluster: a fast fabric comes with the profile of the runtime (`fabric`)"},
	{"hostPID", ByRuntime, func(s *corev1.PodSpec) bool { return !s.HostPID }, ""},
	{"hostIPC", ByRuntime, func(s *corev1.PodSpec) bool { return !s.HostIPC }, ""},
	{"hostPID", NotPossible, func(s *corev1.PodSpec) bool { return s.HostPID }, "pods see nothing of their machine"},
	{"hostIPC", NotPossible, func(s *corev1.PodSpec) bool { return s.HostIPC }, "ranks of one node share /dev/shm of their pod: its size is `sharedMemory` of the profile"},
	{"shareProcessNamespace", ByRuntime, func(s *corev1.PodSpec) bool { return isFalse(s.ShareProcessNamespace) }, ""},
	{"schedulerName", ByRuntime, func(s *corev1.PodSpec) bool { return s.SchedulerName == corev1.DefaultSchedulerName }, ""},
	{"schedulerName", NotPossible, func(s *corev1.PodSpec) bool { return s.SchedulerName != corev1.DefaultSchedulerName }, "the runtime decides who schedules its pods together (`gang.scheduler`)"},
	{"priorityClassName", NotPossible, nil, "say the label `" + priorityLabel + "` with one of the priorities of the cluster"},
	{"topologySpreadConstraints", ByRuntime, spreadsOverMachines, "the nodes of a job are spread over machines as far as possible"},
	{"topologySpreadConstraints", NotPossible, func(s *corev1.PodSpec) bool { return !spreadsOverMachines(s) }, "nodes are kept close by `gang.within` of the runtime, and spread over machines"},
	{"initContainers", NotPossible, nil, "a TrainJob adds no init container: what it prepares belongs into the image, into a volume, or before the command"},
}

const accountNote = "pods run with the account of their runtime, which has no rights in the cluster: bring credentials of other systems in a Secret"

func spreadsOverMachines(s *corev1.PodSpec) bool {
	return !slices.ContainsFunc(s.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool {
		return t.TopologyKey != corev1.LabelHostname || t.WhenUnsatisfiable != corev1.ScheduleAnyway
	})
}

// convertContainer looks at the main container, but for its command, image, environment and resources, which are the TrainJob's, and its mounts.
func (c *converter) convertContainer(container *corev1.Container, at, to string, patch *podPatch) {
	c.add(ByRuntime, at+".name", "", "the container is called `%s` in all pods", mpi.Container)
	if pull := container.ImagePullPolicy; pull == defaultPullPolicy(container.Image) {
		c.add(ByRuntime, at+".imagePullPolicy", "", "what Kubernetes does by itself")
	} else {
		c.add(Differs, at+".imagePullPolicy", "", "pulled as Kubernetes does by itself, %s: name the image by a digest or a new tag", defaultPullPolicy(container.Image))
	}
	c.add(Differs, at+".ports", "", "a job is closed but for its own pods: who is to reach a port is said in the tenant's spec (`network`)")
	c.add(ByRuntime, at+".readinessProbe", "", "the launcher waits until the agent of each node answers")
	c.add(ByRuntime, at+".startupProbe", "", "the launcher waits until the agent of each node answers")
	c.add(NotPossible, at+".livenessProbe", "", "a job that hangs is ended by LOCKSTEP_HANG_AFTER in `spec.trainer.env`, such as 10m (docs/launch.md)")
	c.add(NotPossible, at+".lifecycle", "", "no hooks: do it in the command, whose end is waited for")
	for _, field := range []string{"terminationMessagePath", "terminationMessagePolicy"} {
		c.add(Differs, at+"."+field, "", "the agent leaves its verdict there: how the job ended, and why")
	}
	for _, field := range []string{"tty", "stdin", "stdinOnce"} {
		c.add(Differs, at+"."+field, "", "the pods of a job have no terminal")
	}
	c.convertContainerSecurity(container.SecurityContext, at+".securityContext", to, patch)
}

func defaultPullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if !strings.Contains(name, "@") && (!tagged || tag == "latest") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// writePatches writes what is left to the patches of the TrainJob. A launcher that runs ranks is a node: it needs what the nodes have.
func (c *converter) writePatches() {
	launcher, node := c.pods[mpi.LauncherJob], c.pods[mpi.NodeJob]
	if c.choice.runtime.Spec.Launcher.RunsRanks && !c.need.runsRanks {
		c.addNodeSettings(launcher, node)
	}
	var jobs []trainer.ReplicatedJobPatch
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		if name == mpi.NodeJob && c.workerSpec() == nil {
			continue
		}
		c.addHomeVolume(c.pods[name])
		if patch, said := c.pods[name].replicatedJob(name); said {
			jobs = append(jobs, patch)
		}
	}
	if len(jobs) > 0 {
		c.out.Spec.RuntimePatches = []trainer.RuntimePatch{{Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
			Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: jobs}},
		}}}
	}
}

// addNodeSettings gives the launcher the volumes, machines and users of the nodes; what it says itself stays.
func (c *converter) addNodeSettings(launcher, node *podPatch) {
	launcher.spec.Volumes = unionByKey(launcher.spec.Volumes, node.spec.Volumes, func(v corev1.Volume) string { return v.Name })
	launcher.container.VolumeMounts = unionByKey(launcher.container.VolumeMounts, node.container.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath })
	launcher.spec.ImagePullSecrets = unionByKey(launcher.spec.ImagePullSecrets, node.spec.ImagePullSecrets, func(s corev1.LocalObjectReference) string { return s.Name })
	for name, value := range node.spec.NodeSelector {
		if _, said := launcher.spec.NodeSelector[name]; !said {
			setMapEntry(&launcher.spec.NodeSelector, name, value)
		}
	}
	launcher.spec.Affinity = cmp.Or(launcher.spec.Affinity, node.spec.Affinity)
	launcher.spec.SecurityContext = cmp.Or(launcher.spec.SecurityContext, node.spec.SecurityContext)
	launcher.container.SecurityContext = cmp.Or(launcher.container.SecurityContext, node.container.SecurityContext)
	launcher.spec.TerminationGracePeriodSeconds = cmp.Or(launcher.spec.TerminationGracePeriodSeconds, node.spec.TerminationGracePeriodSeconds)
}

func unionByKey[T any](own, others []T, key func(T) string) []T {
	result := slices.Clone(own)
	for _, other := range others {
		if !slices.ContainsFunc(own, func(mine T) bool { return key(mine) == key(other) }) {
			result = append(result, other)
		}
	}
	return result
}

func (p *podPatch) replicatedJob(name string) (trainer.ReplicatedJobPatch, bool) {
	spec := p.spec
	if !reflect.DeepEqual(p.container, trainer.ContainerPatch{}) {
		container := p.container
		container.Name = mpi.Container
		spec.Containers = []trainer.ContainerPatch{container}
	}
	pod := &trainer.PodTemplatePatch{}
	if len(p.labels)+len(p.annotations) > 0 {
		pod.Metadata = &metav1.ObjectMeta{Labels: p.labels, Annotations: p.annotations}
	}
	if !reflect.DeepEqual(spec, trainer.PodSpecPatch{}) {
		pod.Spec = &spec
	}
	return trainer.ReplicatedJobPatch{Name: name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}}},
		pod.Metadata != nil || pod.Spec != nil
}
