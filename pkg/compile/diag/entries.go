package diag

import "slices"

// Entry is what is known about a Code besides its number: the text of its page and of the rule in SARIF. Text in back-ticks is
// code.
type Entry struct {
	Code     Code
	Severity Severity
	// Title names the mistake in some words, as the heading of a page.
	Title string
	// Why says in sentences why it is a mistake: what would happen without the diagnostic.
	Why string
	// Do says in sentences how to put it right.
	Do string
	// Waivable says that a spec may accept findings with the code for a while: their output would be right, and it is a matter of
	// policy whether it is wanted. Warnings about specs that have a meaning can always be waived.
	Waivable bool
	// Platform says that a waiver of the code must be in the spec of a cluster: others bear what it allows, so that whoever gains by it
	// must not write it. The proofs have it all the same, see ByCluster.
	Platform bool
	// NoExample says why no specs can show the code; it is empty for codes with an example.
	NoExample string
}

// URL returns the address of the page of a code below the address of docs, empty if that is.
func (c Code) URL(docs string) string {
	if docs == "" {
		return ""
	}
	return docs + "/diagnostics/" + string(c)
}

// Entries returns what is known about every code, in the order of their numbers.
func Entries() []Entry { return slices.Clone(entries) }

// Retired returns the codes that older versions reported. They are never used again.
func Retired() []Entry { return slices.Clone(retired) }

// EntryOf returns what is known about a code.
func EntryOf(code Code) (Entry, bool) {
	i, found := slices.BinarySearchFunc(entries, code, func(e Entry, c Code) int {
		switch {
		case e.Code < c:
			return -1
		case e.Code > c:
			return 1
		}
		return 0
	})
	if !found {
		return Entry{}, false
	}
	return entries[i], true
}

// retired is sorted by code.
var retired = []Entry{
	{Code: "LS4012", Title: "a fabric is not compiled yet", Why: "All fabrics are compiled."},
	{Code: "LS4015", Title: "an executor is not compiled yet", Why: "Both executors are compiled."},
	{Code: "LS4077", Title: "nobody makes the gang", Why: "mpi-controller makes the PodGroups of Coscheduling and Volcano."},
}

// CanBeWaived reports whether a spec may accept findings with the code.
func (e *Entry) CanBeWaived() bool {
	return e.Waivable || e.Severity == Warning && e.Code >= firstRule && e.Code != WaiverExpiresSoon && e.Code != WaiverUnused
}

// ByCluster reports whether only the spec of a cluster may accept findings with the code: those of the proofs of isolation, access,
// capacity and enforcement, secrets, and whatever else one tenant would accept at the expense of others. That the largest jobs of a
// tenant never fit harms the tenant alone.
func (e *Entry) ByCluster() bool {
	return e.Platform || e.Code >= firstProof && e.Code != LargestJobDoesNotFit
}

// firstProof is the first code of a proof.
const firstProof Code = "LS7000"

// firstRule is the first code about specs that could be read, with names that exist.
const firstRule Code = "LS4000"

// entries is sorted by code.
var entries = []Entry{
	{
		Code: UnreadableFile, Severity: Error, Title: "a spec file cannot be read",
		Why: "A file that is skipped would be a tenant or a runtime that disappears. Links that lead out of the repository or to " +
			"hidden files, pipes and devices are never followed: specs of a pull request may come from a stranger, and " +
			"`.git/config` may hold credentials. Positions and names need UTF-8. A carriage return that ends a line alone, and " +
			"characters that change the order of text, show a reviewer " +
			"something else than is read: what looks like a comment may be a value.",
		Do: "Put a regular UTF-8 file of at most 1 MiB in its place, or remove it. Large files can be split: a file may hold several documents, " +
			"a folder several files. Remove the character that the message shows; write it as `\\u202e` in double quotes where a value needs it.",
	},
	{
		Code: Syntax, Severity: Error, Title: "not valid YAML or Jsonnet",
		Why: "The rest of the file cannot be read, so what it defines is unknown. The documents before the mistake are still checked.",
		Do:  "Look at the place shown and at the line above it: the parser notices a missing quote, bracket or colon only later. Indent with spaces.",
	},
	{
		Code: TooComplex, Severity: Error, Title: "a file is beyond the limits of complexity",
		Why: "A few lines of YAML can stand for billions of values (a YAML bomb). Limits keep a malicious file from stopping everybody's build: " +
			"64 levels of nesting, 1,000 documents per file, 10,000 values reached through aliases.",
		Do: "Write the values out in a flatter form, or split the file.",
	},
	{
		Code: UnsupportedYAML, Severity: Error, Title: "a part of YAML that specs do not use",
		Why: "Merge keys, tags of one's own and keys that are not strings mean different things to different YAML parsers, and JSON has none of them. " +
			"A spec must read alike everywhere.",
		Do: "Write the keys out, and remove the tag.",
	},
	{
		Code: NothingRead, Severity: Warning, Title: "a file or a folder defines nothing",
		Why: "It is empty, its name is nearly right, it holds a spec and is in none of the folders of specs, or it is in an overlay and neither the cluster nor the kustomization names it. " +
			"A tenant that disappears from the specs is removed from its clusters, and a patch that nobody reads changes nothing, so this is said aloud. Names that begin with `.` or `_` are left out on purpose.",
		Do: "Remove the file if that is meant. Otherwise give it its content back, a name that ends in `.yaml`, all in small letters, or the right folder, or name it in the kustomization of its overlay.",
	},
	{
		Code: UnknownKind, Severity: Error, Title: "an unknown kind",
		Why: "Only the kinds of `lockstep.dev/v1alpha1` are compiled. Anything else in the folders of specs would be ignored in silence.",
		Do:  "Correct the kind. Kubernetes objects do not belong into the specs: put them into a chart under `components` of the cluster.",
	},
	{
		Code: UnknownAPIVersion, Severity: Error, Title: "an unknown apiVersion",
		Why: "Another version of the specs may give a key another meaning.",
		Do:  "Write `lockstep.dev/v1alpha1`. If the specs are newer than the compiler, use a newer compiler.",
	},
	{
		Code: UnknownKey, Severity: Error, Title: "an unknown key",
		Why: "A key with a typing mistake would be ignored, and the default would hold in its place: a quota that nobody set, a network that is open.",
		Do:  "Correct the name, or remove the key. The message lists what the kind allows there.",
	},
	{
		Code: DuplicateKey, Severity: Error, Title: "a key is there twice",
		Why: "YAML forbids it, yet parsers accept it and disagree which one counts, so a reviewer may read one value and the cluster get the other.",
		Do:  "Remove one of them.",
	},
	{
		Code: MissingKey, Severity: Error, Title: "a required key is missing",
		Why: "There is no default that is right for everybody, for example no quota that suits every team.",
		Do:  "Add the key with a value.",
	},
	{
		Code: WrongType, Severity: Error, Title: "a value of the wrong type",
		Why: "YAML guesses types: `1.30` without quotes is the number 1.3, `2020-01-01` is a date, and `on` may be true. A guess is not what was written.",
		Do:  "Write a value of the type that the message names. Strings that look like numbers need quotes.",
	},
	{
		Code: NotAllowed, Severity: Error, Title: "a value is not among those allowed",
		Why: "The key chooses among a few words, and each of them is compiled in its own way. Case counts.",
		Do:  "Write one of the words that the message lists.",
	},
	{
		Code: OutOfRange, Severity: Error, Title: "a number, an amount or a list is too small or too large",
		Why: "The value has no meaning there, or Kubernetes would refuse it. An amount of memory that is far too small usually lacks its unit: " +
			"`16` is 16 bytes, `16m` a thousandth of that.",
		Do: "Write a value within the bounds that the message names.",
	},
	{
		Code: BadFormat, Severity: Error, Title: "a string has the wrong form",
		Why: "Names become names of Kubernetes objects, amounts become quotas, ranges become network policies: what the API server would refuse, or read " +
			"otherwise than a human does, is refused here with its place.",
		Do: "Write the value in the form that the message describes.",
	},
	{
		Code: RepeatedItem, Severity: Error, Title: "a value is in a list twice",
		Why: "It has no effect, so its author probably meant another one.",
		Do:  "Remove or correct one of them.",
	},
	{
		Code: KindElsewhere, Severity: Error, Title: "a spec is in the folder of another kind",
		Why: "Who may change what is decided by folders: a team that may write in `tenants/` would otherwise make a cluster, a machine or a runtime there, " +
			"and nobody who owns these would be asked.",
		Do: "Move profiles and runtimes to `catalog/`, tenants to `tenants/`, clusters to `overlays/<name>/cluster.yaml`.",
	},
	{
		Code: DuplicateName, Severity: Error, Title: "two specs of one kind have one name",
		Why: "A reference to the name could mean either, and both would compile to the same objects.",
		Do:  "Rename or remove one. Specs of different kinds may share a name.",
	},
	{
		Code: DanglingReference, Severity: Error, Title: "a name that no spec has",
		Why: "What is referred to does not exist in this repository: it was renamed, removed, or never committed.",
		Do:  "Correct the name, or add the spec.",
	},
	{
		Code: NamespaceTaken, Severity: Error, Title: "a namespace has another owner",
		Why: "A namespace belongs to one tenant or to the platform. Two owners would share quota, secrets and network rules, and isolation would be gone.",
		Do:  "Choose another name.",
	},
	{
		Code: NoCluster, Severity: Error, Title: "no cluster",
		Why: "Without a cluster nothing can be compiled, and an empty result would remove everything that was compiled before.",
		Do:  "Add `overlays/<name>/cluster.yaml`, and look whether `--root` is the folder that you mean.",
	},
	{
		Code: UnknownCluster, Severity: Error, Title: "the cluster that was asked for does not exist",
		Why: "`--cluster` names a cluster that no spec defines.",
		Do:  "Correct the name, or add `overlays/<name>/cluster.yaml`.",
	},
	{
		Code: NodesOutOfOrder, Severity: Error, Title: "numbers of nodes out of order",
		Why: "`min` <= `default` <= `max` must hold, or a job that asks for nothing gets a number of nodes that is not allowed.",
		Do:  "Change one of the three.",
	},
	{
		Code: SlotsWithoutAccelerator, Severity: Error, Title: "slotsPerNode `auto` without accelerators",
		Why: "`auto` is one rank per accelerator, and machines of the profile have none: no rank would run.",
		Do:  "Write the number of ranks that one node may run.",
	},
	{
		Code: NodeDoesNotFit, Severity: Error, Title: "a node or a launcher does not fit a machine",
		Why: "A pod that asks for more than the largest machine offers waits forever, without an error.",
		Do:  "Ask for less, or use a profile with larger machines. What `resourcesPerNode` leaves out is all that the profile offers.",
	},
	{
		Code: QuotaTooSmall, Severity: Error, Title: "a quota is too small for a single job",
		Why: "The smallest job of a runtime that the tenant uses, launcher included, does not fit the quota: the tenant could never start one.",
		Do:  "Raise the quota, lower `nodes.min` or `resourcesPerNode` of the runtime, or leave the runtime out of the tenant's `runtimes`.",
	},
	{
		Code: ReservedName, Severity: Error, Title: "a namespace is reserved",
		Why: "`default`, `openshift` and all that begin with `kube-` or `openshift-` belong to Kubernetes or OpenShift. What is compiled would change their rules.",
		Do:  "Choose another name.",
	},
	{
		Code: ReservedVariable, Severity: Error, Title: "an environment variable carries the wiring of a job",
		Why: "The compiler sets it so that the launcher finds its nodes. Another value would cut the job off from them.",
		Do:  "Remove the variable: the runtime sets what its MPI implementation needs.",
	},
	{
		Code: NoUsableRuntime, Severity: Error, Title: "a tenant can use no runtime on a cluster",
		Why: "The tenant names no runtimes, and none of those on the cluster admits it: it could not run anything there.",
		Do:  "Add the tenant to `tenants` of a runtime, add the profile of a runtime to `capacity` of the cluster, or take the cluster off the tenant.",
	},
	{
		Code: RuntimeNotUsable, Severity: Error, Title: "a tenant names a runtime that it cannot use",
		Why: "The runtime does not admit the tenant, is retired, or is not on one of the tenant's clusters.",
		Do:  "Name another runtime, or change the runtime or the cluster as the message says.",
	},
	{
		Code: ImageWithoutDigest, Severity: Error, Title: "an image without digest",
		Why: "The cluster requires digests, because a tag may name another image tomorrow and a digest may not.",
		Do:  "Append `@sha256:…`.",
	},
	{
		Code: LimitsTooTight, Severity: Error, Title: "container limits refuse a runtime",
		Why: "A container of a runtime that the tenant uses takes more than the tenant's limits allow: the API server would refuse its pods.",
		Do:  "Raise the maximum, or leave the runtime out of the tenant's `runtimes`.",
	},
	{
		Code: LimitsOutOfOrder, Severity: Error, Title: "a default above the maximum",
		Why: "The API server refuses a LimitRange whose default is above its maximum.",
		Do:  "Lower the default, or raise the maximum. The defaults are 100m CPU and 128Mi memory.",
	},
	{
		Code: PodUser, Severity: Error, Title: "a pod user cannot work",
		Why: "OpenShift assigns users itself and refuses others. Elsewhere, a user who is neither in the group root nor in `fsGroup` cannot read the key of the job.",
		Do:  "Remove `podUser` on OpenShift. Elsewhere set `gid` to 0, or `fsGroup` to a group of the pod's own.",
	},
	{
		Code: MPIVersion, Severity: Error, Title: "a version of MPI is not supported",
		Why: "Launching depends on the implementation and its major version, and that of the version is not known.",
		Do:  "Use an image with a supported version: Open MPI 4 or 5, Intel MPI, MPICH.",
	},
	{
		Code: ImageVolumesTooEarly, Severity: Error, Title: "image volumes on a cluster without them",
		Why: "Image volumes appeared in Kubernetes 1.31 and are switched on from 1.35. An older API server drops the field, and pods would start without the agent.",
		Do:  "Remove `imageVolumes`: an init container then brings the agent.",
	},
	{
		Code: DeprecatedRuntime, Severity: Warning, Title: "a tenant names a deprecated runtime",
		Why: "The runtime will be retired, and the tenant's jobs that name it will then be refused.",
		Do:  "Move to another runtime.",
	},
	{
		Code: ForeignTraffic, Severity: Error, Title: "traffic with another tenant",
		Why: "Isolation is promised to both teams: one must not open a way to or for the other's pods.",
		Do:  "Exchange data through storage outside of both.",
	},
	{
		Code: ReleaseTaken, Severity: Error, Title: "a release name is taken",
		Why: "Two components of a cluster with one release name would share an output file, and Helm would take them for one release.",
		Do:  "Choose another `release`. `platform` and `kustomization` are the compiler's own.",
	},
	{
		Code: MetadataReachable, Severity: Warning, Platform: true, Title: "egress reaches the metadata service of clouds",
		Why: "In a cloud, 169.254.169.254 hands out the credentials of the machine to whoever asks.",
		Do:  "Name the ranges that are needed, or block the address on the machines.",
	},
	{
		Code: VariableHidesImage, Severity: Warning, Title: "a variable hides the paths of the image",
		Why: "A variable of a spec takes the place of that of the image; Kubernetes appends nothing. With a `PATH` or `LD_LIBRARY_PATH` of its own the runtime does not find `mpirun`, " +
			"Python or a library of CUDA where the image has them, and `LD_PRELOAD` is loaded into all programs.",
		Do: "Set the variable in the image. Where the value of the spec is right, say why at `reason` of the variable.",
	},
	{
		Code: GroupMixesScripts, Severity: Warning, Title: "the name of a group mixes scripts",
		Why: "The Cyrillic `а` and the Latin `a` look the same and are two letters. A group of which one is in the place of the other reads like a group that is known, and is another: " +
			"whoever can make groups in the identity provider gets the role, and no reviewer sees it.",
		Do: "Write the name as the identity provider has it, with letters of one script. Where the name really is so, write a waiver with the reason.",
	},
	{
		Code: VariableNotRead, Severity: Warning, Title: "a variable that the MPI of the runtime does not read",
		Why: "Each implementation has settings of its own: `OMPI_MCA_…` is for Open MPI, `PRTE_MCA_…` for the launcher of Open MPI 5, `I_MPI_…` for Intel MPI, `MPIR_CVAR_…` for MPICH. " +
			"Others pass over them without a word, so that a job runs with other settings than its author believes.",
		Do: "Remove the variable, or set what the MPI of the runtime reads. A profile may set variables for all that use its machines.",
	},
	{
		Code: DefectiveMPI, Severity: Warning, Title: "a version of MPI with a known defect",
		Why: "With some versions jobs hang or fail through no fault of their own, and the controller can only say that they did.",
		Do:  "Use an image with the version that the message names. Where the defect does not concern your programs, write a waiver with the reason.",
	},
	{
		Code: NameSlips, Severity: Warning, Title: "a name differs by one letter from another one",
		Why: "Nobody checks whether the identity provider has a group, or the cluster a namespace of somebody else: with a letter too few nobody is in the group, and nothing in the namespace. " +
			"Groups of a cluster's tenants are compared with each other, and namespaces with those that the cluster has. Digits are no letters: gpu1 and gpu2 are two names.",
		Do: "Write the name as it is. Where there are two such names, write a waiver with the reason.",
	},
	{
		Code: GroupOfOthers, Severity: Warning, Title: "people of one tenant may run jobs as another one",
		Why: "The group is called by the name of another tenant, which names it, too. As editors its people create, change and delete jobs there, and read what these write: most often a line was copied from the " +
			"other tenant's file.",
		Do: "Write a group of the tenant's own. Where both teams work together, make a group for them, or write a waiver with the reason.",
	},
	{
		Code: NewerMPI, Severity: Warning, Title: "a version of MPI that is not known here",
		Why: "Environment and hostfile are written for what the launchers of known versions read. Open MPI changed that between 4 and 5, and passes over the names that it no longer reads: a later one may start all ranks " +
			"on one node, or each as a world of its own. Most often the number is a slip, or that of another implementation.",
		Do: "Correct the version. Where the image has this one, try a job on two nodes and write a waiver.",
	},
	{
		Code: ImageMoves, Severity: Warning, Title: "an image that is another one tomorrow",
		Why: "Each machine asks for the image when a pod starts there. A job starts on many at a time, and again after the loss of one: where somebody pushes in between, its ranks run different programs, which fails in ways " +
			"that look like faults of the network. Nobody can say later what a job ran, and no review sees the change.",
		Do: "Write a tag that is not pushed again, or better `@sha256:…`, in the spec or in `images.digests` of the cluster. Other tags move, too, if somebody moves them: `requireDigests` refuses them.",
	},
	{
		Code: WritesReadOnly, Severity: Warning, Title: "a volume that can only be read is mounted to be written",
		Why: "The claim is `ReadOnlyMany`: drivers mount it so that every write fails, and some do not mount it at all for a pod that may write.",
		Do:  "Write `readOnly: true` at the volume, or give the claim another `access`.",
	},
	{
		Code: FabricWithoutDevice, Severity: Error, Title: "a fabric without a device",
		Why: "Adapters are given to pods by a device plugin. A pod that asks for none sees no adapter, and MPI fails, or uses a network that is many times slower.",
		Do:  "Add `fabric.resource` with the resource that the device plugin offers, and `fabric.count`.",
	},
	{
		Code: RoCEWithoutAddress, Severity: Error, Title: "RoCE without `gidIndex`",
		Why: "A RoCE port has several addresses. The one that libraries take by themselves is often not routed, and ranks then wait for each other forever.",
		Do:  "Add `fabric.gidIndex`. `show_gids` on a machine lists them: 3 is RoCE v2 over IPv4 on most.",
	},
	{
		Code: FabricSettingUnused, Severity: Warning, Title: "a setting that means nothing on the fabric",
		Why: "Adapters, addresses and attachments are known to some kinds of fabric only. Who wrote the setting expects something that will not happen.",
		Do:  "Remove the setting, or correct `fabric.type`. On Ethernet, `networks` has a meaning when `interface` names one of them: `net1`, `net2`, ….",
	},
	{
		Code: HugePagesNotWhole, Severity: Error, Title: "half a huge page",
		Why: "A node of a job gets whole pages; Kubernetes refuses a pod that asks for a part of one.",
		Do:  "Write a multiple of `hugePages.size`.",
	},
	{
		Code: DeviceTwice, Severity: Error, Title: "a device is both accelerator and adapter",
		Why: "The scheduler counts each resource once, so that the pod would get one of the two numbers and none of the other devices.",
		Do:  "Name the resource of the network device plugin, for example `rdma/ib`.",
	},
	{
		Code: TopologyLevelTwice, Severity: Error, Title: "two topology levels are alike",
		Why: "A runtime names a level, and the level names a label. With two of one name either could be meant; two with one label are the same groups of machines.",
		Do:  "Rename or remove one of them.",
	},
	{
		Code: UnknownLevel, Severity: Error, Title: "a topology level that the profile does not have",
		Why: "Kueue places the nodes of a job by a label of machines, which only the level of the profile knows.",
		Do:  "Name a level of the profile, add one there, or remove `gang.within`.",
	},
	{
		Code: QueueingMissing, Severity: Error, Title: "a gang needs Kueue, and the cluster does not queue",
		Why: "Only Kueue admits whole jobs and places them by topology. Without it the pods start as they fit, and two large jobs may block each other forever.",
		Do:  "Add `queueing` to the cluster, or keep the runtime off it: by `capacity`, or with `gang.scheduler: None`.",
	},
	{
		Code: SchedulerMissing, Severity: Error, Title: "a gang scheduler that the cluster does not have",
		Why: "Pods for a scheduler that does not run there wait forever, without an error.",
		Do:  "Add it to `schedulers` of the cluster if it is installed, or choose another one.",
	},
	{
		Code: GangTimeout, Severity: Error, Title: "a gang waits too short or too long",
		Why: "Below a second no machine has pulled an image yet; for longer than an hour an incomplete gang would keep machines from everybody else.",
		Do:  "Write a time from `1s` to `1h`. `5m` is the default.",
	},
	{
		Code: UnknownPriority, Severity: Error, Title: "a priority that the cluster does not have",
		Why: "Kubernetes refuses pods whose PriorityClass does not exist. A cluster without any priority is different: there the runtime has none.",
		Do:  "Name a priority of the cluster, or add this one to `priorities`.",
	},
	{
		Code: ReservedPriority, Severity: Error, Title: "a priority has a reserved name",
		Why: "Names that begin with `system-` belong to the pods that keep a cluster alive. The API server refuses others with them.",
		Do:  "Choose another name.",
	},
	{
		Code: PriorityTwice, Severity: Error, Title: "two priorities are alike",
		Why: "A job has one priority: with two of one name, or two defaults, nobody could say which.",
		Do:  "Rename or remove one, or keep `default` in one of them.",
	},
	{
		Code: VolumeSource, Severity: Error, Title: "a volume is not one thing",
		Why: "A volume is either a claim, which outlives the job, or scratch, which goes with the pod. Scratch starts empty, so that read-only it would be of no use.",
		Do:  "Keep exactly one of `claim` and `scratch`, and `readOnly` with a claim only.",
	},
	{
		Code: VolumeTaken, Severity: Error, Title: "the name or the folder of a volume is taken",
		Why: "The agent, the key of the job, the hostfile and shared memory are mounted from volumes. A volume over them, " +
			"or two in one place, would hide what a job needs; so would a volume over the programs and libraries of the image, " +
			"such as `/usr/local`. At `/home`, and below `/opt` and `/etc`, a claim may bring homes, software or settings; an " +
			"empty folder of scratch hides what the image has.",
		Do: "Choose another name or another folder, for example `/data`.",
	},
	{
		Code: ClaimMissing, Severity: Error, Title: "a tenant lacks a claim that its runtime mounts",
		Why: "Pods wait forever for a PersistentVolumeClaim that does not exist. Runtimes of the catalog are shared, claims belong to tenants.",
		Do:  "Add the claim to `storage` of the tenant, for all of its namespaces, or leave the runtime out of its `runtimes`.",
	},
	{
		Code: SharedMemoryTooLarge, Severity: Error, Title: "shared memory takes all memory of a node",
		Why: "What is written to /dev/shm counts as memory of the pod. When both bounds are alike, a full /dev/shm gets the ranks killed.",
		Do:  "Lower `sharedMemory` of the profile, or raise `resourcesPerNode.memory` of the runtime.",
	},
	{
		Code: LifecycleIncomplete, Severity: Warning, Title: "the deprecation of a runtime is incomplete",
		Why: "Users are told that a runtime ends; without a successor they do not know where to move. On a runtime that is not deprecated nobody is told at all.",
		Do:  "Add `deprecation.successor`, or make `lifecycle` and `deprecation` agree.",
	},
	{
		Code: RetirementDue, Severity: Warning, Title: "a runtime should be retired by now",
		Why: "Users were told this day. A runtime that stays longer keeps an old library on the cluster, and nobody believes the next date.",
		Do:  "Set `lifecycle` to `Retired`, or give the runtime a later day.",
	},
	{
		Code: SuccessorUnfit, Severity: Warning, Title: "a successor to which nobody can move",
		Why: "Jobs move to a successor by changing one name. That works only with the same framework on the same kind of machine.",
		Do:  "Name another runtime, or leave `successor` out and say in `reason` what to do.",
	},
	{
		Code: TooManyVersions, Severity: Warning, Title: "more than two versions of one runtime",
		Why: "What is supported is the newest version and the one before. More are more to test, and users do not know which to take.",
		Do:  "Set `lifecycle` of the oldest to `Deprecated`, with the newest as its successor.",
	},
	{
		Code: TwoDefaults, Severity: Error, Title: "a tenant has two default runtimes",
		Why: "Tools offer one runtime first, and pick it for a job that names none.",
		Do:  "Keep `default` in one of them, or let them admit different tenants.",
	},
	{
		Code: VariantTooWide, Severity: Error, Title: "a variant allows more than the catalog",
		Why: "The bounds of a catalog runtime are the platform's decision; a tenant may only narrow them for itself.",
		Do:  "Write numbers within the bounds of the catalog runtime, or have those changed.",
	},
	{
		Code: VariantName, Severity: Error, Title: "the name of a variant is taken",
		Why: "A TrainJob names a runtime. With a catalog runtime of the same name, a mistake in the kind would start another image.",
		Do:  "Choose a name of the tenant's own, for example with the tenant's name before it.",
	},
	{
		Code: ImageSourceUnused, Severity: Warning, Title: "a mirror or a digest without an image",
		Why: "With a typing mistake there, images are pulled from where nobody meant, or by a tag that may move. It shows when a pull fails.",
		Do:  "Correct or remove it. References are compared as a spec writes them; images of charts are set by their values.",
	},
	{
		Code: LevelNotKept, Severity: Warning, Platform: true, Title: "a Pod Security level that does not hold",
		Why: "No level of the Pod Security Standards knows an exception for IPC_LOCK. In namespaces with jobs that pin memory an admission policy asks for `restricted` with that exception.",
		Do:  "Remove `podSecurity`, or leave the runtimes that pin memory to another tenant.",
	},
	{
		Code: TrainerReadsOtherwise, Severity: Warning, Title: "Kubeflow Trainer reads a runtime otherwise",
		Why: "On clusters with the executor `KubeflowTrainer` upstream's rules hold: one rank per node means one per GPU, and a job of one node gets a second pod when its launcher runs ranks.",
		Do:  "Write a number of slots other than 1, or `auto`; let the default job have two nodes, or the launcher run no ranks.",
	},
	{
		Code: NotPortable, Severity: Error, Title: "no job can be made of a runtime as it is meant",
		Why:       "Our controller refuses each job of a runtime without its two parts, their containers or `mlPolicy.mpi`, or whose default job has more nodes than it allows. Where the cluster's executor is `KubeflowTrainer`, stock Trainer would also start several launchers, lose the command of a TrainJob, or leave pods without the key of their job.",
		Do:        "Change the patch that did it. Without a patch it is a mistake in the compiler: please report it with the spec.",
		NoExample: "The compiler keeps these rules by itself: only a patch of the output can break one.",
	},
	{
		Code: PinnedMemoryUnguarded, Severity: Error, Title: "nothing guards namespaces with pinned memory",
		Why: "Pods that pin memory need IPC_LOCK, which `restricted` and `baseline` refuse. From Kubernetes 1.30 an admission policy enforces the rest of " +
			"`restricted` in their namespaces; before, nothing would.",
		Do: "Use Kubernetes 1.30 or later, or set `lockedMemory: Unlimited` where the machines' container runtime sets no limit.",
	},
	{
		Code: UnknownCohort, Severity: Error, Title: "a cohort that the cluster does not have",
		Why: "Kueue would make an empty cohort of that name without a word, and the tenant would lend to and borrow from nobody.",
		Do:  "Correct the name, or add the cohort to `queueing.cohorts` of the cluster.",
	},
	{
		Code: CohortCycle, Severity: Error, Title: "a cohort is its own ancestor",
		Why: "Kueue stops every queue below a circle of cohorts until the circle is gone.",
		Do:  "Take one `parent` out.",
	},
	{
		Code: CohortUnused, Severity: Warning, Title: "a cohort without members",
		Why: "Machines of a cohort that nobody is in are never used.",
		Do:  "Name the cohort in `queue.cohort` of tenants, or remove it.",
	},
	{
		Code: ShareNowhere, Severity: Error, Title: "a share of machines that are not there",
		Why: "The share promises nothing: no cluster of the repository, or not the cluster of the cohort, has machines of the profile.",
		Do:  "Add the profile to `capacity`, or remove the share.",
	},
	{
		Code: ShareElsewhere, Severity: Warning, Title: "a share of machines where the tenant does not work",
		Why: "The machines are on other clusters than those of the tenant, so the share has no effect.",
		Do:  "Add such a cluster to the tenant's `clusters`, or remove the share.",
	},
	{
		Code: QueueingWithoutCapacity, Severity: Error, Title: "a cluster queues and does not say what machines it has",
		Why: "Kueue admits jobs against numbers of machines. Without numbers there are no flavors, and no job is ever admitted.",
		Do:  "Add `capacity` with the number of machines per profile.",
	},
	{
		Code: QueuesNowhere, Severity: Warning, Title: "a queue that no cluster has",
		Why: "None of the tenant's clusters has `queueing`, so that the quota counts everything and the shares count nothing.",
		Do:  "Add `queueing` to a cluster of the tenant, or remove `queue`.",
	},
	{
		Code: RuntimeWithoutShare, Severity: Error, Title: "a named runtime without a share of its machines",
		Why: "Kueue admits a job only against a share of the machines that its nodes need. Jobs of this runtime would wait forever.",
		Do:  "Add a share of the profile, or leave the runtime out of `runtimes`.",
	},
	{
		Code: OfferedWithoutShare, Severity: Warning, Title: "an offered runtime without a share of its machines",
		Why: "The tenant names no runtimes, so that it is offered all that admit it; jobs of this one would wait forever.",
		Do:  "Add a share of the profile, or name the tenant's `runtimes`.",
	},
	{
		Code: LendsTooMuch, Severity: Error, Title: "a share lends more machines than it has",
		Why: "Kueue refuses a lending limit above the guaranteed number.",
		Do:  "Lower `lend`, or raise `nodes`.",
	},
	{
		Code: LimitWithoutCohort, Severity: Warning, Title: "a bound on borrowing or lending without a cohort",
		Why: "Nobody borrows from or lends to a queue that is alone. Kueue refuses such a bound, so it is not compiled.",
		Do:  "Remove it, or name the cohort.",
	},
	{
		Code: EmptyShare, Severity: Error, Title: "a share without machines",
		Why: "It has none of its own and nobody to borrow from: no job is ever admitted.",
		Do:  "Raise `nodes`, or name a cohort and let the share borrow.",
	},
	{
		Code: ShareTwice, Severity: Error, Title: "two shares of one profile",
		Why: "Kueue refuses a queue that lists a flavor twice.",
		Do:  "Add their nodes up in one share.",
	},
	{
		Code: UnknownStorageClass, Severity: Error, Title: "a storage class that the cluster does not have",
		Why: "The claim would wait for a volume forever, and with it every job that mounts it.",
		Do:  "Name one of `storageClasses` of the cluster, or none for the default one.",
	},
	{
		Code: ForeignClaim, Severity: Error, Title: "a claim in a namespace of somebody else",
		Why: "A tenant's claims belong into its own namespaces.",
		Do:  "Name one of the tenant's `namespaces`.",
	},
	{
		Code: ClaimTwice, Severity: Error, Title: "two claims with one name in a namespace",
		Why: "On the cluster there can be one only; the last one applied would win.",
		Do:  "Choose another name, or give them different `namespaces`.",
	},
	{
		Code: StorageQuotaTooSmall, Severity: Error, Title: "the storage quota is smaller than the tenant's own claims",
		Why: "The quota would refuse a claim that the same spec asks for.",
		Do:  "Raise `quota.storage`, or leave it out: then it is the sum of the claims.",
	},
	{
		Code: QuotaWithoutMeaning, Severity: Warning, Title: "a quota that no cluster counts",
		Why: "If a tenant queues, Kueue counts CPU, memory and accelerators by the shares of its queue. A ResourceQuota " +
			"for the same would refuse pods of jobs that Kueue has admitted, so it is not compiled. A quota of CPU or memory " +
			"must be written, and is reported if it is more than four times what the queue can get, or, without queues, what " +
			"the machines of the tenant's only cluster have.",
		Do: "Remove `quota.accelerators`, and lower `quota.cpu` and `quota.memory` to what the shares give. The shares set " +
			"how many machines the tenant gets.",
	},
	{
		Code: CohortTwice, Severity: Error, Title: "two cohorts with one name",
		Why: "On the cluster there can be one only; the last one applied would win.",
		Do:  "Put their shares into one.",
	},
	{
		Code: ProfilesAlike, Severity: Warning, Title: "machines of two profiles that Kueue cannot tell apart",
		Why: "Nothing keeps the pods of one profile off the machines of the other: no label that differs, no taint. A job is charged to and placed on the wrong machines as soon as its own are taken.",
		Do:  "Give the profile a `nodeSelector`, or the other one a taint and `tolerations`.",
	},
	{
		Code: LimitsNotEnforced, Severity: Warning, Platform: true, Title: "limits are not enforced in the cluster",
		Why: "ValidatingAdmissionPolicies, by which the API server refuses TrainJobs above the limits of runtimes and tenants, exist from Kubernetes 1.30 on.",
		Do:  "Use a newer version. Until then quotas still hold, and jobs that cannot run say so in their status.",
	},
	{
		Code: RangesUnknown, Severity: Warning, Platform: true, Title: "the addresses of the cluster are not known",
		Why: "A tenant may reach a range of private addresses. If it holds those of pods and Services it opens them all, those of the platform included, whatever policies say " +
			"about namespaces. Whether it does cannot be said. For OpenShift the ranges of its installer are assumed.",
		Do: "Write the ranges of pods and Services at `network.ranges` of the cluster: `kubectl cluster-info dump | grep -m2 -E 'cluster-cidr|service-cluster-ip-range'`, or the " +
			"settings of the network plugin.",
	},
	{
		Code: NetworkNotEncrypted, Severity: Error, Title: "a tenant requires encryption and the network has none",
		Why: "MPI traffic itself is clear. The tenant says that its traffic must not be, and the network of the cluster does not encrypt between machines.",
		Do:  "Leave the cluster out of the tenant's `clusters`, or switch encryption on in the network plugin and write it at `network.encryption` of the cluster.",
	},
	{
		Code: SecretInSpec, Severity: Error, Waivable: true, Platform: true, Title: "a secret is in a spec",
		Why: "Everybody who can read the repository, its history or the log of a pipeline has the secret. It cannot be taken back by a later commit.",
		Do:  "Take it out, replace it at its source because it is known now, and keep the new one in a Secret of the namespace. Where it is none, such as the key of an example, write a waiver with the reason into the spec of the cluster, with the path of the file at `about`.",
	},
	{
		Code: StoreNotReachable, Severity: Warning, Title: "the object store cannot be reached",
		Why: "Namespaces are closed; the tenant's `network.egress` opens nothing that leads to the endpoint of its object store. Jobs would wait for an answer until they time out.",
		Do:  "Add the range of the store and its port, or its pods, to `network.egress`.",
	},
	{
		Code: WaiverExpired, Severity: Error, Title: "a waiver has expired",
		Why: "A waiver is an exception with an end. The finding that it accepted is a finding again.",
		Do:  "Put right what it was for and remove the waiver, or decide again and write a new last day.",
	},
	{
		Code: WaiverExpiresSoon, Severity: Warning, Title: "a waiver expires soon",
		Why:       "In 30 days or less the finding that it accepts stops the build.",
		Do:        "Put right what it is for and remove the waiver, or decide again and write a later last day.",
		NoExample: "It depends on the day. A test of package waive shows it.",
	},
	{
		Code: WaiverUnused, Severity: Warning, Title: "a waiver matches nothing",
		Why: "What it accepted is gone, or it has a mistake in it. Left in place it would accept the next finding that happens to match.",
		Do:  "Remove it, or correct `code` and `about`: a finding matches when its message names the word and it is about the document of the waiver, or about the cluster of the waiver.",
	},
	{
		Code: NotWaivable, Severity: Error, Title: "a finding that cannot be waived here",
		Why: "Either the output would be wrong, and somebody's decision does not change that: only warnings, and the rules and proofs whose page says so, can be waived. " +
			"Or the waiver is in the spec of whoever gains by it: what tenants accept at the expense of others is accepted by the spec of a cluster only.",
		Do: "Put right what the code is about and remove the waiver, or ask the platform team to write it at `waivers` of the cluster.",
	},
	{
		Code: WaiverTooLong, Severity: Error, Title: "a waiver that holds for too long",
		Why: "What only the spec of a cluster may accept is an exception from what tenants are promised. It holds for at most 366 days, so that somebody decides again once a year.",
		Do:  "Write an earlier last day.",
	},
	{
		Code: RepositoryNeedsSecret, Severity: Error, Title: "Flux cannot read the repository without a key",
		Why: "The source of all stages would never become ready, and nothing would be applied to the cluster.",
		Do: "Make a Secret with the private key and the host's key in the namespace of Flux, and name it in `gitops.secret`. Public repositories can " +
			"be read by https.",
	},
	{
		Code: EngineSettingIgnored, Severity: Warning, Title: "the GitOps engine does not look at a setting",
		Why: "Whoever wrote it expects an effect that will not come. Argo CD keeps credentials and its interval in settings of its own.",
		Do:  "Remove the setting, and make it in Argo CD.",
	},
	{
		Code: TenantWithoutQueue, Severity: Error, Waivable: true, Platform: true, Title: "a tenant passes the queues of a cluster",
		Why: "Kueue holds back the jobs of those who queue, and guarantees machines to them. The pods of a tenant without a queue are only counted by its quota: they start at " +
			"once, on machines that are guaranteed to others, and nobody may stop them.",
		Do: "Give the tenant a `queue` with shares of the cluster's machines; a share of 0 machines in a cohort takes only what others leave. For a tenant that runs beside the " +
			"queues on purpose, write a waiver into the spec of the cluster.",
	},
	{
		Code: ContradictsCluster, Severity: Error, Waivable: true, Title: "a component contradicts its cluster",
		Why: "`mode` of mpi-controller follows from `executor`, who may read its metrics from `monitoring`, and on OpenShift its user from the platform. " +
			"With another mode nobody would run TrainJobs, or two controllers would; Prometheus would read nothing; no pod of the controller would start.",
		Do: "Remove the value: the compiler gives the chart what the cluster says.",
	},
	{
		Code: VariantNowhere, Severity: Warning, Title: "no cluster has the runtime of a variant",
		Why: "A variant is compiled where its runtime is. A tenant with several clusters may have it on some of them only; where none has machines of the runtime's profile, nothing is " +
			"made of it, and jobs that name it are refused. With `--cluster` this is not judged, because the other clusters of the tenant are not planned: run `check` without it.",
		Do: "Remove the variant, choose a runtime that a cluster of the tenant has, or add the profile to `capacity` of one.",
	},
	{
		Code: ExternalRuntimeNotRun, Severity: Error, Waivable: true, Title: "nobody runs the jobs of a runtime",
		Why: "Jobs of runtimes that others installed are run by Kubeflow Trainer. With the executor `Bundled` there is none: mpi-controller runs MPI runtimes, and leaves all others alone. " +
			"The API server would take such a TrainJob, and nothing would become of it.",
		Do: "Use the executor `KubeflowTrainer` where Trainer runs, or remove the runtime, for one cluster by a patch in its overlay. Waive it for a runtime with `mlPolicy.mpi`: mpi-controller runs that.",
	},
	{
		Code: ExternalRuntimeIsOurs, Severity: Error, Title: "a compiled runtime among those of others",
		Why: "Of runtimes that others installed nothing is known, so that their jobs have no bounds of nodes, ranks and machines. A runtime of the catalog would lose those that it has.",
		Do:  "Name it in `runtimes`.",
	},
	{
		Code: NoTrainJobController, Severity: Warning, Title: "no controller runs the jobs of a cluster",
		Why: "Without `executor: KubeflowTrainer` mpi-controller runs the TrainJobs. On a cluster without it each of them waits forever, and nothing says why.",
		Do:  "Add the chart of mpi-controller to `components`. Where it is installed otherwise, name its namespace in `controller.namespace`; where Kubeflow Trainer runs the jobs, set `executor: KubeflowTrainer`.",
	},
	{
		Code: MoreNodesThanMachines, Severity: Error, Title: "the default job needs more machines than there are",
		Why: "A TrainJob that says nothing about nodes gets the default of its runtime. Where the cluster has fewer machines, it waits forever.",
		Do:  "Lower `nodes.default` of the runtime, or correct `capacity` of the cluster.",
	},
	{
		Code: ClaimOfOneMachine, Severity: Warning, Title: "several nodes mount a volume of one machine",
		Why: "A `ReadWriteOnce` volume is attached to one machine at a time. The pods of a job on other machines wait for it until the job gives up.",
		Do:  "Use `ReadWriteMany` with a storage class that has it, or a runtime of one node. Where the class does share such volumes, write a waiver with the reason.",
	},
	{
		Code: BadToleration, Severity: Error, Title: "a toleration that no pod may have",
		Why: "The API server refuses pods with it, so that no job on these machines would ever have one.",
		Do:  "Write the key of the taint as `kubectl describe node` shows it before the `=` or the `:`, and a value with `operator: Equal` only.",
	},
	{
		Code: EngineTooOld, Severity: Error, Title: "a GitOps engine that is too old",
		Why: "What is compiled has fields that older versions do not know: the API server would refuse the engine's objects, or drop the fields and apply in another order.",
		Do:  "Upgrade the engine, and write its minor version at `gitops.version`.",
	},
	{
		Code: SettingInVain, Severity: Warning, Title: "a setting without effect",
		Why: "What is compiled is the same without it, or does nothing on this cluster. Whoever wrote it believes that it counts.",
		Do: "Remove it, or write what it takes to have an effect: a variant of a runtime for `objectStore`, devices that machines have in `quota.accelerators`, addresses that the pods of the cluster can have for `egress`. " +
			"Two cases are left out because they may be meant: a range of `egress` within a wider one, which stays when the wider one goes, and a `borrow` above what a cohort lends today, because neighbours come and go.",
	},
	{
		Code: VariableNotFilledIn, Severity: Warning, Title: "a variable in a value that nobody fills in",
		Why: "Kubernetes puts the values of variables that are set before into `$(NAME)`, and leaves all else as it is. No shell reads the values of variables: `$HOME` stays those five letters.",
		Do:  "Write `$(NAME)` for a variable that the spec sets before, or the value itself. What the image has, such as HOME, can be used in the command of a TrainJob.",
	},
	{
		Code: TreeNotFound, Severity: Warning, Title: "a place where the GitOps engine finds nothing",
		Why: "Flux looks for a branch of the name in `revision`, whatever it looks like, and engines look in the folder `path` with the name of the cluster added. A page of a forge is no repository. Where there is nothing, nothing is applied.",
		Do:  "Write the branch that holds the compiled tree, and the folder that holds the folders of all clusters.",
	},
	{
		Code: SlotsAboveCores, Severity: Warning, Title: "more ranks than cores",
		Why: "Open MPI and others bind each rank to a core of its own, and refuse to start more ranks than there are cores, or let them wait for each other.",
		Do:  "Lower `slotsPerNode`, or correct the cores of the profile. Where ranks shall share cores, set the MPI's own variables for it and write a waiver.",
	},
	{
		Code: NoSuchMachines, Severity: Error, Title: "labels that no machine for jobs has",
		Why: "Pods of jobs wait forever where no machine has the labels that their profile selects: Linux machines have `kubernetes.io/os: linux`, the agent is built for amd64 and arm64, and a host name is that of one machine.",
		Do:  "Use labels that all machines of the profile have.",
	},
	{
		Code: ReceiverAddress, Severity: Error, Title: "a receiver of alerts without an address, or with two",
		Why: "A receiver that says neither `email` nor `slack` nor `webhook` is told nothing. A webhook is called at one URL: the one that is written, or the one in a Secret.",
		Do:  "Add a way by which the receiver is told, and keep exactly one of `url` and `secret` of a webhook.",
	},
	{
		Code: ReceiverTwice, Severity: Error, Title: "two receivers of alerts with one name",
		Why: "Each becomes an AlertmanagerConfig of its name in the tenant's namespaces. There can be one only; the last one applied would win.",
		Do:  "Choose another name, or put both into one receiver.",
	},
	{
		Code: ReceiverInTheClear, Severity: Warning, Title: "alerts go over the network unencrypted",
		Why: "An alert names the tenant's jobs and what became of them. Over plain http everybody on the way reads it, and nothing proves who receives it.",
		Do:  "Let the receiver answer by https. Where it runs beside Alertmanager in the cluster, accept it with a waiver.",
	},
	{
		Code: ValueNotKnown, Severity: Warning, Title: "a value that its reader does not know",
		Why: "Most programs pass over a value that they do not know without a word, so that a job runs with other settings than its author believes: NCCL reads `4M` as 4, and `true` as nothing. " +
			"Others do not start: Open MPI ends a job that asks for a missing component, such as the launcher of Slurm. " +
			"Some programs read more than others: a proxy without a scheme is one for curl, and none for gRPC.",
		Do: "Write what the message says. Where a program of yours does know the value, write a waiver with the reason.",
	},
	{
		Code: EngineNotKnown, Severity: Warning, Title: "a version of a GitOps engine that is not known here",
		Why: "What is compiled depends on what the engine understands. Of a major version that is not known here it is assumed that it understands what the newest known one does; most often it is the version of the other engine.",
		Do:  "Write the version of the engine that is installed, or use a newer compiler.",
	},
	{
		Code: CertificationStale, Severity: Warning, Title: "a runtime has changed since it was certified",
		Why: "A certification says that a probe ran well in pods of this image, agent, environment and machines. With other pods nobody has tried it. The label `lockstep.dev/certified` of the runtime says `stale`.",
		Do:  "When the change is on the cluster, run `kubectl mpi certify` again and replace the entry, or remove it.",
	},
	{
		Code: CertifiedNotHere, Severity: Error, Title: "a certification of a runtime that is not on the cluster",
		Why: "A certification becomes a label of the ClusterTrainingRuntime on the cluster that was tested. A runtime that is retired, or whose machines the cluster does not have, is not compiled for it.",
		Do:  "Remove the entry, or add the profile of the runtime to `capacity`.",
	},
	{
		Code: CertifiedTwice, Severity: Error, Title: "two certifications of one runtime",
		Why: "The label of a runtime has one day. The newer test replaces the older one.",
		Do:  "Keep the newer entry.",
	},
	{
		Code: AccountOfPlatform, Severity: Error, Title: "an account cannot have a role of a tenant",
		Why: "Pods that name no account have the one called `default`, and pods of jobs have `mpi` or `mpi-rdma`: a role of these is a role of every job and every program there. Accounts of Kubernetes, of operators and of the platform act for all tenants; with a role they could be led to act for one.",
		Do:  "Make an account for the program, in a namespace for it or for the tenant, and name that.",
	},
	{
		Code: AccountOfOthers, Severity: Warning, Title: "an account of another tenant has a role",
		Why: "Who may start pods in the namespace of an account, or may request its token, has what the account has: people of another tenant, or its admins at least.",
		Do:  "Name an account of a namespace that belongs to this tenant or to no tenant, or accept it with a waiver.",
	},
	{
		Code: EgressUnclear, Severity: Error, Title: "an egress has no destination, or several",
		Why: "With a range of addresses, pods and a service in one egress, it is open which of them has the ports.",
		Do:  "Write one of `cidr`, `namespace` and `service`. Only `namespace` has `podLabels`; a service has its own ports.",
	},
	{
		Code: UnknownService, Severity: Error, Title: "a service that the cluster does not have",
		Why: "Tenants reach a service by a name that the cluster gives to its pods and ports.",
		Do:  "Correct the name, add the service to `network.services` of the cluster, or name `namespace` and `podLabels`.",
	},
	{
		Code: ServiceTwice, Severity: Error, Title: "two services of a cluster have one name",
		Why: "A tenant that names the service would reach the pods of one of them only.",
		Do:  "Choose another name.",
	},
	{
		Code: SecretsUnguarded, Severity: Error, Title: "nothing keeps writers of Secrets from reading them",
		Why: "Answers to some deletions hold the Secret. An admission policy refuses these from Kubernetes 1.30 on.",
		Do:  "Use Kubernetes 1.30 or later, or remove `people.secrets`.",
	},
	{
		Code: UnknownSecretStore, Severity: Error, Title: "a secret store that the cluster does not have",
		Why: "External Secrets Operator would wait for the store, and jobs for the Secret.",
		Do:  "Correct the name, or add the ClusterSecretStore to `secretStores` of the cluster.",
	},
	{
		Code: StoredSecretTwice, Severity: Error, Title: "two Secrets of a tenant have one name",
		Why: "Each becomes an ExternalSecret of its name in the tenant's namespaces. There can be one only.",
		Do:  "Choose another name.",
	},
	{
		Code: Contradiction, Severity: Warning, Title: "two values of the specs contradict each other",
		Why: "Both are valid alone, and one of them is wrong: DNS of OpenShift without its port, an interface for NCCL " +
			"that the fabric does not have, one rank number for all ranks, an image of another MPI, a time limit that " +
			"ends before a gang is complete, a cache in a volume that can only be read, a bound of the history above the " +
			"claim, a commit that arrives after days, a scrape each second. Jobs hang or fail in ways that look like " +
			"faults of the network.",
		Do: "Correct the value that the message names. A variable that is meant has a `reason`; for other values that " +
			"are meant, write a waiver.",
	},
	{
		Code: RanksWithoutDevices, Severity: Warning, Title: "ranks and devices of a node do not match",
		Why: "With fewer ranks than devices some stay idle, with more NCCL refuses to start. The device plugin sets " +
			"`NVIDIA_VISIBLE_DEVICES` to the devices of the pod: `all` shows it other tenants' devices, too. A fixed " +
			"`CUDA_VISIBLE_DEVICES` puts all ranks on the same device.",
		Do: "Write `slotsPerNode: auto` and leave the variables out. A variable that is meant has a `reason`; if a rank " +
			"drives several devices, write a waiver.",
	},
	{
		Code: WrongProtocol, Severity: Warning, Title: "a port is open for the wrong protocol",
		Why: "Packets of the other protocol are dropped, and programs wait until they give up. Object stores and file " +
			"servers speak TCP, clocks UDP, and names are asked for by UDP first. Ports of programs of your own are not judged.",
		Do: "Write the `protocol` of the service, or both as two items. If a service differs, write a waiver.",
	},
	{
		Code: NotAGroup, Severity: Warning, Title: "what is hardly the name of a group",
		Why: "The name is compared with the groups in a user's token. A mail address is a person's most often, and a " +
			"placeholder no one's: the tenant has a role without people. If all groups have addresses, none is reported.",
		Do: "Write the name that the identity provider has, or `{user: NAME}` for one person.",
	},
	{
		Code: BadTemplate, Severity: Error, Title: "a template that cannot be submitted",
		Why: "Users begin with a template and expect that it runs. It is one TrainJob without a namespace, with a " +
			"runtime of the catalog or a tenant's variant, and it is judged as `kubectl mpi validate` does, against the " +
			"compiled runtime of each cluster, patches included.",
		Do: "Correct the TrainJob. `kubectl mpi validate -f` shows the same findings.",
	},
	{
		Code: TemplateUnused, Severity: Warning, Title: "a template without users",
		Why: "A template is compiled into the namespaces of the tenants that can use its runtime. If the runtime is " +
			"retired, has no machines on any cluster, or admits no tenant, it is compiled into none.",
		Do: "Let the template name another runtime, or remove it.",
	},
	{
		Code: KueueAPINotServed, Severity: Error, Title: "Kueue does not serve the version of its API",
		Why: "Kueue serves v1beta1 before version 0.20, and v1beta2 from 0.15 on. The API server refuses all queues of " +
			"another version, and the GitOps engine stops there.",
		Do: "Remove `apiVersion` of `queueing`: it follows from `version`. Or correct `version`: the image of Kueue's " +
			"controller has it, and Red Hat build of Kueue 1.3 is Kueue 0.16.",
	},
	{
		Code: KueueAPIGoes, Severity: Warning, Title: "a version of Kueue's API that goes",
		Why: "v1beta1 is deprecated since Kueue 0.16. In August 2026 the project decided that 0.20 no longer serves it, " +
			"and that 0.21 drops it. After that upgrade the API server refuses compiled queues of v1beta1. Objects that " +
			"are stored in it must be migrated before.",
		Do: "Write the installed `version` of Kueue: from 0.15 on v1beta2 is compiled, and the same queues stay. Before " +
			"the upgrade to 0.20 run Kueue's own script `hack/migrate-to-v1beta2.sh`. Before 0.15, upgrade to a version " +
			"from 0.15 to 0.19 first.",
	},
	{
		Code: ChartNotFound, Severity: Error, Title: "a chart does not exist",
		Why: "Charts are folders of the repository; nothing is downloaded.",
		Do:  "Correct the path, or add the chart to the repository.",
	},
	{
		Code: ChartFails, Severity: Error, Title: "a chart cannot be loaded or rendered",
		Why: "Helm refuses the chart or its values.",
		Do:  "Correct the chart, or the `values` of the component. `helm template` shows the same error.",
	},
	{
		Code: ChartOutput, Severity: Error, Title: "a chart renders something that is not a Kubernetes object",
		Why: "Every document must be a mapping with apiVersion, kind and metadata.name; the GitOps engine would stop at any other.",
		Do:  "Correct the template. Empty documents are fine.",
	},
	{
		Code: ChartHook, Severity: Warning, Title: "a Helm hook is left out",
		Why: "Hooks run during `helm install`, and nothing runs them where manifests are synced.",
		Do:  "Turn the hook into an ordinary object, or switch it off in the values.",
	},
	{
		Code: ObjectCollision, Severity: Error, Title: "two objects have one identity",
		Why: "Kind, namespace and name are the same: on the cluster the last one applied would win.",
		Do:  "Rename one, or switch it off in the values of the chart.",
	},
	{
		Code: RenderFails, Severity: Error, Title: "an object cannot be built",
		Why:       "The values passed all checks and still do not make an object: a check is missing in the compiler.",
		Do:        "Please report it with the spec.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, and a check would be added for it.",
	},
	{
		Code: ChartNotReproducible, Severity: Error, Title: "a chart is not reproducible",
		Why: "It calls a function whose result changes from run to run or from machine to machine, so the output would differ although no input did, and every " +
			"review would show changes that nobody made.",
		Do: "Take the function out of the template, for example read a generated password from a Secret.",
	},
	{
		Code: ValueNotRead, Severity: Warning, Title: "a value that no template of its chart reads",
		Why: "Helm takes any value and says nothing: the chart renders as if it were not there. Values are looked for in the text of all templates, those of dependencies included; where a template reads all that is around the value, " +
			"as `toYaml .Values.resources` does, or the chart has a packed dependency, nothing is said.",
		Do: "Write the key that the chart has in its `values.yaml`, or remove it.",
	},
	{
		Code: PatchFile, Severity: Error, Title: "a kustomization or a patch cannot be read",
		Why: "A patch that is skipped would leave the cluster as it was, and nobody would notice.",
		Do: "Correct the place shown. A kustomization is one mapping of `kustomize.config.k8s.io/v1beta1`; a patch is a mapping (strategic merge) or a list of " +
			"operations (JSON patch, which needs a `target`).",
	},
	{
		Code: PatchFieldRefused, Severity: Error, Title: "a field of a kustomization that cannot be used here",
		Why: "Objects refer to each other by name, namespace and labels: transformers that change these would break references without an error. Generators, " +
			"plugins and remote bases would make the result depend on more than the repository.",
		Do: "Use `resources`, `patches`, `labels`, `commonAnnotations`, `replicas`, `images` and `replacements`, or change the spec that the value comes from.",
	},
	{
		Code: PatchFileMissing, Severity: Error, Title: "a kustomization names a file that is not in its folder",
		Why: "Only files of the cluster's own folder are read: no folders, no links that lead out of it, and nothing from the network.",
		Do:  "Put the file beside the kustomization, or correct its name.",
	},
	{
		Code: PatchFails, Severity: Error, Title: "a patch cannot be applied",
		Why: "The object is not what the patch expects, for example because a path does not exist (any more). Applied in part it would be an object that nobody " +
			"reviewed.",
		Do: "Compare the path with the compiled object, and remember that a JSON patch counts items of lists from 0.",
	},
	{
		Code: PatchMatchesNothing, Severity: Error, Title: "a patch is for nothing",
		Why: "Kustomize skips such a patch in silence: after an object was renamed, what the patch was written for is simply no longer done.",
		Do:  "Correct the target, or remove the patch. Each part of a target is a regular expression for the whole text.",
	},
	{
		Code: PatchChangesNothing, Severity: Warning, Title: "a patch changes nothing",
		Why: "The compiled objects have the patched values already: the patch is left over, or one of its values is not what its author meant.",
		Do:  "Remove the patch, or correct it.",
	},
	{
		Code: PatchRenames, Severity: Error, Title: "a patch renames an object",
		Why: "Roles, quotas, policies and tools refer to objects by kind, name and namespace, and their references would lead nowhere.",
		Do:  "Change the spec that the name comes from.",
	},
	{
		Code: PatchResource, Severity: Error, Title: "a resource is not an object for a cluster",
		Why: "`resources` adds objects as they are. Specs among them would be compiled for no cluster, and secret material would be readable for everybody who can " +
			"read the repository.",
		Do: "Give every document `apiVersion`, `kind` and `metadata.name`. Put specs into catalog/ and tenants/, and let something in the cluster make Secrets.",
	},
	{
		Code: PatchedSpec, Severity: Error, Title: "a patch is for a spec that a program computes",
		Why:       "What the program computes has no lines of its own that a patch could change, and no place to which a mistake could be traced.",
		Do:        "Let the program compute what differs between clusters, or write the spec in YAML.",
		NoExample: "It takes a spec in Jsonnet, which a process of its own evaluates.",
	},
	{
		Code: PatchReplaced, Severity: Warning, Title: "what a patch writes is replaced by a later one",
		Why: "Patches are applied in their order, and the last value counts. No object has the earlier one, so its author " +
			"believes in a value that is nowhere. A patch for many objects and a later one for some of them is not reported.",
		Do: "Remove one of the two, or correct the path of one.",
	},
	{
		Code: ForeignFile, Severity: Error, Title: "a file is in the way",
		Why:       "The output folder holds a file that the compiler did not write, at a path that it needs. It is never overwritten.",
		Do:        "Move the file away, or remove it if it is stale.",
		NoExample: "It depends on the output folder: `runtime-compiler build` reports it where, for example, `dist/<cluster>/platform/platform.yaml` was made by hand.",
	},
	{
		Code: CapacityExceeded, Severity: Error, Title: "more machines are guaranteed than there are",
		Why: "Kueue does not compare queues with machines: it would admit jobs whose pods never start. What a cohort has itself comes on top of the shares of its members.",
		Do:  "Lower `nodes` of a share, or raise `capacity` of the cluster.",
	},
	{
		Code: QuotaOutOfScale, Severity: Error, Title: "a queue with parts of machines",
		Why:       "The amounts of a flavor must be those of one number of whole machines. Amounts of different scale, such as `64` beside `64Gi` of memory, let a member of a cohort borrow billions of bytes.",
		Do:        "Change the number of machines in the spec, not single amounts in a patch.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: LimitRefused, Severity: Error, Title: "a bound that Kueue refuses",
		Why:       "Limits on borrowing and lending need a cohort, and a lending limit is at most what the queue has.",
		Do:        "Look at the patch that changes the queue.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: NotCovered, Severity: Error, Title: "a runtime requests what the queue does not cover",
		Why:       "Kueue never admits a job with a request for a resource that the queue of its tenant does not list.",
		Do:        "Add a share of the runtime's profile, or look at the patch that changes the queue.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: CountedTwice, Severity: Error, Title: "a resource is counted twice",
		Why:       "A ResourceQuota and a ClusterQueue that both count a resource disagree one day: Kueue admits the job and the quota refuses its pods (https://github.com/kubernetes-sigs/kueue/issues/1403).",
		Do:        "Look at the patch that changes the quota.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: LimitsRefuseRuntime, Severity: Error, Title: "container limits refuse a runtime",
		Why:       "The API server would refuse the pods of every job of the runtime, or the LimitRange itself.",
		Do:        "Raise the maximum in `limits` of the tenant.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: DefaultJobDoesNotFit, Severity: Error, Title: "the default job never fits the queue",
		Why: "A job that asks for nothing gets the runtime's default number of nodes. It needs more than the tenant's share and all that it may borrow, so that it would wait forever.",
		Do:  "Raise `nodes` or `borrow` of the share, or lower `nodes.default` of the runtime.",
	},
	{
		Code: LargestJobDoesNotFit, Severity: Warning, Title: "the largest job never fits the queue",
		Why: "The runtime allows more nodes than the tenant can ever have at one time: its share and all that it may borrow. A job of that size would wait forever.",
		Do:  "Raise `nodes` or `borrow` of the share, or narrow `nodes.max` for the tenant with a variant.",
	},
	{
		Code: QuotaRefusesJob, Severity: Error, Title: "the quota refuses what the spec offers",
		Why: "The default job of a usable runtime, or a claim of the tenant, is more than a namespace may hold.",
		Do:  "Raise the quota, or lower `nodes.default` of the runtime.",
	},
	{
		Code: Overcommitted, Severity: Warning, Title: "quotas promise more devices than there are",
		Why: "The quotas of all namespaces add up to more devices than the cluster's machines have. When all use theirs, jobs wait without a queue that says for whom. CPU and memory are not compared: teams share them all the time; `runtime-compiler plan` shows them.",
		Do:  "Lower the quotas, switch `queueing` on so that jobs wait in order, or accept it with a waiver.",
	},
	{
		Code: QueueUnreachable, Severity: Error, Title: "a queue that jobs cannot reach",
		Why:       "A namespace without its LocalQueue, a queue that does not select the namespace, a flavor whose labels or taints keep the runtime's pods off, a missing flavor, topology or cohort: jobs would wait forever.",
		Do:        "Look at the patch that changes the objects of Kueue.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: Unfaithful, Severity: Error, Title: "an object does not say what its spec says",
		Why:       "Whom a queue serves and may preempt, how many machines it has, which machines a flavor means, what a namespace and a container may take and how urgent a priority is are promises; the compiled object says something else.",
		Do:        "Change the spec, with a patch of the spec where it is for one cluster only, instead of the compiled object.",
		NoExample: "A spec that shows this code would be a mistake in the compiler, or needs a patch of compiled objects: checks report what specs can do wrong.",
	},
	{
		Code: EnforcementWeakened, Severity: Error, Waivable: true, Title: "a patch changes what the cluster refuses",
		Why: "Admission policies, their bindings, constraints of OpenShift, and labels and annotations of namespaces make the cluster refuse what specs do not allow, and the wiring of the GitOps engine says whose rights hold. A binding " +
			"that is gone or says `Audit` lets everything through, and nobody who reviews specs sees it. Whether a change weakens or tightens cannot be decided in general, so that " +
			"every change counts.",
		Do: "Change the spec from which the value follows, or remove the patch. Where it is meant, write a waiver into the spec of the cluster.",
	},
	{
		Code: PodsRefused, Severity: Error, Title: "pods that their namespace does not admit",
		Why: "A patch, a chart or `resources` makes pods that ask for more than the Pod Security Standard of their namespace allows, for example the network of their machine. " +
			"The API server accepts a Deployment or a runtime with a warning at most, and refuses its pods: nothing of it would ever start.",
		Do: "Take it out of the patch, or change the values of the chart. A chart of the platform that needs more has a namespace of its own, whose label a patch can change; that takes a waiver for LS7013.",
	},
	{
		Code: NamespaceNotClosed, Severity: Error, Title: "a namespace of a tenant is not closed",
		Why:       "Pods that no NetworkPolicy selects may speak with everybody, those of other tenants included.",
		Do:        "Look at what removes or narrows the policy `lockstep-default-deny`.",
		NoExample: "A spec that shows this code would be a mistake in the compiler: its own policies and roles are built from the spec. The proof is there to notice.",
	},
	{
		Code: TenantsConnected, Severity: Error, Waivable: true, Title: "tenants can reach each other",
		Why:       "One policy opens the way out of a namespace and another one the way into that of another tenant. Isolation is promised to both.",
		Do:        "Remove one of both openings, and exchange data through storage outside of the cluster.",
		NoExample: "Only charts and patches can show it, and together with other codes: each opening that a spec does not have is one of its own.",
	},
	{
		Code: OpenOnOneSide, Severity: Warning, Title: "one side of a way between tenants is open",
		Why:       "Today the policies of the other side close it. The next opening there, made by somebody who does not see this one, connects both tenants.",
		Do:        "Select the namespaces that are meant by name.",
		NoExample: "Only charts and patches can show it, and together with other codes: each opening that a spec does not have is one of its own.",
	},
	{
		Code: OpensMore, Severity: Error, Waivable: true, Title: "a policy opens more than the spec says",
		Why: "Policies add up: one more policy, made by a chart or a patch, opens what the reviewer of the spec does not see.",
		Do:  "Write what is needed at `network` of the tenant, and leave the policy out of the chart.",
	},
	{
		Code: OpensLess, Severity: Error, Title: "a policy opens less than the spec says",
		Why:       "The tenant was promised a way that is closed: jobs would time out.",
		Do:        "Look at what changes the policies of the namespace.",
		NoExample: "A spec that shows this code would be a mistake in the compiler: its own policies and roles are built from the spec. The proof is there to notice.",
	},
	{
		Code: ClusterRangeOpen, Severity: Warning, Title: "a range holds addresses of the cluster",
		Why: "Ranges are for what is outside. One that holds the addresses of pods and Services opens them all, whatever selectors say, and one that holds those of a machine means nothing good.",
		Do:  "Name the ranges outside of the cluster that are needed.",
	},
	{
		Code: SelectorTooWide, Severity: Warning, Title: "a policy lets in more than it means",
		Why: "An empty selector selects everything, and the labels of pods are given by whoever makes them: tenants too. Neither keeps anybody out.",
		Do:  "Select the namespace by `kubernetes.io/metadata.name`, which only the API server sets.",
	},
	{
		Code: DNSNotReachable, Severity: Error, Title: "pods cannot ask the DNS of the cluster",
		Why:       "Nearly all programs begin with a name.",
		Do:        "Look at `network.dns` of the cluster, and at what changes the policy `lockstep-dns`.",
		NoExample: "A spec that shows this code would be a mistake in the compiler: its own policies and roles are built from the spec. The proof is there to notice.",
	},
	{
		Code: NetworkNotProvable, Severity: Error, Waivable: true, Title: "a NetworkPolicy cannot be read",
		Why:       "What it opens is unknown, and the API server would refuse it or read it in its own way.",
		Do:        "Write it as Kubernetes documents it: known operators, CIDRs, protocols and ports.",
		NoExample: "The API server refuses such a policy, so that another code is there as well.",
	},
	{
		Code: PodsInMesh, Severity: Error, Waivable: true, Title: "pods of jobs get into the service mesh",
		Why: "Pods of runtimes refuse Istio's sidecar and its ambient mode by the labels `sidecar.istio.io/inject: \"false\"` and `istio.io/dataplane-mode: none`, which win over the labels of a namespace. " +
			"A patch has taken one of them away in a namespace with `istio-injection: enabled`, `istio.io/rev` or `istio.io/dataplane-mode: ambient`, or makes pods ask for the mesh. A sidecar blocks the launch and does not end with the job; " +
			"ambient mode takes every connection of the ranks through a proxy of the machine, which costs time and breaks connections when it is replaced, and to port 15008, which policies that open another port do not open. " +
			"Namespaces may have these labels, for other pods. Not seen are labels that somebody gives a namespace or a TrainJob in the cluster, and selectors of an injector or of Istio's CNI plugin that are not the defaults.",
		Do: "Leave the labels on the pods, or take that of the namespace away.",
	},
	{
		Code: BeyondRole, Severity: Error, Waivable: true, Title: "somebody of a tenant may do too much",
		Why: "People of a tenant run jobs. They do not write runtimes, quotas, policies, roles or namespaces, read no Secrets, and have nothing in the namespaces of others: each of these is a way around what a reviewer approved.",
		Do:  "Take the rule out of the role, or bind the role to somebody else.",
	},
	{
		Code: OutsideSubjectBound, Severity: Error, Waivable: true, Title: "an outside subject has rights in a namespace of a tenant",
		Why: "The spec of the tenant lists who may do what. A binding that a chart adds beside it is seen by nobody who reviews the spec.",
		Do:  "Write the group at `people` of the tenant, or leave the binding out of the chart.",
	},
	{
		Code: RoleMissing, Severity: Error, Title: "people of a tenant lack their role",
		Why:       "The spec gives them a role and no binding does, or its role has less than promised.",
		Do:        "Look at what changes the bindings of the namespace.",
		NoExample: "A spec that shows this code would be a mistake in the compiler: its own policies and roles are built from the spec. The proof is there to notice.",
	},
	{
		Code: EverybodyBound, Severity: Error, Waivable: true, Title: "everybody gets rights",
		Why: "The groups that begin with `system:` are Kubernetes' own, such as the one with everybody in it, or with all pods of a namespace.",
		Do:  "Bind the role to a group of people or to one service account.",
	},
	{
		Code: AccessNotProvable, Severity: Error, Waivable: true, Title: "it is not known what a role allows",
		Why: "A role that is neither compiled nor known by name is bound to people of a tenant, or a role cannot be read. Whether it keeps them apart cannot be said.",
		Do:  "Put the role into a chart of the repository, or bind a role that is.",
	},
	{
		Code: ControllerBeyondChart, Severity: Error, Waivable: true, Title: "mpi-controller has other rights than its chart declares",
		Why: "The roles of the controller hold what running jobs takes, Secrets included. Nobody else may have them, and the controller nothing beside them.",
		Do:  "Remove the binding.",
	},
	{
		Code: AggregatesTooMuch, Severity: Error, Waivable: true, Title: "a role adds too much to the roles of the platform",
		Why: "By its labels the role becomes a part of `view`, `edit` or `admin` of the cluster, and everybody with one of these gets its rules.",
		Do:  "Take the label off, or the rule out.",
	},
	{
		Code: OutsiderPowerful, Severity: Error, Waivable: true, Title: "somebody of no tenant gets power over all of them",
		Why: "A binding in the whole cluster, or in a namespace of the platform, gives a user, a group or a service account rights with which they get into the namespaces of all " +
			"tenants: Secrets, shells, roles, policies. No spec says that, so that nobody reviews it. mpi-controller and the controllers of the GitOps engine " +
			"(`kustomize-controller` and `helm-controller`, or `argocd-application-controller`, in its namespace) are known by name.",
		Do: "Take the binding out of the chart or the patch. Administrators of the cluster get their rights from the cluster's own administration. Where it is meant, write a " +
			"waiver into the spec of the cluster, with the name at `about`.",
	},
	{
		Code: ComponentPowerful, Severity: Warning, Title: "a component could take over the cluster",
		Why: "The account of a component may read all Secrets, act as others, make tokens, open shells or give itself any role, in the whole cluster. Whoever gets into one of its pods has " +
			"all tenants. Other rights of components are not reported: what their charts ask for is what they are.",
		Do: "Give the chart values with which it asks for less, or accept it with a waiver in the spec of the cluster.",
	},
	{
		Code: LastingToken, Severity: Warning, Title: "a token that never ends",
		Why: "Tokens of pods end after an hour, and with their pod. A Secret of type `kubernetes.io/service-account-token` holds one that never does: whoever has read it once, in the cluster or in a " +
			"backup, acts as the account until somebody deletes the Secret. One of an account that comes with it, from the same chart or overlay, is not reported.",
		Do: "Let pods have tokens of their own, and make others with `kubectl create token`. Where a system outside needs one that lasts, write a waiver with the reason.",
	},
	{
		Code: Refused, Severity: Error, Title: "the API server would refuse an object",
		Why: "Every object is checked against the schemas of the cluster's version of Kubernetes and of the CRDs that a bundle may hold: fields, types, amounts, names, " +
			"labels, rules in CEL, and what API servers check in code. The pods of a runtime are checked like those of a Deployment, though the API server " +
			"sees them with a job only. A refused object would stop the whole bundle at the cluster, after the review. " +
			"Objects of charts and patches whose kind has no schema are accepted: the chart may bring their CRD, which the API server then goes by.",
		Do: "Correct the value at the place shown: in the patch, the chart, the values that are given to it, or the spec.",
	},
	{
		Code: KindNotKnown, Severity: Error, Title: "the compiler made an object of a kind without schema",
		Why:       "Whether the API server accepts it is not known.",
		Do:        "It is a mistake in the compiler: please report it with the spec.",
		NoExample: "A spec that shows this code would be a mistake in the compiler. The proof is there to notice.",
	},
	{
		Code: VersionNotKnown, Severity: Warning, Title: "there are no schemas of the cluster's version",
		Why: "The objects were checked against the schemas of the nearest version that this compiler has. A field that came or went between the versions is not noticed.",
		Do:  "Use a compiler that has the version, or accept the finding with a waiver until the cluster is updated.",
	},
	{
		Code: SchemasMissing, Severity: Warning, Title: "the build has no schemas",
		Why:       "A build from a fresh clone embeds no schemas, because they are taken from other projects' modules and not kept on branches. What an API server would refuse was not checked. In a pipeline, where the variable `CI` is set, such a build refuses to compile (exit code 1).",
		Do:        "Install a release, also by `go install` of its version, or run `make schemas` and build again.",
		NoExample: "It depends on how runtime-compiler was built, not on specs.",
	},
	{
		Code: KindNotServed, Severity: Error, Title: "no API server has the kind of an object",
		Why: "The kind is misspelt, or Kubernetes has stopped to serve that version of it, as `policy/v1beta1` in 1.25. The GitOps engine would stop at the object, and with it all that comes after.",
		Do:  "Write the kind and the version that the message names. Kinds of CRDs that the compiler does not know pass.",
	},
	{
		Code: NamesNothing, Severity: Warning, Title: "an object names another one that is not there",
		Why: "The API server accepts a name of nothing: pods whose account is missing are never made, a webhook without its Service refuses everything or judges nothing, a binding to a role that is " +
			"not there gives nothing, and nobody is told. It is judged what charts, overlays and patches bring, and only where the bundle would have to have it: in namespaces that it makes. " +
			"Secrets are never in a bundle, and what is optional need not be there. A namespace is reported where it is one letter beside one that there is.",
		Do: "Correct the name, or bring the object. Where somebody else makes it, write a waiver into the spec of the cluster, with the name at `about`.",
	},
	{
		Code: SelectsNothing, Severity: Warning, Title: "a selector selects nothing",
		Why: "A Service leads nowhere, a NetworkPolicy or a disruption budget protects nothing, a monitor measures nothing. It is judged in namespaces that the bundle makes, with pods in them, and in which tenants do not work.",
		Do:  "Correct the labels of the selector, or those of the pods. Where somebody else makes the pods, write a waiver into the spec of the cluster.",
	},
	{
		Code: CopiedFromCluster, Severity: Warning, Title: "an object was copied from a cluster",
		Why: "It has fields that an API server sets. With a `uid` or a `resourceVersion` no server takes it, or not a second " +
			"time, and an object whose owner is not there is deleted.",
		Do: "Remove the fields that the message lists, and the status.",
	},
}
