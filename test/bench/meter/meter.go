// Package meter measures whole processes: what the kernel counted of a finished child.
//
// Linux keeps, as the least peak memory of a process, that of the process which started it. So children are started by a program
// of their own that is small, measure, which imports nothing but this package; and this package imports nothing but the
// standard library.
package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Command is one process to measure.
type Command struct {
	Args []string
	// Dir is where it runs, Stdout the file that takes its output; empty for here and for nowhere.
	Dir, Stdout string
	// Env is added to the environment.
	Env []string
	// Limit is after what time the process is stopped; 0 is never. Being stopped is not an error.
	Limit time.Duration
}

// Usage is what one run took, the children of its processes included: the sum over all, for PeakRSS the largest of them.
type Usage struct {
	Wall   float64 `json:"wallSeconds"`
	User   float64 `json:"userSeconds"`
	System float64 `json:"systemSeconds"`
	// PeakRSS is in bytes.
	PeakRSS int64 `json:"peakRSSBytes"`
	// Stopped says that a process did not end within its limit: it would have used more.
	Stopped bool `json:"stopped,omitempty"`
}

// CPU returns user and system seconds.
func (u Usage) CPU() float64 { return u.User + u.System }

// Add adds the usage of a process that ran after the others.
func (u *Usage) Add(other Usage) {
	u.Wall += other.Wall
	u.User += other.User
	u.System += other.System
	u.PeakRSS = max(u.PeakRSS, other.PeakRSS)
	u.Stopped = u.Stopped || other.Stopped
}

// Meter starts the program measure.
type Meter struct{ program string }

// New builds the program measure into a folder. The working directory must be in the checkout.
func New(ctx context.Context, folder string) (*Meter, error) {
	program := filepath.Join(folder, "measure")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "lockstep.dev/lockstep/test/bench/meter/measure") //nolint:gosec // a folder of ours
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the program that measures: %w\n%s", err, output)
	}
	return &Meter{program: program}, nil
}

// Measure runs a command and returns what it used. A command that fails is an error.
func (m *Meter) Measure(ctx context.Context, c Command) (Usage, error) {
	var report, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, m.program, append([]string{c.Stdout, c.Limit.String()}, c.Args...)...) //nolint:gosec // the commands are ours
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, &report, &stderr
	cmd.Env = append(os.Environ(), c.Env...)
	if err := cmd.Run(); err != nil {
		output := stderr.Bytes()
		return Usage{}, fmt.Errorf("measure %v: %w\n%s", c.Args, err, output[max(0, len(output)-2000):])
	}
	var u Usage
	return u, json.Unmarshal(report.Bytes(), &u)
}

// Main is the program measure: it runs the command args[2:] with its output in the file args[0], for no longer than args[1], and writes the
// usage as JSON.
func Main(args []string, report io.Writer) error {
	if len(args) < 3 {
		return errors.New("usage: measure FILE LIMIT COMMAND [ARG...]")
	}
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	u, err := child(args[0], limit, args[2:])
	if err != nil {
		return err
	}
	return json.NewEncoder(report).Encode(u)
}

func child(stdout string, limit time.Duration, args []string) (Usage, error) {
	ctx := context.Background()
	if limit > 0 {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // what the caller wants measured
	cmd.Stderr = os.Stderr
	if stdout != "" {
		file, err := os.Create(stdout)
		if err != nil {
			return Usage{}, err
		}
		defer file.Close()
		cmd.Stdout = file
	}
	start := time.Now()
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return Usage{}, err
	}
	u, err := used(cmd.ProcessState)
	u.Wall, u.Stopped = time.Since(start).Seconds(), ctx.Err() != nil
	return u, err
}

// used is what the kernel counted of a process that has ended, and of its own children.
func used(state *os.ProcessState) (Usage, error) {
	counted, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return Usage{}, errors.New("the system does not account for children")
	}
	return Usage{
		User:    state.UserTime().Seconds(),
		System:  state.SystemTime().Seconds(),
		PeakRSS: counted.Maxrss * 1024, // KiB on Linux
	}, nil
}
