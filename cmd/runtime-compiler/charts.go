package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// The limits of the process that renders charts. The charts of a large platform take some seconds and 200 MiB.
const (
	chartSeconds = 30
	chartMemory  = 1 << 30
	// chartTotal are the seconds of processor time of all processes of a run.
	chartTotal = 120
)

// chartProgram renders charts. It is beside this program, and part of the same release.
const chartProgram = "runtime-compiler-charts"

// charts renders charts in processes of their own: see package chart.
func charts() chart.Apart {
	l := limits{seconds: chartSeconds, memory: chartMemory}
	total := newBudget(chartTotal, "charts")
	return chart.Apart{Start: func() (chart.Process, error) { return startCharts(l, chart.Build(), total) }, Limits: l.String()}
}

// startCharts starts the program for a build of this one.
func startCharts(l limits, of string, total *budget) (chart.Process, error) {
	program, err := besides()
	if err != nil {
		return nil, err
	}
	args := []string{chartProgram, "--seconds", strconv.FormatUint(l.seconds, 10), "--memory", strconv.FormatUint(l.memory, 10), "--of", of}
	w, err := startWorker(program, args, l, total)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("components need the program %s, which is not in %s: install both programs of a release in one folder", chartProgram, filepath.Dir(program))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("components need the program %s, which may not be executed: run `chmod +x %s`, and look for `noexec` where its folder is mounted", chartProgram, program)
	case err != nil:
		return nil, err
	}
	return w, nil
}

// besides returns where the program must be.
func besides() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), chartProgram), nil
}
