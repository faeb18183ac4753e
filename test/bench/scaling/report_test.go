package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		log   string
		want  Size
		fails bool
	}{
		"Numbers": {"measure strong 1.5\nrank=0\nmeasure weak 2\nmeasure hpcc 7\nmeasure ticks 40\nmeasure wall 10\n", Size{Pods: 2, Strong: []float64{1.5}, Weak: []float64{2}, HPCC: []float64{7}, Share: 0.02}, false},
		"Missing": {"measure strong 1.5\nmeasure ticks 4\nmeasure wall 10\n", Size{Pods: 2, Strong: []float64{1.5}}, true},
		"Cut off": {"measure strong 1.5\nmeasure weak 2\n", Size{Pods: 2, Strong: []float64{1.5}, Weak: []float64{2}}, true},
		"Nothing": {"", Size{Pods: 2}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Size{Pods: 2}
			err := got.read(tc.log)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("read: %v\n%s", err, diff)
			}
		})
	}
}
