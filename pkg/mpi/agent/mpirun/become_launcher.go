package mpirun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// Shim is the agent in the place of a launcher.
type Shim struct {
	Settings state.Settings
	// Hostname is the host name of the launcher's pod.
	Hostname string
	// Environment holds the variables of the caller.
	Environment []string
}

// Become makes this process the launcher that a command line means. It returns only with an error.
func (s Shim) Become(argv []string) error {
	launcher, path, err := s.find(argv[0])
	if err != nil {
		return err
	}
	argv = slices.Clone(argv)
	asked, j := s.read(launcher, path, argv)
	if asked.PID = os.Getpid(); len(asked.Hosts) > 0 || asked.NotRunnable != "" {
		_ = state.AppendRecord(s.Settings.AskedWorldsPath(), asked) // without it the verdict knows less, and the launch works
	}
	if filepath.Dir(argv[0]) == s.Settings.ShimDir() {
		argv[0] = launcher // Open MPI finds its own files by it
	}
	environment := process.OverrideVariables(s.Environment, []string{"PATH=" + path})
	return fmt.Errorf("become %s: %w", launcher, syscall.Exec(launcher, argv, j.environment(environment)))
}

// AskedBy reads the asked world from the command line of a launcher that was called by its path.
func (s Shim) AskedBy(line string) verdict.AskedWorld {
	argv := strings.Fields(line)
	launcher, path, err := s.find(argv[0])
	if err != nil {
		return verdict.AskedWorld{}
	}
	asked, _ := s.read(launcher, path, argv)
	return asked
}

// find returns the launcher that a command means, and the PATH without the shim.
func (s Shim) find(command string) (launcher, path string, err error) {
	path = withoutFolder(process.SearchPath(s.Environment), s.Settings.ShimDir())
	launcher, err = findLauncher(command, s.Settings.ShimDir(), path)
	return launcher, path, err
}

// read returns what a command line asks for, and writes what its launcher would misread in its own terms.
func (s Shim) read(launcher, path string, argv []string) (verdict.AskedWorld, job) {
	line := program.QuoteWords(argv)
	j := job{
		dialect: dialectOf(launcher), own: hosts.FirstLabel(s.Hostname), hostfile: s.Settings.HydraHostfilePath(),
		shim: s.Settings.ShimDir(), launcher: launcher, variables: s.Environment, read: readList, write: s.keep,
	}
	j.table, _ = state.ReadHostTable(s.Settings.HostTablePath()) // a job of one pod has none
	c := j.readCommandLine(argv[1:])
	asked := c.askedWorld()
	asked.Line, asked.Dialect, asked.NotRunnable = line, j.dialect, c.notRunnable(path)
	return asked, j
}

// notRunnable names the first program that the system cannot run, and why, or nothing. Hydra has a script without an
// interpreter run by /bin/sh.
func (c *commandLine) notRunnable(searchPath string) string {
	for _, name := range c.programs {
		found := name
		if !strings.Contains(name, "/") {
			found, _ = findLauncher(name, "", searchPath)
		}
		why := program.NotRunnable(found)
		if why != "" && (why != program.NoInterpreter || !c.dialect.IsHydra()) {
			return "`" + program.QuoteCommand(name) + "` cannot be run: " + why
		}
	}
	return ""
}

// keep writes a text into a new file of the state folder.
func (s Shim) keep(text string) (name string, err error) {
	file, err := os.CreateTemp(s.Settings.StateDir, "app-")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	return file.Name(), errors.Join(err, file.Close())
}

func withoutFolder(searchPath, folder string) string {
	folders := slices.DeleteFunc(filepath.SplitList(searchPath), func(f string) bool { return f == folder })
	return strings.Join(folders, string(filepath.ListSeparator))
}

// translate returns the value of an option in the launcher's own terms. Kubeflow's SDK begins each command with `mpirun
// --hostfile /etc/mpi/hostfile`, whose syntax is Open MPI's: Hydra refuses it. PRRTE up to 3.0.8 gives the launcher's own pod
// no slots where `-H` has its full name or its address, and then leaves out all other nodes (openpmix/prrte, "Ensure we have
// HNP node aliases"), in an app file too.
func (c *commandLine) translate(option, value string) string {
	switch {
	case c.dialect == mpi.PRRTE && worldOptions[option] == hostsOption:
		return c.withShortNames(value)
	case c.dialect == mpi.PRRTE && worldOptions[option] == appFileOption && c.appFile != "":
		if name, err := c.write(c.appFile); err == nil {
			return name
		}
	case option == "prefix" && value == filepath.Dir(c.shim): // from `which mpirun`
		return filepath.Dir(filepath.Dir(c.launcher))
	case value == mpi.HostfilePath && c.dialect.IsHydra():
		return c.hostfile
	}
	return value
}

// withShortNames returns a list of hosts in which those of the job have their short names.
func (j job) withShortNames(list string) string {
	items := strings.Split(list, ",")
	for i, item := range items {
		name, slots, given := strings.Cut(item, ":")
		if label, ours := j.labelOf(name); ours && name != "localhost" {
			if items[i] = label; given {
				items[i] += ":" + slots
			}
		}
	}
	return strings.Join(items, ",")
}

// ofThePod are variables that differ between the pods of a job.
var ofThePod = []string{"HOSTNAME", "JOB_COMPLETION_INDEX"}

// environment returns the environment of the launcher. Hydra gives its own to all ranks, over what they would have from the
// container of their node (MPICH 4.0; ORTE and PRRTE do not): what differs between pods is left out, so that ranks have the
// values of their own pods.
func (j job) environment(variables []string) []string {
	if !j.dialect.IsHydra() {
		return variables
	}
	return slices.DeleteFunc(variables, func(v string) bool { return slices.Contains(ofThePod, process.VariableName(v)) })
}
