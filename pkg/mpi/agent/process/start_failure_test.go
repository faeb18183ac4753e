package process

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestStartFailureCode(t *testing.T) {
	for code, err := range map[int]error{
		127: os.ErrNotExist, 126: syscall.EACCES, 125: errors.New("other"),
	} {
		if got := StartFailureCode(err); got != code {
			t.Errorf("%v: got %d", err, got)
		}
	}
	if got := StartFailureCode(syscall.ENOEXEC); got != 126 {
		t.Errorf("a file of another architecture: got %d", got)
	}
	if got := StartFailureCode(&NoShellError{}); got != 127 {
		t.Errorf("no shell: got %d", got)
	}
}
