package main

import (
	"reflect"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	plan := Plan{
		Tenants: map[string]Share{"vision": {"research", 3, 6}, "speech": {"research", 2, 4}},
		Cohorts: map[string]int{"research": 6},
	}
	start := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	running := func(tenant, name string, machines int) workload { return workload{tenant, name, start, machines, true} }
	waiting := func(tenant, name string, machines int) workload {
		return workload{tenant, name, start, machines, false}
	}
	cases := map[string]struct {
		looks [][]workload
		every time.Duration
		want  []string
	}{
		"Borrowed": {looks: [][]workload{{running("vision", "a", 4), running("speech", "b", 2)}}},
		"MoreThanItsMost": {
			looks: [][]workload{{running("speech", "b", 5)}},
			want:  []string{"tenant speech has 5 machines, and never more than 4 by the plan"},
		},
		"MoreThanThereAre": {
			looks: [][]workload{{running("vision", "a", 4), running("speech", "b", 3)}},
			want:  []string{"cohort research has given 7 machines of 6"},
		},
		"GuaranteedTooLate": {
			looks: [][]workload{{running("vision", "a", 6), waiting("speech", "b", 2)}, {running("vision", "a", 6), waiting("speech", "b", 2)}},
			every: 61 * time.Second,
			want:  []string{"job b waits for machines that are guaranteed to its tenant, for more than 1m0s"},
		},
		"GuaranteedInTime": {
			looks: [][]workload{{running("vision", "a", 6), waiting("speech", "b", 2)}, {running("speech", "b", 2)}},
			every: 59 * time.Second,
		},
		"WaitsForMoreThanItsOwn": {
			looks: [][]workload{{running("vision", "a", 6), waiting("speech", "b", 3)}, {running("vision", "a", 6), waiting("speech", "b", 3)}},
			every: time.Hour,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJudge(plan)
			for i, look := range tc.looks {
				j.look(start.Add(time.Duration(i)*tc.every), look)
			}
			if !reflect.DeepEqual(j.violations, tc.want) {
				t.Errorf("got %q, want %q", j.violations, tc.want)
			}
		})
	}
}
