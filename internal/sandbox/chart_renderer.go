package sandbox

import (
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// The limits of the process that renders charts. The charts of a large platform take some seconds and 200 MiB.
const (
	chartSeconds = 30
	chartMemory  = 1 << 30
	// chartTotal are the seconds of processor time of all processes of a run.
	chartTotal = 120
)

// ChartRenderer renders charts in processes of their own: see package chart.
func ChartRenderer() chart.SubprocessRenderer {
	l := processLimits{seconds: chartSeconds, memory: chartMemory}
	total := newCPUTimeBudget(chartTotal, "charts")
	return chart.SubprocessRenderer{Start: func() (subprocess.Process, error) { return startCharts(l, chart.BuildID(), total) }, Limits: l.String()}
}

// startCharts starts the program for a build of this one.
func startCharts(l processLimits, of string, total *cpuTimeBudget) (subprocess.Process, error) {
	program, err := ChartProgramPath()
	if err != nil {
		return nil, err
	}
	args := []string{ChartProgram, "--seconds", strconv.FormatUint(l.seconds, 10), "--memory", strconv.FormatUint(l.memory, 10), "--of", of}
	w, err := startWorker(program, args, l, total)
	if err != nil {
		return nil, startError(program, err)
	}
	return w, nil
}
