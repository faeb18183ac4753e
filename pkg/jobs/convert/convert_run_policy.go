package convert

import (
	"time"

	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/api/v1alpha1"
)

const runPolicyPath = "spec.runPolicy"

func (c *converter) convertRunPolicy() {
	policy := &c.spec.RunPolicy
	c.convertCleanPodPolicy()
	c.convertDeadline(policy.ActiveDeadlineSeconds)
	c.convertRetries(policy.BackoffLimit)
	c.convertGang(policy.SchedulingPolicy)
	c.add(Differs, runPolicyPath+".ttlSecondsAfterFinished", "", "a TrainJob has no time of its own: finished jobs stay for `retention.finishedJobs` of the tenant")
	if policy.Suspend != nil {
		if *policy.Suspend { // false is what the cluster writes where nobody said anything
			c.out.Spec.Suspend = policy.Suspend
		}
		c.add(Carried, runPolicyPath+".suspend", "spec.suspend", "")
	}
	const managedBy = runPolicyPath + ".managedBy"
	switch ptr.Deref(policy.ManagedBy, "") {
	case "":
	case "kubeflow.org/mpi-operator":
		c.add(ByRuntime, managedBy, "spec.managedBy", "the default of a TrainJob is its own controller")
	case "kueue.x-k8s.io/multikueue":
		c.out.Spec.ManagedBy = policy.ManagedBy
		c.add(Carried, managedBy, "spec.managedBy", "")
	default:
		c.add(NotPossible, managedBy, "", "a TrainJob is managed by `trainer.kubeflow.org/trainjob-controller` or `kueue.x-k8s.io/multikueue`")
	}
}

// convertCleanPodPolicy: v1 has it at two places. mpi-operator keeps the workers of a finished job running where nothing is said.
func (c *converter) convertCleanPodPolicy() {
	for _, at := range []struct {
		path  string
		value *string
	}{{"spec.cleanPodPolicy", c.spec.CleanPodPolicy}, {runPolicyPath + ".cleanPodPolicy", c.spec.RunPolicy.CleanPodPolicy}} {
		switch ptr.Deref(at.value, "") {
		case "Running":
			c.add(ByRuntime, at.path, "", "the nodes end when the launcher has")
		case "All":
			c.add(Differs, at.path, "", "the nodes end when the launcher has; finished pods stay until the TrainJob is deleted")
		case "None", "":
			c.add(Differs, at.path, "", "the nodes end when the launcher has: nothing stays running in a job that is over")
		default:
			c.add(NotPossible, at.path, "", "mpi-operator knows `None`, `Running` and `All`: here the nodes end when the launcher has")
		}
	}
	if c.spec.CleanPodPolicy == nil && c.spec.RunPolicy.CleanPodPolicy == nil {
		c.addDefault(Differs, runPolicyPath+".cleanPodPolicy", "", "the nodes end when the launcher has: nothing stays running in a job that is over")
	}
}

func (c *converter) convertDeadline(seconds *int64) {
	const path, to = runPolicyPath + ".activeDeadlineSeconds", "spec.activeDeadlineSeconds"
	if seconds == nil {
		return
	}
	if *seconds < 1 {
		c.add(NotPossible, path, "", "a deadline is at least 1 second: leave it out for none")
		return
	}
	c.out.Spec.ActiveDeadlineSeconds = *seconds
	c.add(Carried, path, to, "")
}

func (c *converter) convertRetries(limit *int32) {
	const path = runPolicyPath + ".backoffLimit"
	const never = "a program that fails is not run again: a job is, after the loss of a machine, a preemption or an eviction"
	restarts := c.choice.runtime.Spec.Restarts
	c.addDefaultIf(limit == nil, Differs, path, "MPIRuntime spec.restarts", "%s; mpi-operator ran the launcher up to 6 times more, the runtime %d times", never, restarts)
	if limit != nil {
		c.add(Differs, path, "MPIRuntime spec.restarts", "%s; up to %d times with runtime `%s`", never, restarts, c.choice.runtime.Metadata.Name)
	}
}

// convertGang: all pods of a job or none, as the runtime says.
func (c *converter) convertGang(policy *schedulingPolicy) {
	if policy == nil {
		c.addDefault(Differs, runPolicyPath+".schedulingPolicy", "MPIRuntime spec.gang", "the runtime decides whether the pods of a job wait for each other (%s)", describeGang(c.choice))
		return
	}
	const path, to = runPolicyPath + ".schedulingPolicy", "MPIRuntime spec.gang"
	total := c.need.nodes + 1
	if ptr.Deref(c.spec.RunLauncherAsWorker, false) {
		total = c.need.nodes
	}
	if least := ptr.Deref(policy.MinAvailable, total); least < total-1 {
		c.add(NotPossible, path+".minAvailable", to, "a job starts with all its %d nodes or not at all: an elastic job does not grow later", c.need.nodes)
	} else {
		c.add(c.gangOutcomeClass(), path+".minAvailable", to, "all pods of the job or none, where the runtime says so (%s) or Kueue queues", describeGang(c.choice))
	}
	c.add(Differs, path+".queue", "", "jobs of a tenant wait in its own queue")
	c.add(ByRuntime, path+".minResources", to, "what the pods ask for")
	c.add(NotPossible, path+".priorityClass", "", "say the label `%s` with one of the priorities of the cluster", priorityLabel)
	switch timeout := gangTimeoutOf(c.choice); {
	case c.need.gangTimeout == "":
		c.add(NotPossible, path+".scheduleTimeoutSeconds", to, "1 to 3600 seconds: the runtime's own holds, %s", timeout)
	case isSameDuration(timeout, c.need.gangTimeout):
		c.add(ByRuntime, path+".scheduleTimeoutSeconds", to, "")
	default:
		c.add(Differs, path+".scheduleTimeoutSeconds", to, "runtime `%s` waits %s", c.choice.runtime.Metadata.Name, timeout)
	}
}

// gangOutcomeClass: Kueue admits whole jobs, and gang schedulers start them.
func (c *converter) gangOutcomeClass() OutcomeClass {
	if scheduler := c.choice.runtime.Spec.Gang.Scheduler; scheduler != "" && scheduler != v1alpha1.GangNone || c.out.Labels[queueLabel] != "" {
		return ByRuntime
	}
	return Differs
}

func isSameDuration(a, b string) bool {
	left, leftErr := time.ParseDuration(a)
	right, rightErr := time.ParseDuration(b)
	return leftErr == nil && rightErr == nil && left == right
}

func describeGang(chosen chosenRuntime) string {
	if scheduler := chosen.runtime.Spec.Gang.Scheduler; scheduler != "" {
		return "gang.scheduler " + string(scheduler)
	}
	return "gang.scheduler None"
}

func gangTimeoutOf(chosen chosenRuntime) string {
	if timeout := chosen.runtime.Spec.Gang.Timeout; timeout != "" {
		return timeout
	}
	return "5m"
}
