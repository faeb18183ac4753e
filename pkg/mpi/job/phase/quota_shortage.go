package phase

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// quotaShortage is a resource of which a quota has less than the job needs.
type quotaShortage struct {
	quota, resource   string
	needs, used, hard resource.Quantity
	// hint says why the numbers do not tell all, or is empty.
	hint string
}

// isPermanent reports whether the quota is too small even when it is empty.
func (s quotaShortage) isPermanent() bool { return s.hint != "" || s.needs.Cmp(s.hard) > 0 }

func (s quotaShortage) String() string {
	if s.hint != "" {
		return s.hint
	}
	if s.isPermanent() {
		return fmt.Sprintf("Insufficient %s: requested %s, quota `%s` allows %s in all (%s)", resourceNoun(s.resource), &s.needs, s.quota, &s.hard, s.resource)
	}
	left := s.hard.DeepCopy()
	left.Sub(s.used)
	if left.Sign() < 0 {
		left = resource.Quantity{}
	}
	return fmt.Sprintf("Insufficient %s: requested %s, available %s of %s in quota `%s` (%s)", resourceNoun(s.resource), &s.needs, &left, &s.hard, s.quota, s.resource)
}

// resourceNoun is how people call a resource.
func resourceNoun(name string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "requests."), "limits.")
	switch {
	case strings.HasSuffix(short, "/gpu"):
		return "GPUs"
	case short == "count/pods":
		return "pods"
	}
	return short
}

// findShortages compares all pods of a job with every quota that counts them, sorted: those that no waiting helps come first.
func findShortages(sets []desired.PodSet, quotas []corev1.ResourceQuota) []quotaShortage {
	var found []quotaShortage
	for _, quota := range quotas {
		counted := slices.DeleteFunc(slices.Clone(sets), func(s desired.PodSet) bool { return !quotaCountsPod(quota, s.Spec) })
		if len(counted) == 0 {
			continue
		}
		needs, hard := quotaUsage(counted), quota.Status.Hard
		if len(hard) == 0 {
			hard = quota.Spec.Hard
		}
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			if hint := whyUnspecified(quota.Name, name, counted); hint != "" {
				found = append(found, quotaShortage{quota: quota.Name, resource: string(name), hint: hint})
				continue
			}
			need, asked := needs[name]
			s := quotaShortage{quota: quota.Name, resource: string(name), needs: need, used: quota.Status.Used[name], hard: hard[name]}
			if after := addQuantities(need, s.used); asked && !need.IsZero() && after.Cmp(s.hard) > 0 {
				found = append(found, s)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b quotaShortage) int {
		return cmp.Or(cmp.Compare(shortageRank(a), shortageRank(b)), cmp.Compare(a.quota, b.quota), cmp.Compare(a.resource, b.resource))
	})
	return found
}

// shortageRank puts what no waiting helps first, then accelerators, which people ask about.
func shortageRank(s quotaShortage) int {
	order := 1
	if resourceNoun(s.resource) == "GPUs" {
		order = 0
	}
	if !s.isPermanent() {
		order += 2
	}
	return order
}

func addQuantities(a, b resource.Quantity) resource.Quantity {
	total := a.DeepCopy()
	total.Add(b)
	return total
}

// quotaUsage returns what a quota counts, under the names that quotas have for it
// (https://kubernetes.io/docs/concepts/policy/resource-quotas/).
func quotaUsage(sets []desired.PodSet) corev1.ResourceList {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	pods := int64(0)
	for _, set := range sets {
		desired.AddTimes(requests, desired.PodTotal(set.Spec, desired.RequestsOf), set.Count)
		desired.AddTimes(limits, desired.PodTotal(set.Spec, desired.LimitsOf), set.Count)
		pods += set.Count
	}
	total := corev1.ResourceList{}
	for name, quantity := range requests {
		total[corev1.ResourceName("requests."+string(name))] = quantity
		if !strings.Contains(string(name), "/") {
			total[name] = quantity
		}
	}
	for name, quantity := range limits {
		total[corev1.ResourceName("limits."+string(name))] = quantity
	}
	total[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	total["count/pods"] = total[corev1.ResourcePods]
	return total
}

// whyUnspecified says why a quota refuses pods that leave a resource open: a quota on CPU or memory makes every container
// name it (k8s.io/kubernetes pkg/quota/v1/evaluator/core).
func whyUnspecified(quota string, name corev1.ResourceName, sets []desired.PodSet) string {
	part, what := desired.RequestsOf, "request"
	bare, isLimit := strings.CutPrefix(string(name), "limits.")
	if isLimit {
		part, what = desired.LimitsOf, "limit"
	}
	bare = strings.TrimPrefix(bare, "requests.")
	if bare != string(corev1.ResourceCPU) && bare != string(corev1.ResourceMemory) {
		return ""
	}
	for _, set := range sets {
		for _, c := range slices.Concat(set.Spec.InitContainers, set.Spec.Containers) {
			if _, found := part(c.Resources)[corev1.ResourceName(bare)]; !found {
				return fmt.Sprintf("quota `%s` counts %s, so every container must have a %s %s, and container `%s` of `%s` has none: add it to the runtime, or a default to a LimitRange", quota, name, bare, what, c.Name, set.Name)
			}
		}
	}
	return ""
}

// quotaCountsPod reports whether the scopes of a quota take in a pod.
func quotaCountsPod(quota corev1.ResourceQuota, pod corev1.PodSpec) bool {
	for _, scope := range quota.Spec.Scopes {
		if !isInScope(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, pod) {
			return false
		}
	}
	if quota.Spec.ScopeSelector == nil {
		return true
	}
	return !slices.ContainsFunc(quota.Spec.ScopeSelector.MatchExpressions, func(r corev1.ScopedResourceSelectorRequirement) bool {
		return !isInScope(r, pod)
	})
}

func isInScope(r corev1.ScopedResourceSelectorRequirement, pod corev1.PodSpec) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return pod.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return pod.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesScope(r, pod.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return hasCrossNamespaceTerm(pod.Affinity)
	}
	// A scope that we do not know: the API server decides.
	return false
}

func isBestEffort(pod corev1.PodSpec) bool {
	return len(desired.PodTotal(pod, desired.RequestsOf)) == 0
}

func matchesScope(r corev1.ScopedResourceSelectorRequirement, value string) bool {
	switch r.Operator {
	case corev1.ScopeSelectorOpIn:
		return slices.Contains(r.Values, value)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(r.Values, value)
	case corev1.ScopeSelectorOpDoesNotExist:
		return value == ""
	}
	return value != ""
}

func hasCrossNamespaceTerm(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	if a := affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}
