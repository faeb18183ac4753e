package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/pkg/mpi/agent/mpirun"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// runAsMPILauncher becomes the MPI launcher of the image. A file that it cannot read does not stop the launch.
func runAsMPILauncher(argv []string) int {
	settings, err := state.SettingsFrom(os.LookupEnv)
	if err != nil {
		settings = state.DefaultSettings()
	}
	err = mpirun.Shim{Settings: settings, Hostname: podHostname(), Environment: containerEnvironment()}.Become(argv)
	fmt.Fprintf(os.Stderr, "%s: %v\n", argv[0], err)
	return process.StartFailureCode(err)
}
