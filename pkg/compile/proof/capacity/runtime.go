package capacity

import (
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// runtime is what jobs of a runtime take.
type runtime struct {
	name, namespace, profile string
	launcher, node           podSet
	runsRanks                bool
	// standard is the number of nodes of a job that asks for nothing, most the largest one; 0 for no promise.
	standard, most         int64
	standardFrom, mostFrom *origin.Origin
	// usual is what a job with the standard number of nodes takes, pods included.
	usual amounts
	at    source.Span
}

// podSet is the equal pods of a job.
type podSet struct {
	name       string
	requests   amounts
	containers []container
	selector   []label
	tolerated  []toleration
	// level is the label of the topology level that must hold all pods, or "".
	level string
}

// container is what one container asks for.
type container struct {
	name             string
	requests, limits amounts
}

type label struct{ name, value string }

// toleration is one of a pod, or a taint of a flavor.
type toleration struct{ key, operator, value, effect string }

// nodePods is how many pods of the set `node` a job has.
func (r *runtime) nodePods(nodes int64) int64 {
	if r.runsRanks {
		return nodes - 1
	}
	return nodes
}

func runtimeOf(id object.ID, o objectReader) runtime {
	r := runtime{name: id.Name, namespace: id.Namespace, at: o.at("metadata", "name").span()}
	r.profile = o.text("metadata", "labels", "lockstep.dev/profile")
	r.runsRanks = o.text("spec", "mlPolicy", "mpi", "runLauncherAsNode") == "true"
	most := o.at("metadata", "annotations", "lockstep.dev/max-nodes")
	if most.node != nil && most.from != nil && most.from.Kind != origin.Default {
		r.most, _ = strconv.ParseInt(most.node.Text, 10, 64)
		r.mostFrom = most.from
	}
	for _, job := range o.at("spec", "template", "spec", "replicatedJobs").items() {
		spec := job.at("template", "spec")
		set := podSetOf(job.text("name"), spec.at("template"))
		if set.name == "launcher" {
			r.launcher = set
			continue
		}
		pods := spec.at("parallelism")
		r.node, r.standardFrom = set, pods.from
		r.standard, _ = strconv.ParseInt(spec.text("parallelism"), 10, 64)
	}
	if r.runsRanks {
		r.standard++
	}
	r.usual = r.jobAmounts(r.standard)
	return r
}

func podSetOf(name string, template objectReader) podSet {
	spec := template.at("spec")
	set := podSet{name: name, level: template.text("metadata", "annotations", "kueue.x-k8s.io/podset-required-topology")}
	for _, item := range spec.at("nodeSelector").items() {
		set.selector = append(set.selector, label{item.node.Key, item.node.Text})
	}
	for _, item := range spec.at("tolerations").items() {
		set.tolerated = append(set.tolerated, toleration{item.text("key"), item.text("operator"), item.text("value"), item.text("effect")})
	}
	for _, item := range spec.at("containers").items() {
		c := containerOf(item)
		set.containers = append(set.containers, c)
		set.requests = addAmounts(set.requests, c.requests, 1)
	}
	for _, item := range spec.at("initContainers").items() {
		c := containerOf(item)
		set.containers = append(set.containers, c)
		set.requests = maxAmounts(set.requests, c.requests)
	}
	return set
}

// containerOf reads a container. What is limited and not requested is requested, as the API server has it.
func containerOf(item objectReader) container {
	c := container{name: item.text("name"), requests: item.at("resources", "requests").amounts(), limits: item.at("resources", "limits").amounts()}
	for _, limit := range c.limits {
		if _, found := c.requests.get(limit.name); !found {
			c.requests = addAmounts(c.requests, amounts{limit}, 1)
		}
	}
	return c
}

// jobAmounts returns what a job with a number of nodes takes, pods included.
func (r *runtime) jobAmounts(nodes int64) amounts {
	pods := r.nodePods(nodes)
	total := addAmounts(r.launcher.requests, r.node.requests, pods)
	return addAmounts(total, amounts{{name: "pods", value: pods + 1}}, 1)
}
