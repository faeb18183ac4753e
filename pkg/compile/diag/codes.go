package diag

import "strings"

// Code identifies a kind of mistake for good: a code is never renumbered or reused. Two mistakes have one code if one
// function could report both. LS1 is files and YAML, LS2 one document, LS3 names, LS4 rules, LS5 components, LS6 output, LS7 proofs.
//
// A code is complete with three things, and a test of package compile misses each: its constant here, its Entry in
// entries.go, and its example in testdata/errors/codes, from which docs/diagnostics is generated.
type Code string

// IsOfRuleOrProof reports whether a code is of rules and proofs: what it is about has a meaning, which is not a good one.
func (c Code) IsOfRuleOrProof() bool {
	return strings.HasPrefix(string(c), "LS4") || strings.HasPrefix(string(c), "LS7")
}

// Files and YAML.
const (
	// UnreadableFile is a spec file that cannot be read, is not a regular file, is a link to a place outside the repository, is
	// larger than 1 MiB, or is not UTF-8.
	UnreadableFile Code = "LS1001"

	// Syntax is text that is not YAML. The documents before it in the file are still compiled.
	Syntax Code = "LS1002"

	// TooComplex is a file beyond the limits that keep a malicious spec from being an outage: nesting depth 64, 1,000
	// documents per file, 10,000 values reached through aliases.
	TooComplex Code = "LS1003"

	// UnsupportedYAML is a part of YAML that specs do not use: merge keys, tags of one's own, keys that are not strings.
	UnsupportedYAML Code = "LS1004"

	// NothingRead is a file or a folder that defines nothing and looks as if it did: it is empty, its name is nearly right, it is outside the
	// folders of specs, or nothing in its overlay names it. It is a warning: a tenant that disappears from the specs is removed from its
	// clusters, and a patch that nobody reads patches nothing.
	NothingRead Code = "LS1005"
)

// One document.
const (
	// UnknownKind is a kind that is not a spec.
	UnknownKind Code = "LS2001"

	// UnknownAPIVersion is an apiVersion that this compiler does not read.
	UnknownAPIVersion Code = "LS2002"

	// UnknownKey is a key that the kind does not have.
	UnknownKey Code = "LS2003"

	// DuplicateKey is a key that is there twice. YAML parsers keep either; neither is safe.
	DuplicateKey Code = "LS2004"

	// MissingKey is a required key that is not there, or has no value.
	MissingKey Code = "LS2005"

	// WrongType is a value of another type than the key has. Versions are strings: 1.30 without quotes is the number 1.3.
	WrongType Code = "LS2006"

	// NotAllowed is a value that is not among those allowed.
	NotAllowed Code = "LS2007"

	// OutOfRange is a number, an amount or a list that is too small or too large.
	OutOfRange Code = "LS2008"

	// BadFormat is a string that does not have the form that its key needs.
	BadFormat Code = "LS2009"

	// RepeatedItem is a value that is in a list twice.
	RepeatedItem Code = "LS2010"

	// KindElsewhere is a spec in the folder of another kind, whose owners do not decide about it.
	KindElsewhere Code = "LS2011"
)

// Names.
const (
	// DuplicateName is two specs of one kind with one name.
	DuplicateName Code = "LS3001"

	// DanglingReference is a name that no spec has.
	DanglingReference Code = "LS3002"

	// NamespaceTaken is a namespace that two tenants claim, or a tenant and the platform.
	NamespaceTaken Code = "LS3003"

	// NoCluster is a repository without a cluster: nothing can be compiled.
	NoCluster Code = "LS3004"

	// UnknownCluster is a cluster, asked for on the command line, that no spec defines.
	UnknownCluster Code = "LS3005"
)

// Rules.
const (
	// NodesOutOfOrder is a number of nodes for which min <= default <= max does not hold.
	NodesOutOfOrder Code = "LS4001"

	// SlotsWithoutAccelerator is slotsPerNode `auto` with a profile that has no accelerator.
	SlotsWithoutAccelerator Code = "LS4002"

	// NodeDoesNotFit is a node or a launcher that takes more than a machine of the profile offers: its pod would wait forever.
	NodeDoesNotFit Code = "LS4003"

	// QuotaTooSmall is a quota that is too small for one smallest job of a runtime that the tenant uses.
	QuotaTooSmall Code = "LS4004"

	// ReservedName is a namespace that Kubernetes, OpenShift or the platform keeps for itself.
	ReservedName Code = "LS4005"

	// ReservedVariable is an environment variable that carries the wiring of a job.
	ReservedVariable Code = "LS4006"

	// NoUsableRuntime is a tenant that cannot use any runtime on one of its clusters.
	NoUsableRuntime Code = "LS4007"

	// RuntimeNotUsable is a runtime that a tenant names, but that does not admit it, is retired, or is not on the cluster.
	RuntimeNotUsable Code = "LS4008"

	// ImageWithoutDigest is an image without digest on a cluster that demands digests.
	ImageWithoutDigest Code = "LS4009"

	// LimitsTooTight is container limits that refuse the pods of a runtime that the tenant uses.
	LimitsTooTight Code = "LS4010"

	// LimitsOutOfOrder is container limits with a default above the maximum; the API server would refuse them.
	LimitsOutOfOrder Code = "LS4011"

	// PodUser is a pod user that cannot work: on OpenShift, which assigns users itself, or one who cannot read the job's key.
	PodUser Code = "LS4013"

	// MPIVersion is a version of an MPI implementation that is not supported.
	MPIVersion Code = "LS4014"

	// ImageVolumesTooEarly is image volumes on a cluster version that does not have them.
	ImageVolumesTooEarly Code = "LS4016"

	// DeprecatedRuntime is a deprecated runtime that a tenant still names. It is a warning.
	DeprecatedRuntime Code = "LS4017"

	// ForeignTraffic is ingress from, or egress to, a namespace of another tenant.
	ForeignTraffic Code = "LS4018"

	// ReleaseTaken is two components of a cluster with one release name: they would share an output file.
	ReleaseTaken Code = "LS4019"

	// MetadataReachable is egress to a range with the metadata service of clouds, which hands out the credentials of the machine.
	// It is a warning.
	MetadataReachable Code = "LS4020"

	// VariableHidesImage is a search path that takes the place of that of the image, without a reason. It is a warning.
	VariableHidesImage Code = "LS4021"

	// GroupMixesScripts is the name of a group with letters of several scripts, which looks like another one. It is a warning.
	GroupMixesScripts Code = "LS4022"

	// VariableNotRead is a setting of another MPI than the runtime's. It is a warning.
	VariableNotRead Code = "LS4023"

	// DefectiveMPI is a version of MPI with which jobs fail through no fault of their own. It is a warning.
	DefectiveMPI Code = "LS4024"

	// NameSlips is a name of a group, or of a namespace of others, that differs by one letter from another one. It is a warning.
	NameSlips Code = "LS4025"

	// GroupOfOthers is a group of another tenant among the editors or admins of a tenant. It is a warning.
	GroupOfOthers Code = "LS4026"

	// NewerMPI is a version of MPI above those for which environments and hostfiles are written. It is a warning.
	NewerMPI Code = "LS4027"

	// ImageMoves is an image of today and not of tomorrow: without a tag, or with the tag latest. It is a warning.
	ImageMoves Code = "LS4028"

	// WritesReadOnly is a volume that is mounted to write into a claim that can only be read. It is a warning.
	WritesReadOnly Code = "LS4029"
)

// Machines, runtimes and images.
const (
	// FabricWithoutDevice is a fabric that is not Ethernet and names no device for pods.
	FabricWithoutDevice Code = "LS4050"

	// RoCEWithoutAddress is RoCE without the index of the address of a port.
	RoCEWithoutAddress Code = "LS4051"

	// FabricSettingUnused is a setting of a fabric that means nothing on its kind. It is a warning.
	FabricSettingUnused Code = "LS4052"

	// HugePagesNotWhole is an amount of huge pages that is not a multiple of their size.
	HugePagesNotWhole Code = "LS4053"

	// DeviceTwice is a fabric whose device is the accelerator.
	DeviceTwice Code = "LS4054"

	// TopologyLevelTwice is two levels of a topology with one name or one label.
	TopologyLevelTwice Code = "LS4055"

	// UnknownLevel is a topology level that the profile of the runtime does not have.
	UnknownLevel Code = "LS4056"

	// QueueingMissing is a gang that needs Kueue, on a cluster that does not queue.
	QueueingMissing Code = "LS4057"

	// SchedulerMissing is a gang scheduler that the cluster does not have.
	SchedulerMissing Code = "LS4058"

	// GangTimeout is a timeout of a gang below 1s or above 1h.
	GangTimeout Code = "LS4059"

	// UnknownPriority is a priority that the cluster does not have, although it has others.
	UnknownPriority Code = "LS4060"

	// ReservedPriority is a priority with a name that Kubernetes keeps for itself.
	ReservedPriority Code = "LS4061"

	// PriorityTwice is two priorities of one name, or two that are the default.
	PriorityTwice Code = "LS4062"

	// VolumeSource is a volume with a claim and scratch, with neither, or with scratch that nobody can write.
	VolumeSource Code = "LS4063"

	// VolumeTaken is a volume whose name or folder is reserved, or has another volume.
	VolumeTaken Code = "LS4064"

	// ClaimMissing is a claim that a runtime mounts and a tenant does not have.
	ClaimMissing Code = "LS4065"

	// SharedMemoryTooLarge is shared memory that leaves nothing of the memory of a node.
	SharedMemoryTooLarge Code = "LS4066"

	// LifecycleIncomplete is a deprecated runtime without a successor, or the description of an end without one. It is a warning.
	LifecycleIncomplete Code = "LS4067"

	// RetirementDue is a deprecated runtime whose last day has passed. It is a warning.
	RetirementDue Code = "LS4068"

	// SuccessorUnfit is a successor that is retired, deprecated, or of another framework or profile. It is a warning.
	SuccessorUnfit Code = "LS4069"

	// TooManyVersions is a third active version of one implementation, framework and profile. It is a warning.
	TooManyVersions Code = "LS4070"

	// TwoDefaults is two default runtimes for one tenant on one cluster.
	TwoDefaults Code = "LS4071"

	// VariantTooWide is a variant with fewer or more nodes than its catalog runtime allows.
	VariantTooWide Code = "LS4072"

	// VariantName is a variant with the name of a catalog runtime or of another variant.
	VariantName Code = "LS4073"

	// ImageSourceUnused is a mirror or a digest that changes no image. It is a warning.
	ImageSourceUnused Code = "LS4074"

	// LevelNotKept is a tenant of the level `baseline` with jobs that pin memory. It is a warning.
	LevelNotKept Code = "LS4075"

	// TrainerReadsOtherwise is a runtime that Kubeflow Trainer reads otherwise than its spec says. It is a warning.
	TrainerReadsOtherwise Code = "LS4076"

	// NotPortable is a runtime whose jobs its executor, our controller or stock Kubeflow Trainer, would run otherwise, or not at all. Package
	// portable has the rules.
	NotPortable Code = "LS4078"

	// PinnedMemoryUnguarded is jobs that pin memory on a Kubernetes version without the policies that keep everything else out.
	PinnedMemoryUnguarded Code = "LS4079"
)

// Queueing and storage.
const (
	// UnknownCohort is a cohort that the cluster does not have.
	UnknownCohort Code = "LS4080"

	// CohortCycle is a cohort that is its own ancestor.
	CohortCycle Code = "LS4081"

	// CohortUnused is a cohort without members. It is a warning.
	CohortUnused Code = "LS4082"

	// ShareNowhere is a share of machines that no cluster has, or of a cohort whose cluster does not have them.
	ShareNowhere Code = "LS4083"

	// ShareElsewhere is a share of machines that only clusters have where the tenant does not work. It is a warning.
	ShareElsewhere Code = "LS4084"

	// QueueingWithoutCapacity is a cluster that queues and does not say what machines it has.
	QueueingWithoutCapacity Code = "LS4085"

	// QueuesNowhere is a queue of a tenant none of whose clusters queues. It is a warning.
	QueuesNowhere Code = "LS4086"

	// RuntimeWithoutShare is a runtime that a tenant names without a share of its machines: no job is ever admitted.
	RuntimeWithoutShare Code = "LS4087"

	// OfferedWithoutShare is a runtime that a tenant may use, without naming it, and has no share of its machines. It is a warning.
	OfferedWithoutShare Code = "LS4088"

	// LendsTooMuch is a share that lends more machines than it has.
	LendsTooMuch Code = "LS4089"

	// LimitWithoutCohort is a bound on borrowing or lending without a cohort. It is a warning.
	LimitWithoutCohort Code = "LS4090"

	// EmptyShare is a share without machines and without anybody to borrow from.
	EmptyShare Code = "LS4091"

	// ShareTwice is two shares of one profile.
	ShareTwice Code = "LS4092"

	// UnknownStorageClass is a storage class that the cluster does not have.
	UnknownStorageClass Code = "LS4093"

	// ForeignClaim is a claim in a namespace that is not one of its tenant.
	ForeignClaim Code = "LS4094"

	// ClaimTwice is two claims with one name in a namespace.
	ClaimTwice Code = "LS4095"

	// StorageQuotaTooSmall is a quota for storage that the tenant's own claims exceed.
	StorageQuotaTooSmall Code = "LS4096"

	// QuotaWithoutMeaning is a quota of a tenant whose clusters all queue: of accelerators, or of far more CPU or memory
	// than its queue gets. It is a warning.
	QuotaWithoutMeaning Code = "LS4097"

	// CohortTwice is two cohorts with one name.
	CohortTwice Code = "LS4098"

	// ProfilesAlike is two profiles whose machines Kueue cannot tell apart. It is a warning.
	ProfilesAlike Code = "LS4099"

	// RepositoryNeedsSecret is a repository behind ssh that Flux shall read without a key.
	RepositoryNeedsSecret Code = "LS4130"

	// EngineSettingIgnored is a setting of GitOps that the engine does not look at. It is a warning.
	EngineSettingIgnored Code = "LS4131"

	// TenantWithoutQueue is a tenant without a queue on a cluster that queues.
	TenantWithoutQueue Code = "LS4132"

	// ContradictsCluster is a value of one of our charts that says otherwise than the rest of its cluster.
	ContradictsCluster Code = "LS4133"

	// VariantNowhere is a variant of a runtime that no cluster of its tenant has. It is a warning.
	VariantNowhere Code = "LS4134"

	// ExternalRuntimeNotRun is a runtime of others on a cluster without Kubeflow Trainer.
	ExternalRuntimeNotRun Code = "LS4135"

	// ExternalRuntimeIsOurs is a runtime that a tenant names as one of others, and that is compiled.
	ExternalRuntimeIsOurs Code = "LS4136"

	// NoTrainJobController is a cluster without anybody who would run its TrainJobs. It is a warning.
	NoTrainJobController Code = "LS4137"

	// MoreNodesThanMachines is a default number of nodes above the machines of the cluster.
	MoreNodesThanMachines Code = "LS4138"

	// ClaimOfOneMachine is a volume for one machine at a time that several nodes mount. It is a warning.
	ClaimOfOneMachine Code = "LS4139"

	// BadToleration is a toleration that the API server takes in no pod.
	BadToleration Code = "LS4140"

	// EngineTooOld is a version of the GitOps engine that does not know what is compiled for it.
	EngineTooOld Code = "LS4141"

	// SettingInVain is a setting by which nothing is different from what it would be without it. It is a warning.
	SettingInVain Code = "LS4142"

	// VariableNotFilledIn is a value with the name of a variable in which nobody puts its value. It is a warning.
	VariableNotFilledIn Code = "LS4143"

	// TreeNotFound is a place in a repository where the GitOps engine hardly finds the compiled tree. It is a warning.
	TreeNotFound Code = "LS4144"

	// SlotsAboveCores is more ranks on a node than its machine has cores. It is a warning.
	SlotsAboveCores Code = "LS4145"

	// NoSuchMachines is a label of machines by which no machine for jobs is found, or fewer than the cluster says that it has.
	NoSuchMachines Code = "LS4146"

	// ReceiverAddress is a receiver of alerts that cannot be told, or does not say by which of two addresses.
	ReceiverAddress Code = "LS4147"

	// ReceiverTwice is two receivers of alerts of a tenant under one name.
	ReceiverTwice Code = "LS4148"

	// ReceiverInTheClear is a receiver of alerts that is told without encryption. It is a warning.
	ReceiverInTheClear Code = "LS4149"

	// ValueNotKnown is a value that the one who reads it does not know. It is a warning.
	ValueNotKnown Code = "LS4150"

	// EngineNotKnown is a version of the GitOps engine of which nothing is known here. It is a warning.
	EngineNotKnown Code = "LS4151"

	// CertificationStale is a certification of a runtime whose pods have become others since. It is a warning.
	CertificationStale Code = "LS4152"

	// CertifiedNotHere is a certification of a runtime that the cluster does not have.
	CertifiedNotHere Code = "LS4153"

	// CertifiedTwice is two certifications of one runtime.
	CertifiedTwice Code = "LS4154"

	// AccountOfPlatform is an account among the people of a tenant that more than one program has, or that has more rights than a tenant.
	AccountOfPlatform Code = "LS4155"

	// AccountOfOthers is an account in a namespace of another tenant among the people of a tenant. It is a warning.
	AccountOfOthers Code = "LS4156"

	// EgressUnclear is an egress with no destination, or with several.
	EgressUnclear Code = "LS4160"

	// SecretsUnguarded is people who write Secrets on a cluster where nothing keeps them from reading these.
	SecretsUnguarded Code = "LS4163"

	// UnknownSecretStore is a secret store that the cluster does not have.
	UnknownSecretStore Code = "LS4164"

	// StoredSecretTwice is two Secrets of a tenant with one name.
	StoredSecretTwice Code = "LS4165"

	// UnknownService is a service that the cluster does not have.
	UnknownService Code = "LS4161"

	// ServiceTwice is two services of a cluster with one name.
	ServiceTwice Code = "LS4162"

	// Contradiction is two values of the specs that cannot both be right. It is a warning.
	Contradiction Code = "LS4166"

	// RanksWithoutDevices is ranks of a node that do not match its devices, or do not see them. It is a warning.
	RanksWithoutDevices Code = "LS4167"

	// WrongProtocol is a well-known port that is open for the protocol of other services. It is a warning.
	WrongProtocol Code = "LS4168"

	// NotAGroup is a mail address or a placeholder among names of groups. It is a warning.
	NotAGroup Code = "LS4169"

	// BadTemplate is a template that is not a TrainJob, or that its runtime does not take.
	BadTemplate Code = "LS4170"

	// TemplateUnused is a template that no tenant can use. It is a warning.
	TemplateUnused Code = "LS4171"

	// KueueAPINotServed is a version of Kueue's API that the cluster's Kueue does not serve.
	KueueAPINotServed Code = "LS4172"

	// KueueAPIGoes is a version of Kueue's API that a later Kueue no longer serves. It is a warning.
	KueueAPIGoes Code = "LS4173"
)

// Components and objects.
const (
	// ChartNotFound is a chart folder that is not in the repository.
	ChartNotFound Code = "LS5001"

	// ChartFails is a chart that cannot be loaded or rendered.
	ChartFails Code = "LS5002"

	// ChartOutput is a rendered document that is not a Kubernetes object.
	ChartOutput Code = "LS5003"

	// ChartHook is a Helm hook. Nothing runs hooks where manifests are synced, so it is left out. It is a warning.
	ChartHook Code = "LS5004"

	// ObjectCollision is two objects with one identity.
	ObjectCollision Code = "LS5005"

	// RenderFails is an object that cannot be built. Checks should have found the reason: please report it.
	RenderFails Code = "LS5006"

	// ChartNotReproducible is a chart that calls a function whose result changes from run to run or from machine to machine, or
	// that was rendered several times with different results: the output would differ although no input did.
	ChartNotReproducible Code = "LS5007"

	// ValueNotRead is a value for a chart of which no template reads it. It is a warning.
	ValueNotRead Code = "LS5008"

	// PatchFile is a kustomization, or a patch in it, that cannot be read.
	PatchFile Code = "LS5010"

	// PatchFieldRefused is a field of a kustomization that is not used here, because it would rename objects, read from elsewhere or
	// run programs.
	PatchFieldRefused Code = "LS5011"

	// PatchFileMissing is a file that a kustomization names and that is not in its folder.
	PatchFileMissing Code = "LS5012"

	// PatchFails is a patch that cannot be applied, for example because a path does not exist.
	PatchFails Code = "LS5013"

	// PatchMatchesNothing is a patch that is for no object of the cluster.
	PatchMatchesNothing Code = "LS5014"

	// PatchChangesNothing is a patch whose objects are the same afterwards. It is a warning.
	PatchChangesNothing Code = "LS5015"

	// PatchRenames is a patch that changes the kind, name or namespace of an object.
	PatchRenames Code = "LS5016"

	// PatchResource is a document among the resources of a kustomization that is not an object for a cluster.
	PatchResource Code = "LS5017"

	// PatchedSpec is a patch of a spec that cannot be changed: one that a program computes.
	PatchedSpec Code = "LS5018"

	// PatchReplaced is what a patch writes and a later one replaces in all objects. It is a warning.
	PatchReplaced Code = "LS5019"
)

// Output.
const (
	// ForeignFile is a file in the output folder that the compiler did not write, at a path that it needs.
	ForeignFile Code = "LS6001"
)

// Proofs of capacity: what the compiled queues and quotas say together.
const (
	// CapacityExceeded is more guaranteed machines than a cluster has.
	CapacityExceeded Code = "LS7001"

	// QuotaOutOfScale is a queue whose amounts are not those of one number of whole machines.
	QuotaOutOfScale Code = "LS7002"

	// LimitRefused is a bound on borrowing or lending that Kueue refuses.
	LimitRefused Code = "LS7003"

	// NotCovered is a runtime with a request that a queue of its tenant does not cover.
	NotCovered Code = "LS7004"

	// CountedTwice is a resource that both a ResourceQuota and a queue count.
	CountedTwice Code = "LS7005"

	// LimitsRefuseRuntime is a LimitRange that refuses a container of a runtime, or one that Kubernetes refuses.
	LimitsRefuseRuntime Code = "LS7006"

	// DefaultJobDoesNotFit is a runtime whose default job a queue of its tenant can never admit.
	DefaultJobDoesNotFit Code = "LS7007"

	// LargestJobDoesNotFit is a runtime whose largest job a tenant's queue can never admit. It is a warning.
	LargestJobDoesNotFit Code = "LS7008"

	// QuotaRefusesJob is a ResourceQuota that refuses the default job of a runtime, or the claims of its tenant.
	QuotaRefusesJob Code = "LS7009"

	// Overcommitted is quotas that together promise more devices than a cluster has. It is a warning.
	Overcommitted Code = "LS7010"

	// QueueUnreachable is a queue, flavor, topology or cohort that is not there or not connected: jobs would wait forever.
	QueueUnreachable Code = "LS7011"

	// Unfaithful is a queue, flavor, quota, limit or priority that does not say what its spec says.
	Unfaithful Code = "LS7012"

	// EnforcementWeakened is a patch that removes or changes what the cluster refuses by: admission policies, their bindings, constraints,
	// labels and annotations of namespaces.
	EnforcementWeakened Code = "LS7013"

	// PodsRefused is a runtime, or another object that makes pods, whose pods the namespaces that they are for do not admit.
	PodsRefused Code = "LS7014"
)

// Proofs of isolation and access: what the compiled policies and roles say together.
const (
	// NamespaceNotClosed is a namespace of a tenant with pods that no NetworkPolicy closes.
	NamespaceNotClosed Code = "LS7020"

	// TenantsConnected is a way from the pods of one tenant to those of another.
	TenantsConnected Code = "LS7021"

	// OpenOnOneSide is a policy that opens the way to another tenant, whose own policies close it. It is a warning.
	OpenOnOneSide Code = "LS7022"

	// OpensMore is traffic that a policy opens and the spec of the tenant does not.
	OpensMore Code = "LS7023"

	// OpensLess is traffic that the spec of a tenant opens and no policy does.
	OpensLess Code = "LS7024"

	// ClusterRangeOpen is a range that a tenant may reach with addresses of the cluster or of machines in it. It is a warning.
	ClusterRangeOpen Code = "LS7025"

	// SelectorTooWide is a policy of the platform that lets pods of tenants in without meaning it. It is a warning.
	SelectorTooWide Code = "LS7026"

	// DNSNotReachable is a namespace whose pods cannot ask the cluster's DNS.
	DNSNotReachable Code = "LS7027"

	// NetworkNotProvable is a policy that cannot be read.
	NetworkNotProvable Code = "LS7028"

	// PodsInMesh is a runtime whose pods get into Istio: a patch makes them ask for it, or takes away that they refuse it in a namespace that
	// takes everybody.
	PodsInMesh Code = "LS7029"

	// BeyondRole is a right that people or service accounts of a tenant must not have.
	BeyondRole Code = "LS7040"

	// OutsideSubjectBound is a subject with rights in a namespace of a tenant that the tenant's spec does not name.
	OutsideSubjectBound Code = "LS7041"

	// RoleMissing is people of a tenant without the role that the spec gives them.
	RoleMissing Code = "LS7042"

	// EverybodyBound is rights for a group of Kubernetes itself, which has everybody in it.
	EverybodyBound Code = "LS7043"

	// AccessNotProvable is a role bound to people of a tenant whose rules are not known, or a role that cannot be read.
	AccessNotProvable Code = "LS7044"

	// ControllerBeyondChart is mpi-controller with other rights than those that its chart declares, or somebody else with them.
	ControllerBeyondChart Code = "LS7045"

	// AggregatesTooMuch is a role that adds to the platform's own roles what people of tenants must not have.
	AggregatesTooMuch Code = "LS7046"

	// OutsiderPowerful is a right that leads into every tenant's namespaces and is given to somebody who belongs to no tenant.
	OutsiderPowerful Code = "LS7047"

	// ComponentPowerful is a component whose account could take over the cluster. It is a warning.
	ComponentPowerful Code = "LS7048"

	// LastingToken is a Secret with the token of a service account. It is a warning.
	LastingToken Code = "LS7049"

	// Refused is an object that the API server of the cluster's version would refuse.
	Refused Code = "LS7060"

	// KindNotKnown is an object of the compiler's own whose kind has no schema.
	KindNotKnown Code = "LS7061"

	// VersionNotKnown is a cluster with a version of Kubernetes that there are no schemas of. It is a warning.
	VersionNotKnown Code = "LS7062"

	// SchemasMissing is a build without schemas. It is a warning.
	SchemasMissing Code = "LS7063"

	// KindNotServed is an object of a chart or an overlay whose kind, or version of it, no API server of the cluster's version has.
	KindNotServed Code = "LS7064"

	// NamesNothing is a name of an object, of a part of it or of a namespace in an object of a chart, an overlay or a patch, which is not there.
	// It is a warning.
	NamesNothing Code = "LS7065"

	// SelectsNothing is a selector of such an object for which nothing is there. It is a warning.
	SelectsNothing Code = "LS7066"

	// CopiedFromCluster is an object with fields that only an API server sets. It is a warning.
	CopiedFromCluster Code = "LS7067"
)

// Rules about secrets, encryption and waivers.
const (
	// LimitsNotEnforced is a Kubernetes version without the policies that refuse TrainJobs above the limits. It is a warning.
	LimitsNotEnforced Code = "LS4100"

	// RangesUnknown is a cluster that does not say which addresses its pods have, with tenants that may reach private addresses. It is a
	// warning.
	RangesUnknown Code = "LS4101"

	// NetworkNotEncrypted is a tenant that requires encryption on a cluster whose network does not encrypt.
	NetworkNotEncrypted Code = "LS4110"

	// SecretInSpec is a password, a token or a private key in a spec.
	SecretInSpec Code = "LS4111"

	// StoreNotReachable is an object store that the tenant's egress does not reach. It is a warning.
	StoreNotReachable Code = "LS4112"

	// WaiverExpired is a waiver whose last day has passed.
	WaiverExpired Code = "LS4120"

	// WaiverExpiresSoon is a waiver with 30 days or less to go. It is a warning.
	WaiverExpiresSoon Code = "LS4121"

	// WaiverUnused is a waiver that matches no finding. It is a warning.
	WaiverUnused Code = "LS4122"

	// NotWaivable is a waiver for a code that cannot be waived, or not by that kind of spec, or that does not exist.
	NotWaivable Code = "LS4123"

	// WaiverTooLong is a waiver of what only clusters may waive whose last day is more than 366 days away.
	WaiverTooLong Code = "LS4124"
)
