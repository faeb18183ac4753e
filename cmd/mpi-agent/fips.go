package main

import (
	"crypto/fips140"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The algorithms of the agent are always those that FIPS 140-3 approves (package identity). In FIPS mode Go's
// cryptographic module computes them, with its self-tests (https://go.dev/doc/security/fips140). Go chooses the mode when a
// process starts, so the agent starts itself again. It costs every process some milliseconds, rsh too, which is why it has
// to be asked for.

const (
	// fipsVariable asks for FIPS mode. It is in the environment of a pod, so that rsh hears of it.
	fipsVariable = "LOCKSTEP_FIPS"
	// savedVariable keeps the value of GODEBUG that the agent was started with, for the commands that it runs.
	savedVariable = "LOCKSTEP_SAVED_GODEBUG"
	debugVariable = "GODEBUG"
)

// enterFIPS starts the process again in FIPS mode when the environment asks for it.
func enterFIPS() error {
	wanted, err := fipsWanted(os.Getenv(fipsVariable))
	if err != nil || !wanted || fips140.Enabled() {
		return err
	}
	if _, again := os.LookupEnv(savedVariable); again {
		return fmt.Errorf("%s is true, but this build of the agent cannot run in FIPS mode", fipsVariable)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start again in FIPS mode: %w", err)
	}
	debug := os.Getenv(debugVariable)
	if err := syscall.Exec(self, os.Args, withFIPS(os.Environ(), debug)); err != nil {
		return fmt.Errorf("start again in FIPS mode: %w", err)
	}
	return nil
}

func fipsWanted(value string) (bool, error) {
	if value == "" {
		return false, nil
	}
	wanted, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s is `%s`: allowed are true and false", fipsVariable, value)
	}
	return wanted, nil
}

// requireFIPS is the flag.
func requireFIPS(value string) error {
	if wanted, err := fipsWanted(value); err != nil || !wanted {
		return err
	}
	if err := os.Setenv(fipsVariable, "true"); err != nil {
		return err
	}
	return enterFIPS()
}

// withFIPS is the environment of the agent in FIPS mode.
func withFIPS(environment []string, debug string) []string {
	without := slices.DeleteFunc(slices.Clone(environment), func(v string) bool { return strings.HasPrefix(v, debugVariable+"=") })
	mode := strings.TrimPrefix(debug+",fips140=on", ",")
	return append(without, debugVariable+"="+mode, savedVariable+"="+debug)
}

// containerEnvironment is that of the container: a command in Go must not find itself in FIPS mode because the agent is.
func containerEnvironment() []string {
	saved, changed := os.LookupEnv(savedVariable)
	if !changed {
		return os.Environ()
	}
	return withoutFIPS(os.Environ(), saved)
}

func withoutFIPS(environment []string, saved string) []string {
	restored := slices.DeleteFunc(environment, func(v string) bool {
		return strings.HasPrefix(v, debugVariable+"=") || strings.HasPrefix(v, savedVariable+"=")
	})
	if saved != "" {
		restored = append(restored, debugVariable+"="+saved)
	}
	return restored
}

// fipsNote says in a log which module is at work.
func fipsNote() string {
	if !fips140.Enabled() {
		return ""
	}
	return ", in FIPS 140-3 mode (Go cryptographic module " + fips140.Version() + ")"
}
