package platform

import (
	"os"
	"strconv"
	"time"
)

// SlowVariable names the environment variable that says how many times slower than usual this machine is: one with an emulated
// processor needs far more time for everything. The local cluster reads it too.
const SlowVariable = "LOCKSTEP_SLOW"

// ScaleTimeout returns how long to wait on this machine for what takes at most a limit on a usual one.
func ScaleTimeout(limit time.Duration) time.Duration { return times(limit, os.Getenv(SlowVariable)) }

// times takes anything but a number from 1 on for a machine as usual.
func times(limit time.Duration, slow string) time.Duration {
	factor, err := strconv.Atoi(slow)
	if err != nil || factor < 1 {
		return limit
	}
	return limit * time.Duration(factor)
}
