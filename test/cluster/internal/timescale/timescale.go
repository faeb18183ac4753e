// Package timescale says how long to wait for what takes longer on a slow
// machine, one under an emulated processor above all, and how long between two
// looks: there a look itself takes longer than a short pause, and looking would
// be all that the machine does.
package timescale

import (
	"os"
	"strconv"
	"time"
)

// Variable names the environment variable that says how many times slower than
// usual the machine is. Without it, and with anything but a number from 1 on,
// it is as usual.
const Variable = "LOCKSTEP_SLOW"

// Of is the limit, or the pause, on this machine of what has one elsewhere.
func Of(limit time.Duration) time.Duration { return times(limit, os.Getenv(Variable)) }

func times(limit time.Duration, slow string) time.Duration {
	factor, err := strconv.Atoi(slow)
	if err != nil || factor < 1 {
		return limit
	}
	return limit * time.Duration(factor)
}
