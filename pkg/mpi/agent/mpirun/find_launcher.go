package mpirun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Names are the names under which the agent stands before a launcher.
var Names = []string{"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"}

// IsName reports whether a command is called by one of the names, with or without a folder.
func IsName(command string) bool { return slices.Contains(Names, filepath.Base(command)) }

// Install puts the agent into a folder under all names.
func Install(shim string) error {
	if err := linkAgent(shim); err != nil {
		return fmt.Errorf("stand before the MPI launcher of the image: %w", err)
	}
	return nil
}

func linkAgent(shim string) error {
	agent, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(shim, 0o755); err != nil {
		return err
	}
	for _, name := range Names {
		err := os.Symlink(agent, filepath.Join(shim, name))
		if err != nil && !errors.Is(err, fs.ErrExist) { // a container that runs again finds the link
			return err
		}
	}
	return nil
}

// findLauncher returns the launcher that a command means: itself where it names a file outside of the shim's folder, else the
// first of that name in a PATH without that folder.
func findLauncher(command, shim, searchPath string) (string, error) {
	if strings.Contains(command, "/") && filepath.Dir(command) != shim {
		return command, nil
	}
	name := filepath.Base(command)
	for _, dir := range filepath.SplitList(searchPath) {
		if found, err := exec.LookPath(dir + "/" + name); err == nil && dir != "" { // not joined: "./mpirun" is no name to look up
			return found, nil
		}
	}
	return "", fmt.Errorf("%s was not found in the launcher's image (%s)", name, searchPath)
}

// dialectMarks are strings that only the launcher of one dialect contains: names of variables that it reads, and of its library.
var dialectMarks = []struct {
	mark    string
	dialect mpi.Dialect
}{
	{"I_MPI_HYDRA", mpi.IntelHydra}, {"HYDRA_HOST_FILE", mpi.Hydra}, {"PRTE_MCA", mpi.PRRTE}, {"libopen-rte", mpi.ORTE},
}

// fileLimit is how many bytes of a file that lists hosts are read.
const fileLimit = 1 << 20

// readList reads a file that lists hosts. Others than regular ones are left to the launcher: what is read from a pipe is gone.
func readList(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > fileLimit) {
		err = fmt.Errorf("%s is no file of at most %d bytes", name, fileLimit)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// launcherLimit is how many bytes of a launcher are read. They have less than a megabyte; MPICH's own is the largest.
const launcherLimit = 8 << 20

// dialectOf returns the dialect of a launcher, by what its file contains; empty if no dialect is recognised.
func dialectOf(path string) mpi.Dialect {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, launcherLimit))
	if err != nil {
		return ""
	}
	for _, m := range dialectMarks {
		if bytes.Contains(content, []byte(m.mark)) {
			return m.dialect
		}
	}
	return ""
}
