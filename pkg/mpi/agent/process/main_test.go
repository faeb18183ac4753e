package process

import (
	"fmt"
	"os"
	"testing"
)

// reaper is the only one of the test process, as in the agent.
var reaper *Reaper

func TestMain(m *testing.M) {
	var err error
	if reaper, err = NewReaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
