package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	launcherPath = "spec.mpiReplicaSpecs." + launcherReplica
	workerPath   = "spec.mpiReplicaSpecs." + workerReplica
	// manager is who wrote our patch, as spec.runtimePatches names it.
	manager = "lockstep.dev/convert"
)

// The bounds of a runtime (api/v1alpha1).
const (
	maxNodes = 1000
	maxSlots = 1024
)

// Options say what an MPIJob does not.
type Options struct {
	// MPIVersion is that of the library in the images, such as 5.0.7; empty means what mpi-operator is known to work with.
	MPIVersion string
}

// Result is a converted MPIJob.
type Result struct {
	Job      *MPIJob
	TrainJob *trainer.TrainJob
	// Runtime and Profile name the specs that the job runs with.
	Runtime, Profile string
	// Proposed reports that the catalog does not have the runtime; Specs are then what it lacks, unless an earlier job brought them.
	Proposed bool
	Specs    []SpecFile
	// Rejected says why runtimes of the same library do not fit.
	Rejected []string
	// Entries are what became of each value, in the order of Classes and then of the text.
	Entries []Outcome
}

// CountToReview is how many values somebody has to look at before the TrainJob does what the MPIJob did.
func (r *Result) CountToReview() int { return r.CountClass(NotPossible) }

// CountClass is how many entries have a class.
func (r *Result) CountClass(class OutcomeClass) int {
	n := 0
	for i := range r.Entries {
		if r.Entries[i].Class == class {
			n++
		}
	}
	return n
}

// converter is one conversion.
type converter struct {
	outcomeLog
	job     *MPIJob
	spec    *mpiJobSpec
	catalog *Catalog
	options Options
	need    jobNeed
	choice  chosenRuntime
	out     *trainer.TrainJob
	trainer *trainer.Trainer
	// pods are what is patched of the launcher and of the nodes.
	pods map[string]*podPatch
}

// Convert converts one MPIJob. Specs that it proposes are added to the catalog.
func Convert(job *MPIJob, catalog *Catalog, options Options) *Result {
	c := &converter{
		outcomeLog: outcomeLog{yamlDocument: job.yamlDocument}, job: job, spec: &job.spec.Spec, catalog: catalog, options: options,
		trainer: &trainer.Trainer{}, pods: map[string]*podPatch{mpi.LauncherJob: {}, mpi.NodeJob: {}},
	}
	c.out = &trainer.TrainJob{TypeMeta: metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"}}
	c.out.Spec.Trainer = c.trainer
	c.convertMetadata()
	c.convertLibrary()
	c.convertWorld()
	c.convertImages()
	c.convertResources()
	c.gatherRuntimeNeeds()
	result := &Result{Job: job, TrainJob: c.out}
	result.Specs = c.chooseOrPropose()
	c.convertCommand()
	c.convertEnvironment()
	c.convertPods()
	c.convertRunPolicy()
	c.noteDifferences()
	c.writePatches()
	result.Runtime, result.Profile, result.Rejected = c.choice.runtime.Metadata.Name, c.choice.profile.Metadata.Name, c.choice.rejected
	result.Proposed = catalog.proposed[v1alpha1.MPIRuntimeKind+"/"+result.Runtime]
	result.Entries = c.closeWithUnclaimed(job.unknown)
	return result
}

func (c *converter) launcherSpec() *replicaSpec { return c.spec.ReplicaSpecs[launcherReplica] }
func (c *converter) workerSpec() *replicaSpec   { return c.spec.ReplicaSpecs[workerReplica] }

// rankSpec is the template of the pods in which ranks run, and its path: the launcher's where there are no workers.
func (c *converter) rankSpec() (*replicaSpec, string) {
	if worker := c.workerSpec(); worker != nil {
		return worker, workerPath
	}
	return c.launcherSpec(), launcherPath
}

// mainContainer is the path and the index of the container in which the program runs: the first, or the one that v1 names.
func (c *converter) mainContainer(spec *replicaSpec, path string) (*corev1.Container, string) {
	containers := spec.Template.Spec.Containers
	i := max(0, slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == c.spec.MainContainer }))
	return &containers[i], path + ".template.spec.containers[" + strconv.Itoa(i) + "]"
}

// The versions that are taken for those in the images, where nobody says which it is.
var commonVersions = map[string]string{string(mpi.OpenMPI): "4.1", string(mpi.IntelMPI): "2021.13", string(mpi.MPICH): "4.2"}

func (c *converter) convertLibrary() {
	const path = "spec.mpiImplementation"
	asked := cmp.Or(c.spec.MPIImplementation, "OpenMPI")
	known := map[string]mpi.Implementation{"OpenMPI": mpi.OpenMPI, "Intel": mpi.IntelMPI, "MPICH": mpi.MPICH}
	implementation, found := known[asked]
	if !found {
		c.add(NotPossible, path, "", "`%s` is not an implementation of mpi-operator (OpenMPI, Intel, MPICH): taken for Open MPI", asked)
		implementation = mpi.OpenMPI
	}
	version := cmp.Or(c.options.MPIVersion, commonVersions[string(implementation)])
	c.need.mpi = v1alpha1.MPI{Implementation: string(implementation), Version: version}
	c.need.major, _, _ = strings.Cut(version, ".")
	if !found {
		return
	}
	note := "taken for " + version + ": say `--mpi-version` if the image has another"
	if c.options.MPIVersion != "" {
		note = "version " + version + ", as `--mpi-version` says"
	} else if implementation == mpi.OpenMPI {
		note = "taken for Open MPI 4, because the variables that mpi-operator sets are not read by 5: say `--mpi-version 5.0` if the image has it"
	}
	c.addDefault(ByRuntime, path, "MPIRuntime spec.mpi", "%s", note)
}

// convertWorld is how many nodes there are, and ranks on each.
func (c *converter) convertWorld() {
	c.convertSlots()
	c.need.runsRanks = ptr.Deref(c.spec.RunLauncherAsWorker, false)
	workers, path := int32(0), workerPath+".replicas"
	if worker := c.workerSpec(); worker != nil {
		workers = 1
		switch replicas := worker.Replicas; {
		case replicas == nil:
			c.addDefault(NotPossible, path, "spec.trainer.numNodes", "missing, which mpi-operator refuses: taken as 1")
		case *replicas < 1:
			c.add(NotPossible, path, "spec.trainer.numNodes", "mpi-operator refuses less than 1: taken as 1")
		case *replicas >= maxNodes:
			c.add(NotPossible, path, "spec.trainer.numNodes", "a job has at most %d nodes: taken as 1", maxNodes)
		default:
			workers = *replicas
			c.add(Carried, path, "spec.trainer.numNodes", "")
		}
	}
	c.need.nodes = workers
	switch {
	case c.need.runsRanks:
		c.need.nodes++
	case workers == 0:
		c.need.nodes, c.need.runsRanks = 1, true
		c.addDefault(Differs, workerPath, "spec.trainer.numNodes", "an MPIJob without workers runs everything in its launcher: a job of one node")
	}
	c.trainer.NumNodes = ptr.To(c.need.nodes)
	c.add(ByRuntime, launcherPath+".replicas", "", "there is always one launcher")
}

func (c *converter) convertSlots() {
	const path = "spec.slotsPerWorker"
	c.need.slots = ptr.Deref(c.spec.SlotsPerWorker, 1)
	if c.need.slots < 1 || c.need.slots > maxSlots {
		c.add(NotPossible, path, "spec.trainer.numProcPerNode", "a node has 1 to %d slots: taken as 1", maxSlots)
		c.need.slots = 1
	} else {
		c.addDefault(Carried, path, "spec.trainer.numProcPerNode", "")
	}
	c.trainer.NumProcPerNode = ptr.To(c.need.slots)
}

// convertImages: all pods of a TrainJob have one image.
func (c *converter) convertImages() {
	const to = "spec.trainer.image"
	ranks, path := c.rankSpec()
	container, at := c.mainContainer(ranks, path)
	c.need.image = container.Image
	c.trainer.Image = ptr.To(container.Image)
	if decode.HasFormat("image", container.Image) {
		c.add(Carried, at+".image", to, "")
	} else {
		c.addDefault(NotPossible, at+".image", to, "no image reference; one is %s", decode.FormatDescription("image"))
	}
	launcher, launcherAt := c.mainContainer(c.launcherSpec(), launcherPath)
	switch {
	case launcherAt == at:
	case launcher.Image == container.Image:
		c.add(Carried, launcherAt+".image", to, "")
	default:
		c.add(NotPossible, launcherAt+".image", to, "launcher and nodes have one image, and that of the workers was taken: it needs what the launcher's command calls")
	}
}

// gatherRuntimeNeeds gathers what else the runtime must have: machines with the labels and taints of the workers, a tenant, a name, restarts and a
// gang timeout.
func (c *converter) gatherRuntimeNeeds() {
	ranks, _ := c.rankSpec()
	c.need.nodeSelector, c.need.tolerations = ranks.Template.Spec.NodeSelector, ranks.Template.Spec.Tolerations
	c.need.tenant = c.catalog.tenantOf(c.job.Namespace())
	c.need.name = cmp.Or(c.job.Name(), strings.TrimSuffix(c.job.spec.GenerateName, "-"))
	if namespace := c.job.Namespace(); namespace != "" {
		c.need.name = namespace + "/" + c.need.name
	}
	if limit := c.spec.RunPolicy.BackoffLimit; limit != nil {
		c.need.restarts = min(max(*limit, 0), 10)
	}
	if policy := c.spec.RunPolicy.SchedulingPolicy; policy != nil {
		if seconds := ptr.Deref(policy.ScheduleTimeoutSeconds, 0); seconds >= 1 && seconds <= 3600 {
			c.need.gangTimeout = strconv.Itoa(int(seconds)) + "s"
		}
	}
}

func (c *converter) chooseOrPropose() []SpecFile {
	var specs []SpecFile
	found, fits := c.catalog.chooseRuntime(&c.need)
	c.choice = found
	if !fits {
		c.choice, specs = c.catalog.proposeRuntime(&c.need)
		c.choice.rejected = found.rejected
	}
	name := c.choice.runtime.Metadata.Name
	c.out.Spec.RuntimeRef = trainer.RuntimeRef{Name: name}
	for _, kind := range []string{"apiVersion", "kind"} {
		c.add(Carried, kind, kind, "")
	}
	if t := c.need.tenant; !mayUse(t, c.choice.runtime) {
		c.add(NotPossible, "metadata.namespace", "", "the namespace is tenant `%s`'s, which does not use the runtime: add `%s` to `runtimes` in its spec", t.Metadata.Name, name)
	}
	c.checkContainerLimits()
	if c.catalog.isProposedProfile(c.choice.profile) {
		_, path := c.rankSpec()
		c.addDefault(NotPossible, path+".template.spec", "HardwareProfile "+c.choice.profile.Metadata.Name,
			"no profile of the catalog has machines for the workers; the draft offers what one worker takes: write what a machine has")
	}
	return specs
}

// checkContainerLimits: a tenant may have said what one container takes at most.
func (c *converter) checkContainerLimits() {
	if c.need.tenant == nil {
		return
	}
	most := c.need.tenant.Spec.Limits.Container.Max
	for _, bound := range []struct {
		name corev1.ResourceName
		most *resource.Quantity
	}{{corev1.ResourceCPU, most.CPU}, {corev1.ResourceMemory, most.Memory}} {
		asked := c.need.largerOrAssumed(bound.name, resource.Quantity{})
		if bound.most != nil && asked.Cmp(*bound.most) > 0 {
			c.addDefault(NotPossible, c.rankPath()+".resources", resourcesTo, "one container of tenant `%s` has at most %s %s (`limits.container.max` of its spec), a worker asks for %s",
				c.need.tenant.Metadata.Name, bound.most.String(), bound.name, asked.String())
		}
	}
}

// noteDifferences are what holds for every job, whatever it says.
func (c *converter) noteDifferences() {
	name := cmp.Or(c.job.Name(), c.job.spec.GenerateName+"…")
	c.addDefault(Differs, "metadata.name", "metadata.name", "pods are named %[1]s-launcher-0-0-… and %[1]s-node-0-0-…, not %[1]s-launcher-… and %[1]s-worker-0; labels are those of JobSet, not training.kubeflow.org", name)
	c.addDefault(ByRuntime, "spec.sshAuthMountPath", "", "the agent reads the key of the job itself; no sshd, no port and no folder of the image is needed")
	if c.spec.LauncherCreationPolicy == "WaitForWorkersReady" {
		c.add(ByRuntime, "spec.launcherCreationPolicy", "", "the command starts when all nodes answer")
	} else {
		c.addDefault(Differs, "spec.launcherCreationPolicy", "", "all pods start together, and the command when all nodes answer: waiting loops of its own are not needed")
	}
	if c.job.Version == versionV1 {
		c.add(ByRuntime, "spec.mainContainer", "", "the container is called `%s` in all pods", mpi.Container)
	}
	for _, path := range []string{launcherPath, workerPath} {
		c.addDefaultIf(c.hasPath(path), Differs, path+".restartPolicy", "", "a pod is never started again by itself: the job is, as a whole")
	}
	c.noteWhereRanksRun()
	for _, role := range slices.Sorted(maps.Keys(c.spec.ReplicaSpecs)) {
		if role != launcherReplica && role != workerReplica {
			c.add(NotPossible, childPath("spec.mpiReplicaSpecs", role), "", "mpi-operator reads `Launcher` and `Worker`, and never read this: remove it, or correct its name")
		}
	}
}

// noteWhereRanksRun: a launcher is one of the nodes, or apart from them.
func (c *converter) noteWhereRanksRun() {
	const path, to = "spec.runLauncherAsWorker", "MPIRuntime spec.launcher.runsRanks"
	runtime := c.choice.runtime
	switch asked, runs := c.need.runsRanks, runtime.Spec.Launcher.RunsRanks; {
	case asked && runs:
		c.add(ByRuntime, path, to, "the launcher is the first of %d nodes: numNodes counts it", c.need.nodes)
	case asked:
		c.addDefault(Differs, path, to, "runtime `%s` runs ranks in %d nodes and none in the launcher: one pod more, with as many ranks", runtime.Metadata.Name, c.need.nodes)
	case runs:
		c.addDefault(Differs, path, to, "runtime `%s` runs ranks in the launcher too: %d pods instead of %d, with as many ranks", runtime.Metadata.Name, c.need.nodes, c.need.nodes+1)
	default:
		c.add(ByRuntime, path, to, "")
	}
}

func (c *converter) addDefaultIf(is bool, class OutcomeClass, path, to, format string, args ...any) {
	if is {
		c.addDefault(class, path, to, format, args...)
	}
}

// joinQuoted is some words as a sentence has them.
func joinQuoted(words []string) string { return fmt.Sprintf("`%s`", strings.Join(words, "`, `")) }

// CheckMPIVersion refuses what is not a version of an MPI library.
func CheckMPIVersion(version string) error {
	if version == "" || decode.HasFormat("mpi-version", version) {
		return nil
	}
	return fmt.Errorf("`%s` is not a version of MPI: it must be %s", version, decode.FormatDescription("mpi-version"))
}
