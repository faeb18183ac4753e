// Package series is what measurements of whole processes share: they are taken in turns, one run of each after the other, so that a machine
// that is slow for a while is slow for all of them, and what is told of them is what their runs lie between. Their programs share a command
// line and how they begin and end, too: see Options, Open and Main.
package series

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/test/bench/meter"
)

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

// Here returns this machine before measuring; output is written to a folder.
func Here(ctx context.Context, folder string, with *meter.Meter) (Machine, error) {
	m := Machine{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), LoadBefore: Load(), Go: runtime.Version(), Output: "disk"}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err == nil && fs.Type == 0x01021994 { // TMPFS_MAGIC of linux/magic.h
		m.Output = "memory"
	}
	floor, err := with.Measure(ctx, meter.Command{Args: []string{"true"}})
	m.FloorRSS = floor.PeakRSS
	return m, err
}

// String is one sentence for the head of a table.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, output in %s, load %.1f before and %.1f after, least peak memory that can be seen %.0f MB.",
		m.Date, m.Cores, m.Go, m.Output, m.LoadBefore, m.LoadAfter, float64(m.FloorRSS)/1e6)
}

// Load returns the load average of the last minute, or 0 where there is none.
func Load() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	value, _ := strconv.ParseFloat(first, 64)
	return value
}

// Folder returns where to work if nobody wants another folder. It prefers memory: a disk that others use too would be measured instead of
// the tools. "" is that of the system.
func Folder(wanted string) string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); wanted == "" && err == nil && info.IsDir() {
		return memory
	}
	return wanted
}

// Spread is what the runs of a series lie between.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Of returns the spread of a value of one run or more.
func Of(runs []meter.Usage, value func(meter.Usage) float64) Spread {
	var values []float64
	for _, u := range runs {
		values = append(values, value(u))
	}
	slices.Sort(values)
	n := len(values)
	return Spread{Min: values[0], Median: (values[(n-1)/2] + values[n/2]) / 2, Max: values[n-1]}
}

// Times is the spread times a factor as people read it.
func (s Spread) Times(factor float64) string {
	if s.Max == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g (%.3g–%.3g)", s.Median*factor, s.Min*factor, s.Max*factor)
}

// Usage is what the runs of a series used.
type Usage struct {
	Runs []meter.Usage `json:"runs"`

	CPU     Spread `json:"cpuSeconds"`
	Wall    Spread `json:"wallSeconds"`
	PeakRSS Spread `json:"peakRSSBytes"`
}

// Summarize sets the spreads from the runs.
func (u *Usage) Summarize() {
	u.CPU = Of(u.Runs, meter.Usage.CPU)
	u.Wall = Of(u.Runs, func(u meter.Usage) float64 { return u.Wall })
	u.PeakRSS = Of(u.Runs, func(u meter.Usage) float64 { return float64(u.PeakRSS) })
}

// Plan is how to take one run of a series.
type Plan struct {
	// Name is what errors call it.
	Name string
	// Prepare is not measured; it may be nil.
	Prepare func(ctx context.Context, run int) error
	// Commands are measured one after the other, as one run. A run ends with a command that was stopped at its limit.
	Commands func(run int) []meter.Command
}

// Once takes one run.
func (p *Plan) Once(ctx context.Context, with *meter.Meter, run int) (total meter.Usage, err error) {
	if p.Prepare != nil {
		if err := p.Prepare(ctx, run); err != nil {
			return total, fmt.Errorf("%s, run %d: %w", p.Name, run+1, err)
		}
	}
	for _, c := range p.Commands(run) {
		u, err := with.Measure(ctx, c)
		if err != nil {
			return total, fmt.Errorf("%s, run %d: %w", p.Name, run+1, err)
		}
		if total.Add(u); u.Stopped {
			break
		}
	}
	return total, nil
}
