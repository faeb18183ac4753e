package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"lockstep.dev/lockstep/test/bench/compile/meter"
)

// Report is the result of a whole run.
type Report struct {
	Machine Machine `json:"machine"`
	Tools   []tool  `json:"tools"`
	// Compared is the number of objects that were found equal between all tools before measuring.
	Compared int      `json:"objectsComparedPerTool"`
	Series   []Series `json:"series"`
}

// Machine is where the numbers come from.
type Machine struct {
	Date  string `json:"date"`
	Cores int    `json:"cores"`
	// LoadBefore and LoadAfter are the load averages of the last minute: much more than nothing before the start means that others
	// used the machine too.
	LoadBefore float64 `json:"loadBefore"`
	LoadAfter  float64 `json:"loadAfter"`
	Go         string  `json:"go"`
	// FloorRSS is the least peak memory, in bytes, that can be seen: that of the process that starts the others.
	FloorRSS int64 `json:"floorRSSBytes"`
	// Output is the file system that was written to.
	Output string `json:"output"`
}

// The scenarios.
const (
	fullBuild   = "full build"
	oneTenant   = "one tenant changed"
	noChange    = "no change"
	checkOnly   = "check"
	watchTenant = "watch, one tenant changed"
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
	Factor float64       `json:"extrapolationFactor"`
	Runs   []meter.Usage `json:"runs"`

	CPU     Spread `json:"cpuSeconds"`
	Wall    Spread `json:"wallSeconds"`
	PeakRSS Spread `json:"peakRSSBytes"`
	// PerCPUSecond is the objects per CPU second of the median run.
	PerCPUSecond float64 `json:"objectsPerCPUSecond"`
}

// Spread is what the runs of a series lie between. Extrapolation is not applied to it.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func spread(runs []meter.Usage, value func(meter.Usage) float64) Spread {
	var values []float64
	for _, u := range runs {
		values = append(values, value(u))
	}
	slices.Sort(values)
	n := len(values)
	return Spread{Min: values[0], Median: (values[(n-1)/2] + values[n/2]) / 2, Max: values[n-1]}
}

func (s *Series) summarize() {
	s.CPU = spread(s.Runs, meter.Usage.CPU)
	s.Wall = spread(s.Runs, func(u meter.Usage) float64 { return u.Wall })
	s.PeakRSS = spread(s.Runs, func(u meter.Usage) float64 { return float64(u.PeakRSS) })
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

func readReport(name string) (*Report, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	report := &Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return report, nil
}
