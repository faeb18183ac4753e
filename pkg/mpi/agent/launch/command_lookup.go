package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// lookUpCommand finds the file of a command.
func lookUpCommand(argv []string) (string, error) {
	if len(argv) == 0 {
		return "", errNoCommand
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		return path, nil
	}
	name := "the command `" + program.QuoteCommand(argv[0]) + "`"
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "", fmt.Errorf("%s is a folder and no program: %w", name, syscall.EISDIR)
	case errors.Is(err, os.ErrPermission):
		return "", fmt.Errorf("%s is not executable: %w", name, err)
	}
	return "", fmt.Errorf("%s was not found in the launcher's image: %w%s", name, err, commandNotFoundHint(argv[0], err))
}

// startFailure is the verdict of a command whose file was found and could not be started.
func startFailure(path string, err error) mpi.Verdict {
	if errors.Is(err, syscall.E2BIG) {
		return verdict.CommandNotStarted(mpi.ReasonArgumentTooLong, err)
	}
	if why := program.NotRunnable(path); why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	return verdict.CommandNotStarted(mpi.ReasonCommandNotFound, err)
}

// commandNotFoundHint says what to look at when a command was not found: a list of one item may be meant as a whole command line, and the folders
// that were searched may be those of the TrainJob and not those of the image.
func commandNotFoundHint(command string, err error) string {
	switch words := strings.Fields(command); {
	case len(words) > 1:
		return fmt.Sprintf("; spec.trainer.command is a list in which each word is an item, as in [%q, %q, …]; a shell splits a line into words: [\"bash\", \"-c\", \"…\"]",
			program.QuoteCommand(words[0]), program.QuoteCommand(words[1]))
	case errors.Is(err, exec.ErrNotFound):
		return " (" + program.Abbreviate(os.Getenv("PATH"), 300) + ")"
	}
	return ""
}

var errNoCommand = errors.New("there is no command to run: set spec.trainer.command in the TrainJob, or give one after `run --`")
