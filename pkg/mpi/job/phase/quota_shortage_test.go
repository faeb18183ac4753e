package phase

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

func listOf(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func quotaWith(hard, used corev1.ResourceList, edits ...func(*corev1.ResourceQuota)) corev1.ResourceQuota {
	quota := corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
	for _, edit := range edits {
		edit(&quota)
	}
	return quota
}

// fourNodes are a launcher and four nodes with eight GPUs each.
func fourNodes() []desired.PodSet {
	node := corev1.PodSpec{Containers: []corev1.Container{{Name: "node", Resources: corev1.ResourceRequirements{
		Requests: listOf("cpu", "2", "memory", "4Gi"), Limits: listOf("memory", "4Gi", "nvidia.com/gpu", "8"),
	}}}}
	launcher := corev1.PodSpec{PriorityClassName: "research", Containers: []corev1.Container{{Name: "node", Resources: corev1.ResourceRequirements{
		Requests: listOf("cpu", "100m", "memory", "1Gi"), Limits: listOf("memory", "1Gi"),
	}}}}
	return []desired.PodSet{{Name: "launcher", Count: 1, Spec: launcher}, {Name: "node", Count: 4, Spec: node}}
}

func TestShortages(t *testing.T) {
	scoped := func(scopes ...corev1.ResourceQuotaScope) func(*corev1.ResourceQuota) {
		return func(q *corev1.ResourceQuota) { q.Spec.Scopes = scopes }
	}
	ofClass := func(operator corev1.ScopeSelectorOperator, classes ...string) func(*corev1.ResourceQuota) {
		return func(q *corev1.ResourceQuota) {
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
				{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: classes},
			}}
		}
	}
	cases := map[string]struct {
		reason string
		quota  corev1.ResourceQuota
		never  bool
		want   string
	}{
		"Fits": {"to the last pod", quotaWith(listOf("pods", "5", "requests.nvidia.com/gpu", "32", "cpu", "8100m", "limits.memory", "17Gi"), nil), false, ""},
		"GPUsTaken": {
			"numbers say what is left", quotaWith(listOf("requests.nvidia.com/gpu", "32"), listOf("requests.nvidia.com/gpu", "8")), false,
			"Insufficient GPUs: requested 32, available 24 of 32 in quota `team` (requests.nvidia.com/gpu)",
		},
		"GPUsNever": {
			"no waiting helps", quotaWith(listOf("requests.nvidia.com/gpu", "16"), nil), true,
			"Insufficient GPUs: requested 32, quota `team` allows 16 in all (requests.nvidia.com/gpu)",
		},
		"LauncherCounts": {
			"five pods, not four", quotaWith(listOf("pods", "4"), nil), true,
			"Insufficient pods: requested 5, quota `team` allows 4 in all (pods)",
		},
		"OverUsed": {
			"a quota that shrank has nothing left", quotaWith(listOf("cpu", "10"), listOf("cpu", "12")), false,
			"Insufficient cpu: requested 8100m, available 0 of 10 in quota `team` (cpu)",
		},
		"RequestsMemory": {
			"both spellings count", quotaWith(listOf("requests.memory", "20Gi"), listOf("requests.memory", "4Gi")), false,
			"Insufficient memory: requested 17Gi, available 16Gi of 20Gi in quota `team` (requests.memory)",
		},
		"LimitMissing": {
			"a quota on limits wants every container to have one", quotaWith(listOf("limits.cpu", "100"), nil), true,
			"quota `team` counts limits.cpu, so every container must have a cpu limit, and container `node` of `launcher` has none: add it to the runtime, or a default to a LimitRange",
		},
		"OtherKinds":     {"what pods do not use is not ours to count", quotaWith(listOf("services", "0", "requests.storage", "0"), nil), false, ""},
		"Terminating":    {"pods without a deadline are not terminating", quotaWith(listOf("pods", "0"), nil, scoped(corev1.ResourceQuotaScopeTerminating)), false, ""},
		"NotTerminating": {"", quotaWith(listOf("pods", "0"), nil, scoped(corev1.ResourceQuotaScopeNotTerminating)), true, "Insufficient pods: requested 5, quota `team` allows 0 in all (pods)"},
		"BestEffort":     {"", quotaWith(listOf("pods", "0"), nil, scoped(corev1.ResourceQuotaScopeBestEffort)), false, ""},
		"NotBestEffort":  {"", quotaWith(listOf("pods", "0"), nil, scoped(corev1.ResourceQuotaScopeNotBestEffort)), true, "Insufficient pods: requested 5, quota `team` allows 0 in all (pods)"},
		"ClassIn":        {"only the launcher has the class", quotaWith(listOf("pods", "0"), nil, ofClass("In", "research")), true, "Insufficient pods: requested 1, quota `team` allows 0 in all (pods)"},
		"ClassNotIn":     {"", quotaWith(listOf("pods", "0"), nil, ofClass("NotIn", "research")), true, "Insufficient pods: requested 4, quota `team` allows 0 in all (pods)"},
		"ClassOther":     {"", quotaWith(listOf("pods", "0"), nil, ofClass("In", "production")), false, ""},
		"ClassNone":      {"", quotaWith(listOf("pods", "0"), nil, ofClass("DoesNotExist")), true, "Insufficient pods: requested 4, quota `team` allows 0 in all (pods)"},
		"Affinity":       {"", quotaWith(listOf("pods", "0"), nil, scoped(corev1.ResourceQuotaScopeCrossNamespacePodAffinity)), false, ""},
		"UnknownScope":   {"the API server decides what we do not know", quotaWith(listOf("pods", "0"), nil, scoped("Weekend")), false, ""},
		"Unobserved":     {"a quota that no controller has seen yet", corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.ResourceQuotaSpec{Hard: listOf("pods", "4")}}, true, "Insufficient pods: requested 5, quota `team` allows 4 in all (pods)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := findShortages(fourNodes(), []corev1.ResourceQuota{tc.quota})
			got, never := "", false
			if len(found) > 0 {
				got, never = found[0].String(), found[0].isPermanent()
			}
			if got != tc.want || never != tc.never {
				t.Errorf("%s:\nwant %q, never %v\n got %q, never %v", tc.reason, tc.want, tc.never, got, never)
			}
		})
	}
}

func TestWorstShortageComesFirst(t *testing.T) {
	found := findShortages(fourNodes(), []corev1.ResourceQuota{quotaWith(
		listOf("cpu", "9", "memory", "1Gi", "requests.nvidia.com/gpu", "32"), listOf("cpu", "9", "requests.nvidia.com/gpu", "1"),
	)})
	var got []string
	for _, s := range found {
		got = append(got, s.resource)
	}
	if diff := cmp.Diff([]string{"memory", "requests.nvidia.com/gpu", "cpu"}, got); diff != "" {
		t.Errorf("what no waiting helps, then GPUs, then the rest: -want, +got:\n%s", diff)
	}
}

func TestLimitRanges(t *testing.T) {
	ranges := func(item corev1.LimitRangeItem) []corev1.LimitRange {
		return []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}}
	}
	ofContainer := corev1.LimitTypeContainer
	cases := map[string]struct {
		reason string
		item   corev1.LimitRangeItem
		want   string
	}{
		"Fits":      {"", corev1.LimitRangeItem{Type: ofContainer, Max: listOf("memory", "4Gi"), Min: listOf("cpu", "100m")}, ""},
		"TooMuch":   {"", corev1.LimitRangeItem{Type: ofContainer, Max: listOf("memory", "2Gi")}, "container `node` of `node` has a limit of 4Gi memory: LimitRange `team` allows at most 2Gi"},
		"TooLittle": {"", corev1.LimitRangeItem{Type: ofContainer, Min: listOf("cpu", "1")}, "container `node` of `launcher` requests 100m cpu: LimitRange `team` wants at least 1"},
		"NoLimit":   {"a maximum wants a limit", corev1.LimitRangeItem{Type: ofContainer, Max: listOf("cpu", "64")}, "container `node` of `launcher` has no limit for cpu: LimitRange `team` wants one of at most 64"},
		"Default":   {"which a default gives", corev1.LimitRangeItem{Type: ofContainer, Max: listOf("cpu", "64"), Default: listOf("cpu", "64")}, ""},
		"NoRequest": {"", corev1.LimitRangeItem{Type: ofContainer, Min: listOf("ephemeral-storage", "1Gi")}, "container `node` of `launcher` has no request for ephemeral-storage: LimitRange `team` wants at least 1Gi"},
		"Ratio":     {"", corev1.LimitRangeItem{Type: ofContainer, Default: listOf("cpu", "4"), MaxLimitRequestRatio: listOf("cpu", "3")}, "container `node` of `launcher` has a limit of 4 and a request of 100m cpu: LimitRange `team` allows a limit of at most 3 times the request"},
		"Above":     {"a default limit may be below the request", corev1.LimitRangeItem{Type: ofContainer, Default: listOf("cpu", "1")}, "container `node` of `node` requests 2 cpu, and its limit is 1, which may be the default of a LimitRange"},
		"LowLimit":  {"", corev1.LimitRangeItem{Type: ofContainer, DefaultRequest: listOf("ephemeral-storage", "2Gi"), Max: listOf("ephemeral-storage", "1Gi"), Default: listOf("ephemeral-storage", "3Gi")}, "container `node` of `launcher` has a limit of 3Gi ephemeral-storage: LimitRange `team` allows at most 1Gi"},
		"Pod":       {"", corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: listOf("nvidia.com/gpu", "4", "memory", "8Gi")}, "a pod of `node` has a limit of 8 nvidia.com/gpu: LimitRange `team` allows at most 4"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sets := fourNodes()
			if name == "Pod" {
				sets = sets[1:]
			}
			if got := limitRangeViolation(podSetsWithDefaults(sets, ranges(tc.item)), ranges(tc.item)); got != tc.want {
				t.Errorf("%s:\nwant %q\n got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// Defaults of a LimitRange count against the quota, as the API server counts them.
func TestDefaultsCount(t *testing.T) {
	bare := []desired.PodSet{{Name: "node", Count: 3, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "node"}}}}}
	limits := []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Default: listOf("cpu", "2"), DefaultRequest: listOf("cpu", "1"),
	}}}}}
	found := findShortages(podSetsWithDefaults(bare, limits), []corev1.ResourceQuota{quotaWith(listOf("requests.cpu", "2", "limits.cpu", "6"), nil)})
	if len(found) != 1 || found[0].resource != "requests.cpu" || found[0].needs.String() != "3" {
		t.Errorf("three pods with the default request of one CPU need three: %v", found)
	}
	if len(bare[0].Spec.Containers[0].Resources.Requests) != 0 {
		t.Error("the job itself is not changed")
	}
}
