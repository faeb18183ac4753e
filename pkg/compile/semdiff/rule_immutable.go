package semdiff

import "slices"

// fixed are fields that the API server does not let change: by kind, patterns of Path.Is. They are those of the validation code of
// Kubernetes (pkg/apis/*/validation), of the rules of Kueue's and JobSet's CRDs (`self == oldSelf`) and of JobSet's webhook.
var fixed = map[string][][]string{
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
	"Service":          {{"spec", "clusterIP"}, {"spec", "clusterIPs", "**"}},
	"Secret":           {{"type"}},
	"PersistentVolume": {{"spec", "**"}},
	"IngressClass":     {{"spec", "controller"}},
	"RuntimeClass":     {{"handler"}},
}

var immutableRule = &Rule{
	Name: "immutable", Title: "Fields that cannot be changed",
	Doc: "The API server refuses the change of these fields of an object that exists, and with it the whole object; a GitOps engine stops " +
		"there. The object must be deleted and made again, and the entry says what that costs. Fields that may only grow, such as the size of a " +
		"volume, are told by the rule for storage.",
	Says: []Consequence{ImmutableField},
	claims: func(c *Change) bool {
		return !c.Whole() && isFixed(c)
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			kind := part[0].Kind()
			e := s.effect(part, ImmutableField, Warning, "the API server refuses another "+fieldOf(part[0])+" of a "+kind+" that exists", shownAll(part)).
				with("need", "a "+kind+" to be deleted by hand").helped(recreate(kind))
			if kind == "PersistentVolumeClaim" {
				e.Severity = Critical
			}
			effects = append(effects, e)
		}
		return effects
	},
}

func isFixed(c *Change) bool {
	kind := c.Kind()
	if kind == "ResourceFlavor" {
		return c.Path[0] == "spec" && c.Before.Root.Scalar("spec", "topologyName") != ""
	}
	if (kind == "ConfigMap" || kind == "Secret") && c.Before.Root.Scalar("immutable") == "true" {
		return c.Path[0] == "data" || c.Path[0] == "binaryData" || c.Path[0] == "stringData" || c.Path[0] == "immutable"
	}
	return slices.ContainsFunc(fixed[kind], func(pattern []string) bool { return c.Path.Is(pattern...) })
}

func fieldOf(c *Change) string {
	if len(c.Path) > 1 && c.Path[0] == "spec" {
		return c.Path[1]
	}
	return c.Path[0]
}

// recreate is the order of steps that works for a kind.
func recreate(kind string) string {
	switch kind {
	case "PersistentVolumeClaim":
		return "make a second volume under another name, copy the data, let jobs use it, delete the first one: deleting it first loses the data"
	case "RoleBinding", "ClusterRoleBinding":
		return "delete the binding, then sync: for that moment nobody has its rights; a binding under another name avoids the gap"
	case "ResourceFlavor", "Topology":
		return "add one under another name, let queues use it, wait until no workload uses the first one, delete it"
	case "LocalQueue":
		return "let running jobs of the queue end, delete it, then sync: jobs that wait must be created again"
	case "PriorityClass":
		return "delete the class, then sync: running pods keep the priority that they have"
	case "Deployment", "DaemonSet", "StatefulSet", "Job", "JobSet":
		return "delete it, then sync: its pods stop for that moment, jobs go on without it"
	}
	return "delete the object, then sync"
}
