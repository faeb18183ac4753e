package schema

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// nativeRules returns what the API server checks in Go code for a kind: the part of k8s.io/kubernetes/pkg/apis/*/validation that a
// bundle can break. The code there cannot be imported. Of a runtime it checks nothing; its pods are checked when a job makes them.
func nativeRules(k objectKind) func(*check) {
	switch k {
	case objectKind{"v1", "Namespace"}:
		return (*check).namespaceLabels
	case objectKind{"v1", "ResourceQuota"}:
		return (*check).resourceQuota
	case objectKind{"v1", "LimitRange"}:
		return (*check).limitRange
	case objectKind{"v1", "PersistentVolumeClaim"}:
		return (*check).persistentVolumeClaim
	case objectKind{"v1", "ConfigMap"}:
		return (*check).dataKeys
	case objectKind{"v1", "Secret"}:
		return (*check).secret
	case objectKind{"v1", "Service"}:
		return (*check).service
	case objectKind{"networking.k8s.io/v1", "NetworkPolicy"}:
		return (*check).networkPolicy
	case objectKind{"rbac.authorization.k8s.io/v1", "Role"}, objectKind{"rbac.authorization.k8s.io/v1", "ClusterRole"}:
		return (*check).role
	case objectKind{"rbac.authorization.k8s.io/v1", "RoleBinding"}, objectKind{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"}:
		return (*check).roleBinding
	case objectKind{"scheduling.k8s.io/v1", "PriorityClass"}:
		return (*check).priorityClass
	case objectKind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"}:
		return (*check).validatingPolicy
	case objectKind{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"}:
		return (*check).validatingPolicyBinding
	case objectKind{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"}:
		return (*check).mutatingPolicy
	case objectKind{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"}:
		return (*check).policyBinding
	case objectKind{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"}, objectKind{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"}:
		return (*check).webhooks
	case objectKind{"apps/v1", "Deployment"}, objectKind{"apps/v1", "StatefulSet"}, objectKind{"apps/v1", "DaemonSet"}:
		return (*check).workload
	case objectKind{"batch/v1", "Job"}:
		return func(c *check) { c.job(c.root.Get("spec")) }
	case objectKind{"batch/v1", "CronJob"}:
		return (*check).cronJob
	case objectKind{"policy/v1", "PodDisruptionBudget"}:
		return (*check).disruptionBudget
	case objectKind{"autoscaling/v2", "HorizontalPodAutoscaler"}:
		return (*check).autoscaler
	case objectKind{"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"}, objectKind{"trainer.kubeflow.org/v1alpha1", "TrainingRuntime"}:
		return (*check).runtimePods
	case objectKind{"apiextensions.k8s.io/v1", "CustomResourceDefinition"}:
		return (*check).customResourceDefinition
	}
	return nil
}

// oneOf checks a text that must be one of a few.
func (c *check) oneOf(n *object.Node, allowed ...string) {
	if n != nil && !slices.Contains(allowed, n.Text) {
		c.refuse(n, "", "found `%s`, allowed are %s", n.Text, strings.Join(allowed, ", "))
	}
}

// oneOfOrDefault checks a text that must be one of a few, where an empty one is as good as none: the API server puts the default there.
func (c *check) oneOfOrDefault(n *object.Node, allowed ...string) {
	if n.StringAt() != "" {
		c.oneOf(n, allowed...)
	}
}

// requireFields checks that fields are there and not empty.
func (c *check) requireFields(n *object.Node, names ...string) {
	for _, name := range names {
		if field := n.Get(name); field == nil || field.Text == "" && field.Leaf() {
			c.refuse(n, name, "required, but missing or empty")
		}
	}
}

// amountOf returns an amount, 0 for nothing. One that does not parse has been refused already.
func amountOf(n *object.Node) *resource.Quantity {
	if n == nil {
		return &resource.Quantity{}
	}
	quantity, _ := resource.ParseQuantity(strings.TrimSpace(n.Text))
	return &quantity
}

// compareAmounts returns -1, 0 or 1 as an amount is less than, equal to or greater than another.
func compareAmounts(a, b *object.Node) int { return amountOf(a).Cmp(*amountOf(b)) }

// resourceName checks the name of a resource: of Kubernetes if it has no domain.
func (c *check) resourceName(n *object.Node, known []string) {
	name := n.Key
	if !isPlainKey(name) {
		for _, reason := range validation.IsQualifiedName(name) {
			c.refuse(n, "", "`%s` names no resource: %s", name, reason)
		}
		return
	}
	if !strings.Contains(name, "/") && !slices.Contains(known, name) && !strings.HasPrefix(strings.TrimPrefix(name, "requests."), "hugepages-") {
		c.refuse(n, "", "`%s` is not a resource that Kubernetes knows here; one of a device has a domain, such as nvidia.com/gpu", name)
	}
}

// isWholeNumbered reports whether amounts of a resource are whole numbers: of objects and of devices. A quota of requests for a device is none.
func isWholeNumbered(name string) bool {
	device := strings.Contains(name, "/") && !strings.HasPrefix(name, "requests.") && !strings.Contains(name, "kubernetes.io/")
	return device || slices.Contains(countedResources, name)
}

var countedResources = []string{
	"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps", "services.nodeports",
	"services.loadbalancers",
}

var computeResources = []string{"cpu", "memory", "ephemeral-storage"}

var quotaResources = append([]string{
	"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
	"limits.cpu", "limits.memory", "limits.ephemeral-storage",
}, countedResources...)

// notNegative checks an amount of a resource.
func (c *check) notNegative(n *object.Node, name string) {
	if isPlainAmount(n.Text) {
		return
	}
	quantity := amountOf(n)
	if quantity.Sign() < 0 {
		c.refuse(n, "", "found `%s`, the least allowed is 0", n.Text)
	}
	if isWholeNumbered(name) && quantity.MilliValue()%1000 != 0 {
		c.refuse(n, "", "found `%s`, allowed is a whole number", n.Text)
	}
}

// securityLevels are those of https://kubernetes.io/docs/concepts/security/pod-security-standards/.
var securityLevels = []string{"privileged", "baseline", "restricted"}

// namespaceLabels checks the labels that the PodSecurity admission plugin reads, which every API server runs.
func (c *check) namespaceLabels() {
	labels := c.root.At("metadata", "labels")
	for i := range children(labels) {
		label := &labels.Children[i]
		mode, found := strings.CutPrefix(label.Key, "pod-security.kubernetes.io/")
		if !found {
			continue
		}
		if _, version := strings.CutSuffix(mode, "-version"); !version {
			c.oneOf(label, securityLevels...)
		} else if !isMinorVersion(label.Text) {
			c.refuse(label, "", "found `%s`, allowed is latest or a version such as v1.36", label.Text)
		}
	}
}

func isMinorVersion(text string) bool {
	minor, found := strings.CutPrefix(text, "v1.")
	return text == "latest" || found && minor != "" && strings.Trim(minor, "0123456789") == ""
}

// dataKeys checks the keys of a ConfigMap, or of a Secret.
func (c *check) dataKeys() {
	for _, field := range []string{"data", "binaryData", "stringData"} {
		data := c.root.Get(field)
		for i := range children(data) {
			for _, reason := range validation.IsConfigMapKey(data.Children[i].Key) {
				c.refuse(&data.Children[i], "", "the key is not valid: %s", reason)
			}
		}
	}
}

// highestPriority is the most that a PriorityClass of a user may have; more is for those of the system.
const highestPriority = 1_000_000_000

func (c *check) priorityClass() {
	name, value := c.root.At("metadata", "name"), c.root.Get("value")
	if strings.HasPrefix(name.StringAt(), "system-") && name.StringAt() != "system-node-critical" && name.StringAt() != "system-cluster-critical" {
		c.refuse(name, "", "found `%s`, names that begin with system- are reserved", name.Text)
	} else if value != nil && !strings.HasPrefix(name.StringAt(), "system-") && amountOf(value).CmpInt64(highestPriority) > 0 {
		c.refuse(value, "", "found %s, the most allowed is %d", value.Text, highestPriority)
	}
	c.oneOf(c.root.Get("preemptionPolicy"), "Never", "PreemptLowerPriority")
}

var accessModes = []string{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}

func (c *check) persistentVolumeClaim() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	modes := spec.Get("accessModes")
	if len(children(modes)) == 0 {
		c.refuse(spec, "accessModes", "required, but missing: at least one of %s", strings.Join(accessModes, ", "))
	}
	for i := range children(modes) {
		c.oneOf(&modes.Children[i], accessModes...)
		if modes.Children[i].Text == "ReadWriteOncePod" && len(modes.Children) > 1 {
			c.refuse(&modes.Children[i], "", "ReadWriteOncePod allows no other access mode beside it")
		}
	}
	c.claimedStorage(spec)
	if class := spec.Get("storageClassName"); class.StringAt() != "" {
		c.refuseInvalid(class, validation.IsDNS1123Subdomain(class.Text))
	}
	c.oneOf(spec.Get("volumeMode"), "Block", "Filesystem")
}

func (c *check) claimedStorage(spec *object.Node) {
	storage := spec.At("resources", "requests", "storage")
	switch quantity := amountOf(storage); {
	case storage == nil:
		c.refuse(spec, "resources.requests.storage", "required, but missing")
	case quantity.Sign() <= 0:
		c.refuse(storage, "", "found `%s`, allowed is more than 0", storage.Text)
	}
}
