package match

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// amountFields are the maps and fields whose values are amounts: `1000m` is `1`.
var amountFields = map[string]bool{
	"requests": true, "limits": true, "hard": true, "default": true, "defaultRequest": true, "max": true, "min": true,
	"maxLimitRequestRatio": true, "nominalQuota": true, "borrowingLimit": true, "lendingLimit": true, "sizeLimit": true, "storage": true,
}

// durationFields are written in several ways: `60s` is `1m`.
var durationFields = map[string]bool{
	"interval": true, "timeout": true, "retryInterval": true, "duration": true, "maxDuration": true, "scrapeTimeout": true,
}

// sameMeaning says why two different scalars mean the same, or "".
func sameMeaning(path Path, a, b *object.Node) string {
	switch {
	case path.Is("apiVersion") && isVersion(a.Text) && isVersion(b.Text):
		// The identity has the group, so that only the version differs.
		return "the same object in another version of its API"
	case isAmountPath(path) && SameQuantity(a.Text, b.Text):
		return "the amounts are equal"
	case durationFields[path.Last()] && sameDuration(a.Text, b.Text):
		return "the durations are equal"
	}
	return ""
}

// isVersion reports whether an apiVersion ends as Kubernetes names versions: v1, v2beta1.
func isVersion(text string) bool {
	if at := strings.LastIndexByte(text, '/'); at >= 0 {
		text = text[at+1:]
	}
	version, isOne := strings.CutPrefix(text, "v")
	for _, stage := range []string{"alpha", "beta"} {
		version = strings.Replace(version, stage, "", 1)
	}
	_, err := strconv.Atoi(version)
	return isOne && err == nil
}

func isAmountPath(path Path) bool {
	return amountFields[path.Last()] || len(path) > 1 && amountFields[path[len(path)-2]]
}

func sameDuration(a, b string) bool {
	x, err := time.ParseDuration(a)
	if err != nil {
		return false
	}
	y, err := time.ParseDuration(b)
	return err == nil && x == y
}

// RuntimeKinds are the kinds of runtimes, whose pods are those of jobs; WorkloadKinds those whose pods the platform runs; PodKinds all
// that have pods. A JobSet in what is compiled does not belong to a job of a tenant: these are made by Trainer.
var (
	RuntimeKinds  = []string{"ClusterTrainingRuntime", "TrainingRuntime"}
	WorkloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "JobSet", "Pod", "ReplicaSet", "ReplicationController"}
	PodKinds      = slices.Concat(RuntimeKinds, WorkloadKinds)
)

// presetDefault is a value that holds where nothing is written.
type presetDefault struct {
	// kinds are those of objects that have it; none means all.
	kinds []string
	// tail is the end of the path, in which `*` is any key.
	tail  []string
	value string
}

var (
	bindings = []string{"RoleBinding", "ClusterRoleBinding"}
	flux     = []string{"Kustomization"}

	policyKinds = []string{
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
	}
)

// presetDefaults are defaults of the Kubernetes API (k8s.io/kubernetes pkg/apis/*/v1/defaults.go) and of the CRDs that a bundle uses.
var presetDefaults = []presetDefault{
	{[]string{"NetworkPolicy"}, []string{"ports", "*", "protocol"}, "TCP"},
	{bindings, []string{"roleRef", "apiGroup"}, "rbac.authorization.k8s.io"},
	{[]string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}, []string{"spec", "failurePolicy"}, "Fail"},
	{policyKinds, []string{"*", "matchPolicy"}, "Equivalent"},
	{[]string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}, []string{"resourceRules", "*", "scope"}, "*"},
	{[]string{"ValidatingAdmissionPolicy"}, []string{"validations", "*", "reason"}, "Invalid"},
	{[]string{"ClusterQueue"}, []string{"preemption", "reclaimWithinCohort"}, "Never"},
	{[]string{"ClusterQueue"}, []string{"preemption", "withinClusterQueue"}, "Never"},
	{[]string{"ClusterQueue"}, []string{"preemption", "borrowWithinCohort", "policy"}, "Never"},
	{[]string{"ClusterQueue"}, []string{"spec", "queueingStrategy"}, "BestEffortFIFO"},
	{[]string{"ClusterQueue"}, []string{"spec", "stopPolicy"}, "None"},
	{[]string{"ClusterQueue"}, []string{"flavorFungibility", "whenCanBorrow"}, "Borrow"},
	{[]string{"ClusterQueue"}, []string{"flavorFungibility", "whenCanPreempt"}, "TryNextFlavor"},
	{[]string{"LocalQueue"}, []string{"spec", "stopPolicy"}, "None"},
	{[]string{"PriorityClass"}, []string{"preemptionPolicy"}, "PreemptLowerPriority"},
	{[]string{"PriorityClass"}, []string{"globalDefault"}, "false"},
	{[]string{"PersistentVolumeClaim"}, []string{"spec", "volumeMode"}, "Filesystem"},
	{[]string{"ServiceAccount"}, []string{"automountServiceAccountToken"}, "true"},
	{flux, []string{"spec", "force"}, "false"},
	{flux, []string{"spec", "suspend"}, "false"},
	{flux, []string{"spec", "wait"}, "false"},
	{[]string{"Application"}, []string{"automated", "prune"}, "false"},
	{[]string{"Application"}, []string{"automated", "selfHeal"}, "false"},
	{[]string{"Application"}, []string{"spec", "revisionHistoryLimit"}, "10"},
	{PodKinds, []string{"spec", "restartPolicy"}, "Always"},
	{PodKinds, []string{"spec", "dnsPolicy"}, "ClusterFirst"},
	{PodKinds, []string{"spec", "schedulerName"}, "default-scheduler"},
	{PodKinds, []string{"spec", "terminationGracePeriodSeconds"}, "30"},
	{PodKinds, []string{"spec", "enableServiceLinks"}, "true"},
	{PodKinds, []string{"spec", "automountServiceAccountToken"}, "true"},
	{PodKinds, []string{"spec", "hostNetwork"}, "false"},
	{PodKinds, []string{"spec", "hostPID"}, "false"},
	{PodKinds, []string{"spec", "hostIPC"}, "false"},
	{PodKinds, []string{"ports", "*", "protocol"}, "TCP"},
	{PodKinds, []string{"containers", "*", "terminationMessagePath"}, "/dev/termination-log"},
	{PodKinds, []string{"containers", "*", "terminationMessagePolicy"}, "File"},
	{PodKinds, []string{"securityContext", "privileged"}, "false"},
	{PodKinds, []string{"securityContext", "readOnlyRootFilesystem"}, "false"},
	{PodKinds, []string{"volumeMounts", "*", "readOnly"}, "false"},
	{PodKinds, []string{"tolerations", "*", "operator"}, "Equal"},
	{PodKinds, []string{"runLauncherAsNode"}, "false"},
	{PodKinds, []string{"mpi", "numProcPerNode"}, "1"},
	{[]string{"Service"}, []string{"ports", "*", "protocol"}, "TCP"},
	{[]string{"Service"}, []string{"spec", "type"}, "ClusterIP"},
	{[]string{"Service"}, []string{"spec", "sessionAffinity"}, "None"},
	{[]string{"Deployment"}, []string{"spec", "replicas"}, "1"},
	{[]string{"Deployment"}, []string{"spec", "revisionHistoryLimit"}, "10"},
	{[]string{"Deployment"}, []string{"spec", "progressDeadlineSeconds"}, "600"},
}

// idle are maps and lists that mean nothing when they are empty. Others do: `podSelector: {}` selects all pods.
var idle = []string{
	"annotations", "labels", "finalizers", "ownerReferences", "imagePullSecrets", "nodeSelector", "tolerations", "env", "envFrom",
	"volumeMounts", "initContainers", "resources", "requests", "limits", "matchLabels", "matchExpressions", "matchConditions", "secrets",
	"except", "args", "variables",
}

// whyDefaulted says why a value that only one side has holds on the other side too, or "".
func whyDefaulted(kind string, path Path, value, root *object.Node) string {
	if value.Leaf() && (value.Kind == object.MapNode || value.Kind == object.ListNode) {
		if slices.Contains(idle, path.Last()) {
			return "it is empty"
		}
		return ""
	}
	if kind == "NetworkPolicy" && path.Is("spec", "policyTypes", "**") {
		// What the types mean without being written depends on the rules: the network rule says.
		return ""
	}
	if isDefaultBindingGroup(kind, path, value, root) {
		return "it is the default"
	}
	for i := range presetDefaults {
		p := &presetDefaults[i]
		if (len(p.kinds) == 0 || slices.Contains(p.kinds, kind)) && value.Text == p.value && value.Leaf() && endsWith(path, p.tail) {
			return "it is the default"
		}
	}
	return ""
}

// isDefaultBindingGroup reports whether a value is the API group that a subject has anyway.
func isDefaultBindingGroup(kind string, path Path, value, root *object.Node) bool {
	if !slices.Contains(bindings, kind) || !path.Is("subjects", "*", "apiGroup") {
		return false
	}
	subjects := root.Get("subjects")
	if subjects == nil {
		return false
	}
	for i := range subjects.Children {
		if s := &subjects.Children[i]; keyText(s, listKeys["subjects"]) == path[1] {
			people := s.Scalar("kind") != "ServiceAccount"
			return people && value.Text == "rbac.authorization.k8s.io" || !people && value.Text == ""
		}
	}
	return false
}

func endsWith(path Path, tail []string) bool {
	return len(path) >= len(tail) && path[len(path)-len(tail):].Is(tail...)
}
