package process

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// reaper is the only one of the test process, as in the agent.
var reaper *Reaper

// joins makes the test binary a process that joins the group named by this variable and then waits.
const joins = "PROCESS_TEST_JOINS_GROUP"

func TestMain(m *testing.M) {
	if group, err := strconv.Atoi(os.Getenv(joins)); err == nil {
		if err := unix.Setpgid(0, group); err != nil {
			os.Exit(1)
		}
		fmt.Println("joined")
		time.Sleep(time.Hour) // until a signal
	}
	var err error
	if reaper, err = NewReaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
