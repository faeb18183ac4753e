package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// Install copies the program at source into a folder, under the names by which a job calls it: the agent itself, and rsh
// and ssh as links to it. What is there is replaced; each name is whole at every moment.
func Install(source, dir string) error {
	program, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("read the agent: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the agent: %w", err)
	}
	name := filepath.Base(mpi.AgentBin)
	if err := state.ReplaceFile(filepath.Join(dir, name), program, 0o755); err != nil {
		return fmt.Errorf("write the agent: %w", err)
	}
	for _, link := range []string{mpi.RshBin, mpi.SSHBin} {
		if err := replaceLink(name, filepath.Join(dir, filepath.Base(link))); err != nil {
			return fmt.Errorf("link the agent: %w", err)
		}
	}
	return nil
}

func replaceLink(target, path string) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
