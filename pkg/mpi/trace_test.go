package mpi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTraces(t *testing.T) {
	for text, want := range map[string][]Trace{
		"traffic": {TraceTraffic}, "nccl, traffic,nccl": {TraceNCCL, TraceTraffic}, "horovod": {TraceHorovod}, "waiting": {TraceWaiting},
	} {
		if got, err := ParseTraces(text); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "all", "traffic,", "traffic horovod", "Traffic"} {
		if _, err := ParseTraces(text); err == nil || !strings.Contains(err.Error(), "allowed are `traffic`, `waiting`, `horovod` and `nccl`") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A list of layers leaves out all others, and with the monitoring component at its head Open MPI 5.0.7 crashes.
func TestTrafficFitsTheLayerOfTheRuntime(t *testing.T) {
	for _, network := range []Network{{Fabric: Ethernet}, {Fabric: Ethernet, Interface: "eth0"}} {
		for _, dialect := range []Dialect{ORTE, PRRTE} {
			pml := pmlOf(Environment(dialect, network))
			variables, err := TrafficVariables(pml)
			if got := pmlOf(variables); err != nil || pml == "" && got != "" || pml != "" && got != pml+",monitoring" {
				t.Errorf("%s: %q becomes %q, %v", dialect, pml, got, err)
			}
		}
	}
	for _, fabric := range []Fabric{InfiniBand, RoCE, EFA} {
		if variables, err := TrafficVariables(pmlOf(Environment(PRRTE, Network{Fabric: fabric}))); err == nil {
			t.Errorf("%s, where it was never tried, gets %v", fabric, variables)
		}
	}
}

func pmlOf(variables []Variable) string {
	for _, v := range variables {
		if v.Name == PMLVariable {
			return v.Value
		}
	}
	return ""
}
