package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Inside identifies the process that has a number inside the pid namespace of
// another one, by the last number of the line NSpid in proc(5)
// /proc/pid/status.
func Inside(init Identity, number int) (Identity, error) {
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", init.PID))
	if err != nil {
		return Identity{}, fmt.Errorf("find the pid namespace of process %d: %w", init.PID, err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		return Identity{}, err
	}
	for _, link := range links {
		if found, err := os.Readlink(link); err != nil || found != namespace {
			continue // Processes come and go while we look.
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err != nil {
			continue
		}
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil && innermost(string(status)) == number {
			return Of(pid)
		}
	}
	return Identity{}, fmt.Errorf("no process has the number %d in the pid namespace of process %d", number, init.PID)
}

// innermost returns the number that a process has in its own pid namespace, 0
// when the text is not a status.
func innermost(status string) int {
	for line := range strings.Lines(status) {
		if numbers, found := strings.CutPrefix(line, "NSpid:"); found {
			fields := strings.Fields(numbers)
			if len(fields) == 0 {
				return 0
			}
			number, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				return 0
			}
			return number
		}
	}
	return 0
}
