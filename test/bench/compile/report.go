package main

import (
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

// Report is the result of a whole run.
type Report struct {
	Machine series.Machine `json:"machine"`
	Tools   []tool.Tool    `json:"tools"`
	// Compared is the number of objects that were found equal between all tools before measuring.
	Compared int      `json:"objectsComparedPerTool"`
	Series   []Series `json:"series"`
}

// The scenarios.
const (
	fullBuild   = "full build"
	oneTenant   = "one tenant changed"
	noChange    = "no change"
	checkOnly   = "check"
	tenTenants  = "10 tenants"
	growthBuild = "growth"
)

// Series is runs of one command line on one workload.
type Series struct {
	Tool     string `json:"tool"`
	Scenario string `json:"scenario"`
	// Workers is the number that the tool was told, or 0 where it chose itself.
	Workers  int `json:"workers,omitempty"`
	Tenants  int `json:"tenants"`
	Clusters int `json:"clusters"`
	// Objects is how many objects the command makes, or is responsible for where nothing changed.
	Objects int `json:"objects"`
	// Factor by which the measured usage must be multiplied to stand for all tenants, where a sample was measured. 1 means that all
	// is measured.
	Factor float64 `json:"extrapolationFactor"`
	// The spreads are without the factor.
	series.Usage
	// PerCPUSecond is the objects per CPU second of the median run.
	PerCPUSecond float64 `json:"objectsPerCPUSecond"`
}

func (s *Series) summarize() {
	s.Summarize()
	if cpu := s.CPU.Median * s.Factor; cpu > 0 {
		s.PerCPUSecond = float64(s.Objects) / cpu
	}
}

// TotalCPU returns the CPU seconds of the median run for all tenants.
func (s *Series) TotalCPU() float64 { return s.CPU.Median * s.Factor }

// find returns the first series of a tool and scenario with a number of tenants; 0 fits all. Of several numbers of workers the
// first is 1.
func (r *Report) find(tool, scenario string, tenants int) *Series {
	for i := range r.Series {
		s := &r.Series[i]
		if s.Tool == tool && s.Scenario == scenario && (tenants == 0 || s.Tenants == tenants) {
			return s
		}
	}
	return nil
}
