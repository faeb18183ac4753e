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
	chartSeconds = 60
	chartMemory  = 1 << 30
)

// chartProgram renders charts. It is beside this program, and part of the same release.
const chartProgram = "runtime-compiler-charts"

// charts renders charts in processes of their own: see package chart.
func charts() chart.Apart {
	l := limits{seconds: chartSeconds, memory: chartMemory}
	return chart.Apart{Start: func() (chart.Process, error) { return startCharts(l, version()) }, Limits: l.String()}
}

// startCharts starts the program for a version of this one.
func startCharts(l limits, of string) (chart.Process, error) {
	program, err := besides()
	if err != nil {
		return nil, err
	}
	args := []string{chartProgram, "--seconds", strconv.FormatUint(l.seconds, 10), "--memory", strconv.FormatUint(l.memory, 10), "--of", of}
	w, err := startWorker(program, args, l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("components need the program %s, which is not in %s: install both programs of a release in one folder", chartProgram, filepath.Dir(program))
	}
	return w, err
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
