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
	return slices.Concat(ofClusters(), ofCatalogs(), ofTenants())
}

func ofClusters() []Rule {
	return []Rule{
		podUserCanWork,
		imageVolumesExist,
		releasesDiffer,
		controllerAgrees,
		clusterHasTrainJobController,
		prioritiesDiffer,
		imageSourcesUsed,
		rangesApart,
		repositoryCanBeRead,
		engineSettingsMatter,
		engineKnowsFields,
		engineIsKnown,
		engineFindsTree,
		engineNamespacesNotTaken,
		pinnedMemoryIsGuarded,
		limitsAreEnforced,
		alertsSeeSamples,
	}
}

func ofCatalogs() []Rule {
	return []Rule{
		fabricHasDevice,
		roceHasAddress,
		fabricSettingsMatter,
		hugePagesAreWhole,
		tolerationsAreTaken,
		selectorsFindMachines,
		topologyLevelsDiffer,
		supportedMPI,
		versionsKnown,
		versionsWork,
		nodesInOrder,
		defaultFitsMachines,
		slotsHaveAccelerators,
		slotsHaveCores,
		threadsHaveCores,
		nodeFitsProfile,
		sharedMemoryFits,
		sharedMemoryMatters,
		gangLevelExists,
		gangFitsMachine,
		gangHasScheduler,
		gangTimeoutInRange,
		gangTimeoutCounts,
		priorityExists,
		volumesHaveSource,
		volumesDoNotMeet,
		lifecycleIsComplete,
		retirementNotDue,
		successorFits,
		versionsNotOld,
		trainerReadsAlike,
		variablesNotReserved,
		variablesDiffer,
		variablesAreRead,
		variablesSpelledRight,
		variablesSayWhatIsKnown,
		interfacesCarryTCP,
		variablesAreFilledIn,
		pathsHaveReasons,
		imagesHaveDigests,
		imagesStay,
	}
}

func ofTenants() []Rule {
	return []Rule{
		groupNamesInOneScript,
		groupsDiffer,
		groupsOfOthers,
		namespacesNamedAreThere,
		namespacesNotReserved,
		tenantHasRuntime,
		namedRuntimesUsable,
		externalRuntimesRun,
		externalRuntimesAreOthers,
		basesUsable,
		variantsAreNarrower,
		variantsHaveOwnNames,
		oneDefaultRuntime,
		claimsExist,
		claimsOfOneMachine,
		readOnlyIsRead,
		pinnedMemoryIsRestricted,
		ingressFromOwnPlatform,
		egressWithoutMetadata,
		rangesAreKnown,
		networkEncrypts,
		storesReachable,
		storesAreUsed,
		receiversHaveAddress,
		receiversDiffer,
		receiversAreTold,
		egressOfKnownFamily,
		egressOnce,
		variablesHoldNoSecrets,
		limitsInOrder,
		limitsAdmitRuntimes,
		quotaCoversSmallestJob,
		quotaIsOfDevices,
		// Queueing and storage.
		cohortsMakeSense,
		sharesHaveMachines,
		sharesInOrder,
		borrowsWhatThereIs,
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
