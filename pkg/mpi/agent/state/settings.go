package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The environment variables that override a Settings. They exist because rsh is called by MPI, which passes no flags of
// ours; Run hands them to the user's command.
const (
	KeyDirVariable   = "LOCKSTEP_KEY_DIR"
	StateDirVariable = "LOCKSTEP_STATE_DIR"
	PortVariable     = "LOCKSTEP_PORT"
)

// Settings say where the agent finds and leaves things. The same values hold in all pods of a job.
type Settings struct {
	// KeyDir is where the Secret of the job is mounted.
	KeyDir string
	// StateDir is a folder of the pod that the agent may write.
	StateDir string
	// Port is where the agents of the job listen, from 1 to 65535.
	Port int
}

// DefaultSettings are those of a compiled runtime.
func DefaultSettings() Settings {
	return Settings{KeyDir: mpi.SSHAuthMountPath, StateDir: mpi.StateDir, Port: mpi.AgentPort}
}

// SettingsFrom returns the default settings with the overrides of an environment.
func SettingsFrom(lookup func(string) (string, bool)) (Settings, error) {
	s := DefaultSettings()
	if dir, found := lookup(KeyDirVariable); found {
		s.KeyDir = dir
	}
	if dir, found := lookup(StateDirVariable); found {
		s.StateDir = dir
	}
	if text, found := lookup(PortVariable); found {
		port, err := ParsePort(text)
		if err != nil {
			return Settings{}, fmt.Errorf("environment variable %s: %w", PortVariable, err)
		}
		s.Port = port
	}
	return s, nil
}

// ParsePort reads the number of a port.
func ParsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("`%s` is not a port: allowed are 1 to 65535", text)
	}
	return port, nil
}

// Environment returns the settings as variables.
func (s Settings) Environment() []string {
	return []string{
		KeyDirVariable + "=" + s.KeyDir,
		StateDirVariable + "=" + s.StateDir,
		PortVariable + "=" + strconv.Itoa(s.Port),
	}
}

// HostTablePath is where the table of hosts is once the gate has passed.
func (s Settings) HostTablePath() string {
	return filepath.Join(s.StateDir, filepath.Base(mpi.HostTablePath))
}

// HydraHostfilePath is where the hostfile in the syntax of Hydra is.
func (s Settings) HydraHostfilePath() string {
	return filepath.Join(s.StateDir, filepath.Base(mpi.HydraHostfilePath))
}

// HostsPath is where an init container leaves the names of the pods for /etc/hosts.
func (s Settings) HostsPath() string { return filepath.Join(s.StateDir, mpi.HostsKey) }

// GatePath is where an init container leaves the result of its gate.
func (s Settings) GatePath() string { return filepath.Join(s.StateDir, "gate.json") }

// LossesPath is where the remote shells leave what they noticed.
func (s Settings) LossesPath() string { return filepath.Join(s.StateDir, "losses") }

// SilencesPath is where the remote shells leave whose agents do not answer them.
func (s Settings) SilencesPath() string { return filepath.Join(s.StateDir, "silences") }

// AskedWorldsPath is where launchers leave which worlds they were asked for.
func (s Settings) AskedWorldsPath() string { return filepath.Join(s.StateDir, "asked-worlds") }

// ShimDir is where the agent stands under the names of launchers.
func (s Settings) ShimDir() string { return filepath.Join(s.StateDir, "bin") }

// StoppingPath is there once the launcher's pod was asked to stop.
func (s Settings) StoppingPath() string { return filepath.Join(s.StateDir, "stopping") }

// IsStopping reports whether the launcher's pod was asked to stop: its agent then knows when a launch is to be ended.
func (s Settings) IsStopping() bool {
	_, err := os.Stat(s.StoppingPath())
	return err == nil
}
