package lower

import (
	"fmt"
	"slices"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// The constants of the portable runtime. Package template says more about each.
var (
	runtimeRule   = origin.Rule("portable runtime", "one shape that runs under stock Kubeflow Trainer and under mpi-controller alike")
	policyRule    = origin.Rule("portable runtime", "upstream admits only OpenMPI here, and what it adds for it is harmless for the others; the label has the implementation")
	oneLauncher   = origin.Rule("portable runtime", "upstream and Kueue read numNodes as the number of launchers, and two would each run the job; the nodes are the parallelism of the node job")
	keyRule       = origin.Rule("portable runtime", "where the agent looks for the key of the job")
	networkRule   = origin.Rule("portable runtime", "pods find each other by name, and before they are ready")
	successRule   = origin.Rule("portable runtime", "a job has succeeded when its launcher has")
	failureRule   = origin.Rule("portable runtime", "a failed job is not restarted as a whole here: the controller knows which failures are worth it")
	stepRule      = origin.Rule("portable runtime", "upstream gives the image and the command of a TrainJob to the job with this label, the launcher")
	jobRule       = origin.Rule("portable runtime", "one launcher and one set of nodes; a pod that fails is not replaced, because its ranks are lost")
	goesRule      = origin.Rule("portable runtime", "a node that is deleted has ended well: whether the job still needs it, its launcher finds out")
	istioRule     = origin.Rule("portable runtime", "Istio's sidecar blocks the launch and never ends, and its ambient mode takes every connection of the ranks through a proxy of the machine")
	markRule      = origin.Rule("portable runtime", "by this label network policies know pods of compiled runtimes where Kubeflow Trainer makes them")
	tokenRule     = origin.Rule("portable runtime", "the agent speaks to nobody but the pods of its job, so that no token of a service account is mounted")
	linksRule     = origin.Rule("portable runtime", "variables for every Service of the namespace would only hide those of the job")
	restartRule   = origin.Rule("portable runtime", "a process that died takes its MPI world with it: starting it again helps nobody")
	securityRule  = origin.Rule("portable runtime", "what the Pod Security Standard `restricted` asks for")
	spreadRule    = origin.Rule("portable runtime", "the nodes of one job are on different machines as far as possible")
	agentRule     = origin.Rule("portable runtime", "the agent is started in every pod: it wires the nodes and runs the command of the job")
	volumeRule    = origin.Rule("portable runtime", "the agent, and folders for the state of the job and for programs that Kubeflow's SDK writes; a root file system is not written")
	memoryRule    = origin.Rule("portable runtime", "/dev/shm with the size that the profile asks for")
	installRule   = origin.Rule("portable runtime", "a cluster without image volumes gets the agent from an init container, which copies it")
	gateRule      = origin.Rule("portable runtime", "Kubeflow Trainer replaces our command by that of a TrainJob, so an init container of the launcher waits for the nodes; without image volumes it copies the agent, too")
	containerRule = origin.Rule("portable runtime", "the name of the container that upstream and the controller complete")
	runsAsRule    = origin.Rule("portable runtime", "the account of the tenant's namespaces that may do what these pods need, and nothing else")
)

// runtimeOriginTable is the origins of a runtime while they are collected.
type runtimeOriginTable struct {
	object.Table
}

// runtimeOrigins says where each value of a portable runtime comes from.
func runtimeOrigins(c *plan.Cluster, r *plan.Runtime, network mpi.Network) (*object.Table, error) {
	env, err := environmentOrigins(r, network)
	if err != nil {
		return nil, err
	}
	t := &runtimeOriginTable{}
	t.metadata(r)
	if machines := c.MachinesOf(r.Profile.Name); machines != nil {
		t.Set(&machines.PricePerHour.Origin, "metadata", "annotations", mpi.PriceAnnotation)
	}
	t.Set(&c.Logs.Origin, "metadata", "annotations", mpi.LogsAnnotation)
	t.Set(&c.Docs.Origin, "metadata", "annotations", mpi.DocsAnnotation)
	if test := c.CertificationOf(r.Name.V); test != nil {
		from := derivedOrigin(&test.Runtime.Origin, "what a test of the runtime measured, and whether its pods are still those that were tested")
		t.Set(from, "metadata", "labels", mpi.CertifiedLabel)
		t.Set(from, "metadata", "annotations", mpi.CertificationAnnotation)
	}
	t.deprecation(r)
	t.jobSet(c, r)
	t.gang(c, r)
	t.volumes(r)
	t.podConstants()
	t.agent(c)
	t.podUser(c)
	t.placement(r.Profile)
	t.resources(r)
	t.setInPod(&r.Image.Origin, "containers", mpi.Container, "image")
	for name, from := range env {
		t.setInPod(from, "containers", mpi.Container, "env", name)
	}
	for _, v := range slices.Concat(r.Profile.Env, r.Env) {
		t.setInPod(&v.Name.Origin, "containers", mpi.Container, "env", v.Name.V, "name")
	}
	return &t.Table, nil
}

func (t *runtimeOriginTable) metadata(r *plan.Runtime) {
	t.Set(&r.Name.Origin, "metadata", "name")
	for label, from := range map[string]*origin.Origin{
		managedByLabel:          managed,
		profileLabel:            &r.ProfileName.Origin,
		mpi.SupportLabel:        derivedOrigin(&r.Deprecated.Origin, "the word that Kubeflow's tools look for"),
		defaultLabel:            &r.Default.Origin,
		mpi.FrameworkLabel:      &r.Framework.Origin,
		mpi.ImplementationLabel: &r.Implementation.Origin,
		mpi.VersionLabel:        &r.Version.Origin,
	} {
		t.Set(from, "metadata", "labels", label)
	}
	t.Set(&r.Description.Origin, "metadata", "annotations", mpi.DescriptionAnnotation)
	t.Set(&r.Documentation.Origin, "metadata", "annotations", mpi.DocumentationAnnotation)
	t.Set(&r.MinNodes.Origin, "metadata", "annotations", mpi.MinNodesAnnotation)
	t.Set(&r.MaxNodes.Origin, "metadata", "annotations", mpi.MaxNodesAnnotation)
	t.Set(derivedFrom("the resources of one machine of the profile", offerOrigins(r.Profile)...), "metadata", "annotations", mpi.MachineAnnotation)
	t.Set(&r.Restarts.Origin, "metadata", "annotations", mpi.RestartsAnnotation)
}

// deprecation is what a deprecated runtime says about its end.
func (t *runtimeOriginTable) deprecation(r *plan.Runtime) {
	if end := r.Deprecation; end != nil {
		t.Set(&end.Successor.Origin, "metadata", "annotations", mpi.SuccessorAnnotation)
		t.Set(&end.RetireOn.Origin, "metadata", "annotations", mpi.RetireOnAnnotation)
		t.Set(&end.Reason.Origin, "metadata", "annotations", mpi.DeprecationReasonAnnotation)
	}
}

func (t *runtimeOriginTable) jobSet(c *plan.Cluster, r *plan.Runtime) {
	t.Set(policyRule, "spec", "mlPolicy", "mpi")
	t.Set(numNodes(c, r), "spec", "mlPolicy", "numNodes")
	t.Set(keyRule, "spec", "mlPolicy", "mpi", "sshAuthMountPath")
	t.Set(&r.Slots.Origin, "spec", "mlPolicy", "mpi", "numProcPerNode")
	t.Set(&r.LauncherRunsRanks.Origin, "spec", "mlPolicy", "mpi", "runLauncherAsNode")
	t.Set(networkRule, "spec", "template", "spec", "network")
	t.Set(successRule, "spec", "template", "spec", "successPolicy")
	t.Set(failureRule, "spec", "template", "spec", "failurePolicy")
	t.setInJob(jobRule, "*")
	t.setInJob(goesRule, mpi.NodeJob, "template", "spec", "podReplacementPolicy")
	t.setInJob(stepRule, "*", "template", "metadata", "labels", mpi.AncestorLabel)
	nodes := &r.DefaultNodes.Origin
	if r.LauncherRunsRanks.V {
		nodes = derivedOrigin(nodes, "the nodes of the default job but one, which is the launcher")
	}
	t.setInJob(nodes, mpi.NodeJob, "template", "spec", "completions")
	t.setInJob(nodes, mpi.NodeJob, "template", "spec", "parallelism")
	t.setInJob(derivedOrigin(&r.MaxDuration.Origin, "the longest time of a job in seconds"), mpi.LauncherJob, "template", "spec", "activeDeadlineSeconds")
}

func numNodes(c *plan.Cluster, r *plan.Runtime) *origin.Origin {
	if countsLaunchers(c) {
		return oneLauncher
	}
	return &r.DefaultNodes.Origin
}

// gang is what schedulers and mpi-controller read.
func (t *runtimeOriginTable) gang(c *plan.Cluster, r *plan.Runtime) {
	t.Set(&r.Gang.Scheduler.Origin, "spec", "podGroupPolicy")
	t.Set(&r.Gang.Timeout.Origin, "metadata", "annotations", mpi.GangTimeoutAnnotation)
	t.Set(&r.Gang.Timeout.Origin, "spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds")
	if priority := c.PriorityOf(r); priority != nil {
		from := origin.Origin{At: priority.Name.At, Kind: origin.Derived, Why: "the cluster's priority for jobs that name none"}
		if r.Gang.Priority.V != "" {
			from = r.Gang.Priority.Origin
		}
		t.setInPod(&from, "priorityClassName")
	}
	annotations := []string{"*", "template", "spec", "template", "metadata", "annotations"}
	if level := r.Profile.Level(r.Gang.Within.V); level != nil {
		from := origin.Origin{At: level.NodeLabel.At, Kind: origin.Derived, Why: "the label of the topology level that the runtime asks for"}
		from = from.Overriding(r.Gang.Within.V, &r.Gang.Within.Origin)
		t.setInJob(&from, append(annotations, template.TopologyAnnotation)...)
	}
	if networks := r.Profile.Fabric.Networks; len(networks) > 0 {
		from := origin.Origin{At: networks[0].At, Kind: origin.Derived, Why: "the networks of the profile's fabric, in the order of their interfaces"}
		t.setInJob(&from, append(annotations, template.NetworksAnnotation)...)
	}
	t.setInPod(runsAsRule, "serviceAccountName")
}

func (t *runtimeOriginTable) volumes(r *plan.Runtime) {
	for i := range r.Volumes {
		v := &r.Volumes[i]
		t.setInPod(&v.Name.Origin, "volumes", v.Name.V)
		t.setInPod(&v.Claim.Origin, "volumes", v.Name.V, "persistentVolumeClaim", "claimName")
		t.setInPod(&v.ReadOnly.Origin, "volumes", v.Name.V, "persistentVolumeClaim", "readOnly")
		t.setInPod(&v.Scratch.Origin, "volumes", v.Name.V, "emptyDir")
		mount := []string{"containers", mpi.Container, "volumeMounts", v.Name.V}
		t.setInPod(&v.Name.Origin, mount...)
		t.setInPod(&v.MountPath.Origin, append(mount, "mountPath")...)
		t.setInPod(&v.ReadOnly.Origin, append(mount, "readOnly")...)
	}
	if r.SecretEnv.V != "" {
		t.setInPod(&r.SecretEnv.Origin, "containers", mpi.Container, "envFrom")
	}
}

func (t *runtimeOriginTable) podConstants() {
	labels := []string{"*", "template", "spec", "template", "metadata", "labels"}
	t.setInJob(istioRule, labels...)
	t.setInJob(markRule, append(labels, mpi.ImplementationLabel)...)
	t.setInPod(tokenRule, "automountServiceAccountToken")
	t.setInPod(linksRule, "enableServiceLinks")
	t.setInPod(restartRule, "restartPolicy")
	t.setInPod(securityRule, "securityContext")
	t.setInPod(spreadRule, "topologySpreadConstraints")
	t.setInPod(volumeRule, "volumes")
	t.setInPod(containerRule, "containers", mpi.Container)
	t.setInPod(agentRule, "containers", mpi.Container, "command")
	t.setInPod(volumeRule, "containers", mpi.Container, "volumeMounts")
	t.setInPod(securityRule, "containers", mpi.Container, "securityContext")
}

// agent is how the agent comes into pods: as a volume, or copied by an init container.
func (t *runtimeOriginTable) agent(c *plan.Cluster) {
	t.setInPod(&c.ImageVolumes.Origin, "volumes", mpi.AgentVolume)
	t.setInPod(&c.AgentImage.Origin, "volumes", mpi.AgentVolume, "image", "reference")
	t.setInPod(installRule, "initContainers")
	t.setInPod(gateRule, "initContainers", mpi.GateContainer)
	t.setInPod(securityRule, "initContainers", "*", "securityContext")
	t.setInPod(&c.AgentImage.Origin, "initContainers", "*", "image")
}

func (t *runtimeOriginTable) podUser(c *plan.Cluster) {
	if user := c.User.V; user != nil {
		t.setInPod(&user.UID.Origin, "securityContext", "runAsUser")
		t.setInPod(&user.GID.Origin, "securityContext", "runAsGroup")
		t.setInPod(&user.FSGroup.Origin, "securityContext", "fsGroup")
	}
}

func (t *runtimeOriginTable) placement(p *plan.Profile) {
	for _, label := range p.NodeLabels() {
		t.setInPod(&label.Origin, "nodeSelector", label.Name)
	}
	t.setInPod(&p.Fabric.LockMemory.Origin, "containers", mpi.Container, "securityContext", "capabilities", "add")
	for i := range p.Tolerations {
		t.setInPod(&p.Tolerations[i].Origin, "tolerations", strconv.Itoa(i))
		for field, from := range p.TolerationFields[i] {
			t.setInPod(from, "tolerations", strconv.Itoa(i), field)
		}
	}
	t.setInPod(memoryRule, "volumes", "shared-memory")
	t.setInPod(memoryRule, "containers", mpi.Container, "volumeMounts", "shared-memory")
	t.setInPod(&p.SharedMemory.Origin, "volumes", "shared-memory", "emptyDir", "sizeLimit")
}

// resources are those of nodes and launcher. A limit is the request again, because memory and devices cannot be shared; CPU can.
func (t *runtimeOriginTable) resources(r *plan.Runtime) {
	limit := r.CPULimit().Origin
	t.resourceShare("requests", r, &r.CPU.Origin, &r.LauncherCPU.Origin)
	t.resourceShare("limits", r, &limit, &limit)
}

// resourceShare sets the origins of what nodes and launcher ask for, or are limited to.
func (t *runtimeOriginTable) resourceShare(part string, r *plan.Runtime, nodeCPU, launcherCPU *origin.Origin) {
	set := func(job, container, resource string, from *origin.Origin) {
		kind := "containers"
		if container == mpi.GateContainer {
			kind = "initContainers"
		}
		t.setInJob(from, job, "template", "spec", "template", "spec", kind, container, "resources", part, resource)
	}
	set(mpi.NodeJob, mpi.Container, "cpu", nodeCPU)
	set(mpi.NodeJob, mpi.Container, "memory", &r.Memory.Origin)
	// The gate has what the launcher has, whose pod is charged for the larger of both.
	for _, container := range []string{mpi.Container, mpi.GateContainer} {
		set(mpi.LauncherJob, container, "cpu", launcherCPU)
		set(mpi.LauncherJob, container, "memory", &r.LauncherMemory.Origin)
	}
	for _, offer := range r.Profile.Allocatable() {
		if offer.Name != "cpu" && offer.Name != "memory" {
			set("*", mpi.Container, offer.Name, &offer.Origin)
			set("*", mpi.GateContainer, offer.Name, &offer.Origin)
		}
	}
}

// setInJob sets the origin of a path below the replicated jobs.
func (t *runtimeOriginTable) setInJob(from *origin.Origin, path ...string) {
	t.Set(from, append([]string{"spec", "template", "spec", "replicatedJobs"}, path...)...)
}

// setInPod sets the origin of a path in the pods of launcher and nodes.
func (t *runtimeOriginTable) setInPod(from *origin.Origin, path ...string) {
	t.setInJob(from, append([]string{"*", "template", "spec", "template", "spec"}, path...)...)
}

// environmentOrigins says where each variable comes from: the MPI implementation, its network, the profile or the runtime. Each
// overrides those before it.
func environmentOrigins(r *plan.Runtime, network mpi.Network) (map[string]*origin.Origin, error) {
	dialect, err := mpi.DialectOf(r.Implementation.V, r.Version.V)
	if err != nil {
		return nil, fmt.Errorf("environment of the runtime: %w", err)
	}
	e := variableOrigins{origins: map[string]*origin.Origin{}, values: map[string]string{}}
	deciding := fabricSettingOrigins(r.Profile, dialect, network)
	for _, v := range mpi.Environment(dialect, network) {
		e.set(v.Name, v.Value, origin.Origin{Kind: origin.Derived, At: deciding[v.Name].At, Why: "network of the profile: " + v.Why})
	}
	for _, v := range mpi.Environment(dialect, mpi.Network{}) {
		if e.values[v.Name] == v.Value {
			e.origins[v.Name] = origin.Rule("environment of "+string(r.Implementation.V), v.Why)
		}
	}
	for _, v := range slices.Concat(r.Profile.Env, r.Env) {
		e.set(v.Name.V, v.Value.V, v.Value.Origin)
	}
	return e.origins, nil
}

// fabricSettingOrigins says which setting of the fabric decides a variable: the last one without which it would be another. What no setting
// decides follows from the kind of the fabric.
func fabricSettingOrigins(p *plan.Profile, dialect mpi.Dialect, network mpi.Network) map[string]*origin.Origin {
	deciding := map[string]*origin.Origin{}
	for _, v := range mpi.Environment(dialect, network) {
		deciding[v.Name] = &p.Fabric.Kind.Origin
	}
	decide := func(from *origin.Origin, without mpi.Network) {
		values := map[string]string{}
		for _, v := range mpi.Environment(dialect, without) {
			values[v.Name] = v.Value
		}
		for _, v := range mpi.Environment(dialect, network) {
			if value, found := values[v.Name]; !found || value != v.Value {
				deciding[v.Name] = from
			}
		}
	}
	without := func(change func(*mpi.Network)) mpi.Network {
		changed := network
		change(&changed)
		return changed
	}
	decide(&p.Fabric.Interface.Origin, without(func(n *mpi.Network) { n.Interface = "" }))
	decide(&p.Fabric.GPUDirect.Origin, without(func(n *mpi.Network) { n.GPUDirect = !n.GPUDirect }))
	decide(&p.Fabric.GIDIndex.Origin, without(func(n *mpi.Network) { n.GIDIndex = nil }))
	if len(p.Fabric.HCAs) > 0 {
		decide(&p.Fabric.HCAs[0].Origin, without(func(n *mpi.Network) { n.HCAs = nil }))
	}
	return deciding
}

// variableOrigins is the origin and the value of each variable so far.
type variableOrigins struct {
	origins map[string]*origin.Origin
	values  map[string]string
}

func (e variableOrigins) set(name, value string, from origin.Origin) {
	if earlier := e.origins[name]; earlier != nil {
		from = from.Overriding(e.values[name], earlier)
	}
	e.origins[name], e.values[name] = &from, value
}
