package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// rules are all rules in the order in which they are asked: what is special comes before what is general.
var rules []*Rule

// The rules refer to functions that look at all of them, which Go takes for a cycle in a plain initialisation.
func init() { //nolint:gochecknoinits // breaks an initialisation cycle
	rules = []*Rule{
		renamesRule, spellingRule, gitopsRule, boundaryRule,
		immutableRule, networkRule, exposureRule, accessRule, securityRule, admissionRule, quotaRule, storageRule,
		imageRule, resourcesRule, environmentRule, nodesRule, lifecycleRule, wiringRule,
		monitoringRule, labelsRule, chartsRule, ownershipRule, specsRule, unclassifiedRule,
	}
}

// runtimeKinds are the kinds of runtimes, whose pods are those of jobs; workloadKinds those whose pods the platform runs; podKinds all
// that have pods. A JobSet in what is compiled is no job of a tenant: these are made by Trainer.
var (
	runtimeKinds  = []string{"ClusterTrainingRuntime", "TrainingRuntime"}
	workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "JobSet", "Pod", "ReplicaSet", "ReplicationController"}
	podKinds      = slices.Concat(runtimeKinds, workloadKinds)
)

func isRuntime(c *Change) bool { return slices.Contains(runtimeKinds, c.Kind()) }

func isWorkload(o *object.Object) bool { return slices.Contains(workloadKinds, o.ID.Kind) }

func hasPods(o *object.Object) bool { return slices.Contains(podKinds, o.ID.Kind) }
