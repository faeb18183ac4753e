package preflight

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// machines have so much CPU each, and room for ten pods.
func machines(cpu ...string) []corev1.ResourceList {
	all := []corev1.ResourceList{}
	for _, amount := range cpu {
		all = append(all, corev1.ResourceList{
			"cpu": resource.MustParse(amount), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("10"),
		})
	}
	return all
}

// TestMachines: a job of four nodes with one CPU each, and a launcher with one, is placed on machines.
func TestMachines(t *testing.T) {
	full := machines("8")
	full[0]["pods"] = resource.MustParse("4")
	type rooms = []corev1.ResourceList
	two := func(cpu string) rooms { return machines(cpu, cpu) }
	for name, tc := range map[string]struct {
		whole, free rooms
		verdict     Verdict
		largest     int32 // -1 for none
		text        string
	}{
		"room for all":           {two("4"), two("4"), Fits, -1, ""},
		"exactly":                {machines("3", "2"), machines("3", "2"), Fits, -1, ""},
		"others run":             {two("4"), two("2"), Waits, 3, "room for 3 of 4 nodes now"},
		"remainders do not help": {two("4"), machines("1500m", "3500m"), Waits, 3, "room for 3 of 4 nodes now"},
		"nothing is free":        {two("4"), two("0"), Waits, 0, "room for 0 of 4 nodes now"},
		"machines are too small": {two("900m"), two("0"), Never, 0, "even if nothing else ran"},
		"too few machines":       {two("1500m"), nil, Never, 0, "2 suitable machines have room for 0 of 4"},
		"one place too few":      {two("2"), nil, Never, 3, "room for 3 of 4 nodes even if nothing else ran"},
		"pods are not seen":      {two("4"), nil, Fits, -1, ""},
		"machines take few pods": {full, full, Never, 3, "room for 3 of 4 nodes even if nothing else ran"},
	} {
		found := &MatchingMachines{Matching: len(tc.whole), Ready: len(tc.whole), Whole: tc.whole, Free: tc.free}
		a := JudgeInput(Input{TrainJob: job(4), Runtime: runtime(t), Machines: found})
		if a.Verdict != tc.verdict || !strings.Contains(a.Text(), tc.text) {
			t.Errorf("%s: %s", name, a.Text())
		}
		if largest := ptr.Deref(a.LargestNodes, -1); largest != tc.largest {
			t.Errorf("%s: the largest has %d nodes, want %d", name, largest, tc.largest)
		}
	}
}
