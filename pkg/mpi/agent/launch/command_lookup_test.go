package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

func TestLookUpSaysWhatIsWrongWithACommand(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "data"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a program"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is to be executable
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	for name, tc := range map[string]struct {
		command string
		code    int
		says    []string
		never   string
	}{
		"Nothing":   {"mpirun", process.CodeNotFound, []string{"the command `mpirun` was not found in the launcher's image: exec: \"mpirun\": executable file not found in $PATH (" + folder + ")"}, "item"},
		"Path":      {folder + "/none", process.CodeNotFound, []string{"was not found in the launcher's image", "no such file"}, "$PATH"},
		"Folder":    {folder, process.CodeNotExecutable, []string{"the command `" + folder + "` is a folder and no program"}, "not found"},
		"Data":      {folder + "/data", process.CodeNotExecutable, []string{"is not executable"}, "not found"},
		"OneString": {"mpirun -n 4 mpi-hello", process.CodeNotFound, []string{"spec.trainer.command is a list in which each word is an item, as in [\"mpirun\", \"-n\", …]", `["bash", "-c", "…"]`}, "as in [\"mpirun -n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lookUpCommand([]string{tc.command})
			if err == nil {
				t.Fatal("found")
			}
			for _, words := range tc.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("want %q, got %v", words, err)
				}
			}
			if strings.Contains(err.Error(), tc.never) || process.StartFailureCode(err) != tc.code {
				t.Errorf("code %d, %v", process.StartFailureCode(err), err)
			}
		})
	}
	if _, err := lookUpCommand([]string{"a program"}); err != nil {
		t.Errorf("a name may have a space: %v", err)
	}
}

// The kernel counts all arguments and variables together: a quarter of the limit of the stack.
func TestTooManyArgumentsAreNamed(t *testing.T) {
	_, err := os.StartProcess("/bin/true", append([]string{"true"}, slices.Repeat([]string{strings.Repeat("x", 100_000)}, 200)...), &os.ProcAttr{})
	if got := startFailure("/bin/true", err); got.Reason != mpi.ReasonArgumentTooLong || !strings.Contains(got.Message, "argument list too long") {
		t.Errorf("%v: %+v", err, got)
	}
}

// A shell would run such a file, the agent and mpirun do not.
func TestFileThatCannotBeRunIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.sh")
	for text, says := range map[string]string{"echo hello\n": "exec format error: its first line names no interpreter", "#!/bin/sh\r\n": "its lines end as on Windows"} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // it is to be executable
			t.Fatal(err)
		}
		_, err := os.StartProcess(file, []string{file}, &os.ProcAttr{})
		if got := startFailure(file, err); got.Reason != mpi.ReasonCommandNotFound || !strings.Contains(got.Message, says) {
			t.Errorf("want %q, got %+v", says, got)
		}
	}
}
