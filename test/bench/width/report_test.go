package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	cases := map[string]struct {
		log   string
		want  Launches
		fails bool
	}{
		"Numbers":  {"measure bare 100000\nrank=0\nmeasure mpirun 2000000\nmeasure init 1500000\n", Launches{Bare: []float64{0.1}, Mpirun: []float64{2}, Init: []float64{1.5}}, false},
		"Missing":  {"measure bare 100000\nmeasure mpirun 2000000\n", Launches{Bare: []float64{0.1}, Mpirun: []float64{2}}, true},
		"Nothing":  {"", Launches{}, true},
		"NoNumber": {"measure bare fast\n", Launches{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got Launches
			err := got.read(tc.log)
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("read: %v\n%s", err, diff)
			}
		})
	}
}
