package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// immutableFields are fields that the API server does not let change: by kind, patterns of Path.Is. They are those of the validation code of
// Kubernetes (pkg/apis/*/validation), of the rules of Kueue's and JobSet's CRDs (`self == oldSelf`) and of JobSet's webhook.
var immutableFields = map[string][][]string{
	"PersistentVolumeClaim": {
		{"spec", "accessModes", "**"}, {"spec", "storageClassName"}, {"spec", "volumeName"}, {"spec", "volumeMode"}, {"spec", "selector", "**"},
		{"spec", "dataSource", "**"}, {"spec", "dataSourceRef", "**"},
	},
	"RoleBinding":        {{"roleRef", "**"}},
	"ClusterRoleBinding": {{"roleRef", "**"}},
	"PriorityClass":      {{"value"}, {"preemptionPolicy"}},
	"StorageClass":       {{"provisioner"}, {"parameters", "**"}, {"reclaimPolicy"}, {"volumeBindingMode"}},
	"LocalQueue":         {{"spec", "clusterQueue"}},
	"Topology":           {{"spec", "levels", "**"}},
	"Deployment":         {{"spec", "selector", "**"}},
	"DaemonSet":          {{"spec", "selector", "**"}},
	"StatefulSet":        {{"spec", "selector", "**"}, {"spec", "serviceName"}, {"spec", "volumeClaimTemplates", "**"}, {"spec", "podManagementPolicy"}},
	"Job":                {{"spec", "template", "**"}, {"spec", "selector", "**"}, {"spec", "completionMode"}},
	"JobSet": {
		{"spec", "replicatedJobs", "**"}, {"spec", "network", "**"}, {"spec", "successPolicy", "**"}, {"spec", "failurePolicy", "**"},
		{"spec", "startupPolicy", "**"}, {"spec", "managedBy"},
	},
	"Service":      {{"spec", "clusterIP"}, {"spec", "clusterIPs", "**"}},
	"Secret":       {{"type"}},
	"IngressClass": {{"spec", "controller"}},
	"RuntimeClass": {{"handler"}},
}

// changeableOfVolumes are the fields of a PersistentVolume that can change: all others say where its data is.
var changeableOfVolumes = []string{"accessModes", "capacity", "claimRef", "mountOptions", "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName"}

var immutableRule = &Rule{
	Name: "immutable", Title: "Fields that cannot be changed",
	Doc: "The API server refuses the change of these fields of an object that exists, and with it the whole object; a GitOps engine stops " +
		"there. The object must be deleted and made again, and the entry says what that costs. An engine with `force` does so itself " +
		"at once, and the data of a volume is lost. The rule for storage has fields that may only grow, " +
		"such as the size of a volume.",
	Says:   []Consequence{ImmutableField, DeletesObjects, DeletesData},
	claims: func(c *match.Change) bool { return !c.Whole() && isImmutableField(c) },
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		if c.isForceSynced(part[0].After) {
			return c.recreatedEffect(part)
		}
		if c.isDeletedFirst(part[0].After.ID.Namespace) {
			return c.effect(part, DeletesObjects, Notice, "an object is deleted with its namespace and made again, with another "+specField(part[0])+": "+part[0].Kind())
		}
		kind, severity := part[0].Kind(), Warning
		if kind == "PersistentVolumeClaim" {
			severity = Critical
		}
		var fields, words []string
		for _, change := range part {
			fields, words = append(fields, specField(change)), append(words, recreationEffect(change))
		}
		title, rest := "the API server refuses another "+severalText(sortedDistinct(fields))+" of a "+kind+" that exists", "a "+kind+" to be deleted by hand"
		if words := strings.Join(sortedDistinct(words), ", and "); words != "" {
			title, rest = title+"; where it is made again "+words, rest+", after which "+words
		}
		return c.effect(part, ImmutableField, severity, title).withClause("need", rest).withHelp(recreationSteps(kind))
	}),
}

// recreationEffect says what an object with another value does once somebody has deleted it and it is made again, "" where the field says it.
func recreationEffect(c *match.Change) string {
	is := c.New.Scalar()
	switch c.Kind() + "." + specField(c) {
	case "StorageClass.reclaimPolicy":
		if is == "Retain" {
			return "volumes stay, with their data, when their claims go"
		}
		return "the data of new volumes is deleted with their claims"
	case "StorageClass.provisioner", "StorageClass.parameters":
		return "new volumes are made elsewhere, or otherwise: " + changeText(c)
	case "PriorityClass.preemptionPolicy":
		if is == "Never" {
			return "pods of the class stop no others"
		}
		return "pods of the class may stop those of others below the priority " + c.After.Root.Scalar("value")
	case "PriorityClass.value":
		return "its pods go before others, or after them: " + changeText(c)
	case "RuntimeClass.handler":
		return "another program on the machine runs pods of the class: " + changeText(c)
	}
	return ""
}

// recreatedEffect is an object that the engine deletes and makes again, because it is told to.
func (c *Cluster) recreatedEffect(part []*match.Change) Effect {
	kind := part[0].Kind()
	if kind == "PersistentVolumeClaim" {
		return c.effect(part, DeletesData, Critical, "the GitOps engine deletes a volume with its data and makes it again, as `force` has it").
			withClause("lose", "the data of volumes").withJobs(JobsHampered).withHelp(recreationSteps(kind))
	}
	e := c.effect(part, DeletesObjects, Warning, "the GitOps engine deletes "+withArticle(kind)+" and makes it again, as `force` has it: another "+specField(part[0])).
		withClause("have", withArticle(kind)+" that the GitOps engine deletes and makes again")
	if isWorkload(part[0].After) && e.Subject.Tenant != "" {
		e.Jobs = JobsStopped
	}
	return e
}

func isImmutableField(c *match.Change) bool {
	kind := c.Kind()
	if kind == "ResourceFlavor" {
		return c.Path[0] == "spec" && c.Before.Root.Scalar("spec", "topologyName") != ""
	}
	if kind == "PersistentVolume" {
		// All but where the data is (k8s.io/kubernetes pkg/apis/core/validation ValidatePersistentVolumeUpdate).
		return c.Path[0] == "spec" && len(c.Path) > 1 && !slices.Contains(changeableOfVolumes, c.Path[1])
	}
	if (kind == "ConfigMap" || kind == "Secret") && c.Before.Root.Scalar("immutable") == "true" {
		return c.Path[0] == "data" || c.Path[0] == "binaryData" || c.Path[0] == "stringData" || c.Path[0] == "immutable"
	}
	return slices.ContainsFunc(immutableFields[kind], func(pattern []string) bool { return c.Path.Is(pattern...) })
}

func specField(c *match.Change) string {
	if len(c.Path) > 1 && c.Path[0] == "spec" {
		return c.Path[1]
	}
	return c.Path[0]
}

// recreationSteps is the order of steps that works for a kind.
func recreationSteps(kind string) string {
	return cmp.Or(recreated[kind], "delete the object, then sync")
}

var recreated = map[string]string{
	"PersistentVolumeClaim": "make a second volume under another name, copy the data, let jobs use it, delete the first one: deleting it first loses the data",
	"RoleBinding":           recreatedBinding,
	"ClusterRoleBinding":    recreatedBinding,
	"ResourceFlavor":        recreatedMachines,
	"Topology":              recreatedMachines,
	"LocalQueue":            "let running jobs of the queue end, delete it, then sync: jobs that wait must be created again",
	"PriorityClass":         "delete the class, then sync: running pods keep the priority that they have",
	"Deployment":            recreatedPods,
	"DaemonSet":             recreatedPods,
	"StatefulSet":           recreatedPods,
	"Job":                   recreatedPods,
	"JobSet":                recreatedPods,
}

const (
	recreatedBinding  = "delete the binding, then sync: for that moment nobody has its rights; a binding under another name avoids the gap"
	recreatedMachines = "add one under another name, let queues use it, wait until no workload uses the first one, delete it"
	recreatedPods     = "delete it, then sync: its pods stop for that moment, jobs go on without it"
)
