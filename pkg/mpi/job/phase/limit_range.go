package phase

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// podSetsWithDefaults returns the pods as the API server makes them: LimitRanges fill in what containers leave open
// (https://kubernetes.io/docs/concepts/policy/limit-range/).
func podSetsWithDefaults(sets []desired.PodSet, ranges []corev1.LimitRange) []desired.PodSet {
	result := make([]desired.PodSet, 0, len(sets))
	for _, set := range sets {
		spec := set.Spec.DeepCopy()
		for _, item := range limitItemsOfKind(ranges, corev1.LimitTypeContainer) {
			for i := range spec.InitContainers {
				fillDefaults(&spec.InitContainers[i].Resources, item)
			}
			for i := range spec.Containers {
				fillDefaults(&spec.Containers[i].Resources, item)
			}
		}
		result = append(result, desired.PodSet{Name: set.Name, Count: set.Count, Spec: *spec})
	}
	return result
}

// fillDefaults takes defaults for what is open; what the container says wins. A limit of the container is its request before any
// default is.
func fillDefaults(r *corev1.ResourceRequirements, item limitItem) {
	r.Requests = desired.OverlayResources(item.DefaultRequest, r.Limits, r.Requests)
	r.Limits = desired.OverlayResources(item.Default, r.Limits)
}

type limitItem struct {
	corev1.LimitRangeItem
	rangeName string
}

func limitItemsOfKind(ranges []corev1.LimitRange, kind corev1.LimitType) []limitItem {
	var found []limitItem
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if item.Type == kind {
				found = append(found, limitItem{item, r.Name})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b limitItem) int {
		if a.rangeName < b.rangeName {
			return -1
		}
		if a.rangeName > b.rangeName {
			return 1
		}
		return 0
	})
	return found
}

// requestAboveLimit says that a container requests more than the limit which a LimitRange gives it, so that the API server calls its
// pod invalid, or the empty string.
func requestAboveLimit(subject string, r corev1.ResourceRequirements) string {
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, found := r.Limits[name]; found && request.Cmp(limit) > 0 {
			return fmt.Sprintf("%s requests %s %s, and its limit is %s, which may be the default of a LimitRange", subject, &request, name, &limit)
		}
	}
	return ""
}

// limitRangeViolation returns the first way in which pods break a LimitRange, or the empty string.
func limitRangeViolation(sets []desired.PodSet, ranges []corev1.LimitRange) string {
	for _, set := range sets {
		for _, c := range slices.Concat(set.Spec.InitContainers, set.Spec.Containers) {
			if text := requestAboveLimit(fmt.Sprintf("container `%s` of `%s`", c.Name, set.Name), c.Resources); text != "" && len(ranges) > 0 {
				return text
			}
		}
		for _, item := range limitItemsOfKind(ranges, corev1.LimitTypeContainer) {
			for _, c := range slices.Concat(set.Spec.InitContainers, set.Spec.Containers) {
				subject := fmt.Sprintf("container `%s` of `%s`", c.Name, set.Name)
				if text := item.violationOf(subject, desired.RequestsOf(c.Resources), c.Resources.Limits); text != "" {
					return text
				}
			}
		}
		for _, item := range limitItemsOfKind(ranges, corev1.LimitTypePod) {
			subject := fmt.Sprintf("a pod of `%s`", set.Name)
			if text := item.violationOf(subject, desired.PodTotal(set.Spec, desired.RequestsOf), desired.PodTotal(set.Spec, desired.LimitsOf)); text != "" {
				return text
			}
		}
	}
	return ""
}

func (item limitItem) violationOf(subject string, requests, limits corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		if limit, found := limits[name]; !found {
			return fmt.Sprintf("%s has no limit for %s: LimitRange `%s` wants one of at most %s", subject, name, item.rangeName, &most)
		} else if limit.Cmp(most) > 0 {
			return fmt.Sprintf("%s has a limit of %s %s: LimitRange `%s` allows at most %s", subject, &limit, name, item.rangeName, &most)
		}
		if request := requests[name]; request.Cmp(most) > 0 {
			return fmt.Sprintf("%s requests %s %s: LimitRange `%s` allows at most %s", subject, &request, name, item.rangeName, &most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		if request, found := requests[name]; !found {
			return fmt.Sprintf("%s has no request for %s: LimitRange `%s` wants at least %s", subject, name, item.rangeName, &least)
		} else if request.Cmp(least) < 0 {
			return fmt.Sprintf("%s requests %s %s: LimitRange `%s` wants at least %s", subject, &request, name, item.rangeName, &least)
		}
		if limit, found := limits[name]; found && limit.Cmp(least) < 0 {
			return fmt.Sprintf("%s has a limit of %s %s: LimitRange `%s` wants at least %s", subject, &limit, name, item.rangeName, &least)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		most, limit, request := item.MaxLimitRequestRatio[name], limits[name], requests[name]
		if ratioExceeds(limit, request, most) {
			return fmt.Sprintf("%s has a limit of %s and a request of %s %s: LimitRange `%s` allows a limit of at most %s times the request", subject, &limit, &request, name, item.rangeName, &most)
		}
	}
	return ""
}

func ratioExceeds(limit, request, most resource.Quantity) bool {
	return !request.IsZero() && limit.AsApproximateFloat64()/request.AsApproximateFloat64() > most.AsApproximateFloat64()
}
