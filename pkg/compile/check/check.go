// Package check judges a plan: one rule per file, each a function that reports every breach it finds. Rules are
// independent of each other and of their order; none changes the plan.
package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Rule reports the breaches of one rule in a plan.
type Rule func(*plan.Cluster, *diag.List)

// Rules is the specification of a good cluster, one line per rule.
func Rules() []Rule {
	return slices.Concat(clusterRules(), catalogRules(), tenantRules())
}

func clusterRules() []Rule {
	return []Rule{
		podUserCanWork,
		imageVolumesExist,
		releaseNamesDiffer,
		controllerValuesAgree,
		clusterHasTrainJobController,
		chartsAreInstalled,
		priorityNamesDiffer,
		imageSourcesUsed,
		dnsIsOfPlatform,
		portsHaveProtocols,
		capacityNotTwice,
		clusterRangesApart,
		servicesDiffer,
		repositoryCanBeRead,
		tenantJobsAreApplied,
		engineSettingsMatter,
		engineLooksInTime,
		engineKnowsFields,
		engineIsKnown,
		engineFindsTree,
		engineNamespacesNotTaken,
		pinnedMemoryIsGuarded,
		limitsAreEnforced,
		alertsSeeSamples,
		monitoringKeepsNamespaces,
		historyBoundsNest,
		certifiedRuntimesHere,
		certifiedOnce,
		kueueServesAPI,
	}
}

func catalogRules() []Rule {
	return []Rule{
		fabricHasDevice,
		roceHasAddress,
		fabricSettingsMatter,
		hugePagesAreWhole,
		tolerationsAreTaken,
		selectorsFindMachines,
		topologyLevelsDiffer,
		mpiSupported,
		mpiVersionsKnown,
		mpiVersionsWork,
		imagesHaveMPI,
		timeLimitsOutlastGangs,
		nodesInOrder,
		defaultJobFitsMachines,
		slotsHaveAccelerators,
		slotsHaveCores,
		ranksHaveDevices,
		threadsHaveCores,
		nodeFitsProfile,
		sharedMemoryFits,
		sharedMemoryMatters,
		gangLevelExists,
		gangFitsMachine,
		gangHasScheduler,
		gangTimeoutInRange,
		gangTimeoutHasEffect,
		priorityExists,
		volumesHaveSource,
		volumesDoNotCollide,
		lifecycleIsComplete,
		retirementNotDue,
		successorFits,
		mpiVersionsNotOld,
		trainerReadsAlike,
		variablesNotReserved,
		variablesDiffer,
		variablesAreOfRuntimeMPI,
		variablesSpelledRight,
		variablesSayWhatIsKnown,
		interfacesCarryTCP,
		variablesFitFabric,
		devicesAreVisible,
		variablesDifferByRank,
		variablesAreFilledIn,
		temporaryFoldersExist,
		cachesCanBeWritten,
		searchPathsHaveReasons,
		imagesHaveDigests,
		imageTagsDoNotMove,
	}
}

func tenantRules() []Rule {
	return []Rule{
		groupNamesInOneScript,
		groupsNotMisspelled,
		groupsOfOthers,
		groupsAreGroups,
		groupsHaveOneRole,
		accountsAreOfPrograms,
		secretWritersAreGuarded,
		storedSecretsCanBeMade,
		namespacesNotMisspelled,
		namespacesNotReserved,
		tenantHasRuntime,
		namedRuntimesUsable,
		externalRuntimesRun,
		externalRuntimesAreOthers,
		variantBasesUsable,
		variantsAreNarrower,
		variantsHaveOwnNames,
		oneDefaultRuntime,
		claimsExist,
		claimsOfOneMachine,
		readOnlyClaimsNotWritten,
		pinnedMemoryIsRestricted,
		networkLeavesTenantsApart,
		egressHasDestination,
		egressWithoutMetadata,
		clusterRangesDeclared,
		networkEncrypts,
		storesReachable,
		storesAreUsed,
		endpointsAreServers,
		receiversHaveAddress,
		receiversDiffer,
		receiversAreTold,
		egressOfKnownFamily,
		egressNotTwice,
		finishedJobsCanBeRead,
		variablesHoldNoSecrets,
		limitsInOrder,
		limitsAdmitRuntimes,
		quotaCoversSmallestJob,
		quotaIsOfDevices,
		quotaNearShares,
		// Queueing and storage.
		cohortsMakeSense,
		sharesHaveMachines,
		sharesInOrder,
		borrowedMachinesExist,
		profilesDiffer,
		tenantsQueue,
		tenantsInKnownCohorts,
		queuesAdmitRuntimes,
		queuesHaveEffect,
		claimsCanBeMade,
	}
}

// Cluster applies all rules to a plan.
func Cluster(c *plan.Cluster, list *diag.List) {
	for _, rule := range Rules() {
		rule(c, list)
	}
}
